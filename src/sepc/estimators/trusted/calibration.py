"""The probability that a label is right, learnt from labels of rows not used for fitting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from sepc._typing import BoolArray, FloatArray

# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
NEVER_CERTAIN = 1e-6
# Of the squared coefficients, relative to the number of rows: enough to hold them where a few rows say little.
PENALTY = 1.0


@dataclass(frozen=True, eq=False)
class Calibration:
    """A logistic model of whether a label is right, with non-negative coefficients.

    Attributes
    ----------
    coefficients : (s,) array
        Of the signals.
    intercept : float
    """

    coefficients: FloatArray
    intercept: float

    @classmethod
    def learnt(
        cls, given: FloatArray, correct: BoolArray, *, towards: float | FloatArray = 0.0, penalty: float = PENALTY
    ) -> Calibration:
        """Fit to signals of shape (n, s) and to whether the labels were right.

        Where rows are few and say little, coefficients stay near `towards`, the more so the larger the `penalty`.

        Outcomes are drawn in from 0 and 1 as Platt (1999) does, so that no error among the rows does not promise that
        there will never be one.
        """
        middle, spread = given.mean(axis=0), given.std(axis=0)
        spread = np.where(spread > 0.0, spread, 1.0)
        n_right, n_wrong = int(correct.sum()), int((~correct).sum())
        wanted = np.where(correct, (n_right + 1.0) / (n_right + 2.0), 1.0 / (n_wrong + 2.0))
        standard = (given - middle) / spread
        found = minimize(
            _loss,
            x0=np.append(np.zeros(given.shape[1]), logit(np.clip(wanted.mean(), NEVER_CERTAIN, 1.0 - NEVER_CERTAIN))),
            args=(standard, wanted, towards * spread, penalty),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * given.shape[1] + [(None, None)],
        )
        coefficients = found.x[:-1] / spread
        return cls(coefficients, float(found.x[-1] - coefficients @ middle))

    def apply(self, given: FloatArray) -> FloatArray:
        """The probability that each label is right."""
        return np.asarray(expit(given @ self.coefficients + self.intercept))


def _loss(
    parameters: FloatArray, standard: FloatArray, wanted: FloatArray, towards: FloatArray, penalty: float
) -> tuple[float, FloatArray]:
    """Logistic loss with a penalty on how far the coefficients are from `towards`, and its gradient."""
    coefficients, intercept = parameters[:-1], parameters[-1]
    score, strayed = standard @ coefficients + intercept, coefficients - towards
    loss = np.sum(np.logaddexp(0.0, score) - wanted * score) + 0.5 * penalty * strayed @ strayed
    slope = expit(score) - wanted
    gradient = np.append(standard.T @ slope + penalty * strayed, slope.sum())
    return float(loss) / len(wanted), gradient / len(wanted)
