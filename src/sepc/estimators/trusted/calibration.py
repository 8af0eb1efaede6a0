"""Calibration: the probability that a label is right, learnt from held-out rows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from sepc._typing import BoolArray, FloatArray
from sepc.model.weights import MOST_WEIGHT
from sepc.points.tiles import project
from sepc.records import floats, number, record

# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
NEVER_CERTAIN = 1e-6
# The penalty on squared coefficients: enough to keep them stable with few rows.
PENALTY = 1.0


@record
class Calibration:
    """A logistic model of whether a label is right, with non-negative coefficients.

    Attributes
    ----------
    coefficients : (s,) array
        One for each signal.
    intercept : float
        The log-odds where all signals are zero.
    """

    coefficients: FloatArray = floats("s", low=0.0, high=MOST_WEIGHT)
    intercept: float = number(-MOST_WEIGHT, MOST_WEIGHT)

    @classmethod
    def fit(
        cls, given: FloatArray, correct: BoolArray, *, towards: float | FloatArray = 0.0, penalty: float = PENALTY
    ) -> Calibration:
        """Fit to signals of shape (n, s) and to whether the labels were right.

        With few rows, coefficients stay near `towards`, more so with a larger `penalty`.

        Targets are smoothed away from 0 and 1 as in Platt (1999): no errors among these rows does not mean there will
        never be one.
        """
        middle, spread = given.mean(axis=0), given.std(axis=0)
        spread = np.where(spread > 0.0, spread, 1.0)
        n_right, n_wrong = int(correct.sum()), int((~correct).sum())
        wanted = np.where(correct, (n_right + 1.0) / (n_right + 2.0), 1.0 / (n_wrong + 2.0))
        standard = (given - middle) / spread
        solution = minimize(
            _loss,
            x0=np.append(np.zeros(given.shape[1]), logit(np.clip(wanted.mean(), NEVER_CERTAIN, 1.0 - NEVER_CERTAIN))),
            args=(standard, wanted, towards * spread, penalty),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * given.shape[1] + [(None, None)],
        )
        coefficients = solution.x[:-1] / spread
        return cls(coefficients, float(solution.x[-1] - coefficients @ middle))

    def apply(self, given: FloatArray) -> FloatArray:
        """The probability that each label is right."""
        return np.asarray(expit(project(given, self.coefficients) + self.intercept))


def _loss(
    parameters: FloatArray, standard: FloatArray, wanted: FloatArray, towards: FloatArray, penalty: float
) -> tuple[float, FloatArray]:
    """Logistic loss with a penalty on the distance of the coefficients from `towards`, and its gradient."""
    coefficients, intercept = parameters[:-1], parameters[-1]
    score, strayed = standard @ coefficients + intercept, coefficients - towards
    loss = np.sum(np.logaddexp(0.0, score) - wanted * score) + 0.5 * penalty * strayed @ strayed
    slope = expit(score) - wanted
    gradient = np.append(standard.T @ slope + penalty * strayed, slope.sum())
    return float(loss) / len(wanted), gradient / len(wanted)
