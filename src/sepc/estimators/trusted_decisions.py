"""Decisions of a `TrustedClassifier`: another model's labels, and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.decisions.decisions import LATER, SHARED, Decisions, positions_of, probability_of, replace_columns
from sepc.decisions.kinds import Cause, Reason, Rule, Sentence
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.reasons import SEPReasons, about_edits, edited_mark
from sepc.model.rules import causes
from sepc.model.sep_model import SEPModel
from sepc.model.weights import MOST_WEIGHT
from sepc.points.tiles import project
from sepc.records import floats, number, record
from sepc.wording import decimal, percent, shown

# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
LEAST_MEAN = 1e-6

# By default the base model and the partition count equally: the mean of their log-odds. The penalty, in rows, pulls
# the coefficients there. Both were chosen on the first draw of the comparison, where penalties from 1 to 30 differ
# little, and where the base model's margin and the partition's agreement added nothing as further signals.
N_SIGNALS = 2
EQUAL_WEIGHT = 0.5
TRUST_PENALTY = 20.0


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
        cls,
        given: FloatArray,
        correct: BoolArray,
        *,
        towards: float | FloatArray = EQUAL_WEIGHT,
        penalty: float = TRUST_PENALTY,
    ) -> Calibration:
        """Fit to signals of shape (n, s) and to whether the labels were right."""
        middle, spread = given.mean(axis=0), given.std(axis=0)
        spread = np.where(spread > 0.0, spread, 1.0)
        n_right, n_wrong = int(correct.sum()), int((~correct).sum())
        wanted = np.where(correct, (n_right + 1.0) / (n_right + 2.0), 1.0 / (n_wrong + 2.0))
        standard = (given - middle) / spread
        solution = minimize(
            _loss,
            x0=np.append(np.zeros(given.shape[1]), logit(np.clip(wanted.mean(), LEAST_MEAN, 1.0 - LEAST_MEAN))),
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


# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
NEVER_CERTAIN = 1e-3

# Trust starts to fade at this many times the size of the nearest ellipsoid, with this power of the gauge: later than
# the partition's own probabilities, which enter already faded, but soon enough that far rows stay rejected.
FADING_BEGINS = 2.5
FADING_POWER = 2


def signals(base: Decisions, decided: SEPDecisions) -> FloatArray:
    """Log-odds of the labels, of shape (n, 2): from the base model (0 if it gives none) and from the partition."""
    support = probability_of(decided.probabilities, positions_of(base.label, decided.classes))
    both = np.column_stack([base.trust, support])
    return np.asarray(np.nan_to_num(logit(np.clip(both, NEVER_CERTAIN, 1.0 - NEVER_CERTAIN))))


@dataclass(frozen=True, eq=False, repr=False)
class TrustModel(ShownOnOneLine):
    """Everything needed to compute trust in another model's labels, except that model.

    Attributes
    ----------
    partition : SEPModel
    calibration : Calibration
        Maps the signals of a label to the probability that it is right.
    base : str
        The name of the other model.
    """

    partition: SEPModel
    calibration: Calibration
    base: str

    def trust(self, base: Decisions, decided: SEPDecisions) -> FloatArray:
        """The trust in labels of the base model, given the decisions of the partition on the same rows."""
        trust = self.calibration.apply(signals(base, decided))
        # Far from the training rows it shrinks towards that of a guess, however confident the base model is.
        left = (FADING_BEGINS / np.maximum(decided.gauge, FADING_BEGINS)) ** FADING_POWER
        guess = 1.0 / max(2, len(self.partition.classes))
        return np.asarray(left * trust + (1.0 - left) * guess)

    def causes(self, min_trust: float, decided: SEPDecisions, accepted: BoolArray) -> IntArray:
        """Causes of rejected rows: MISSING where the partition has that cause, else by the training rows around."""
        cause = np.full(len(accepted), int(Cause.ACCEPTED))
        refused = np.flatnonzero(~accepted)
        inside = decided.rule[refused] != Rule.NEAREST
        cause[refused] = causes(self.partition, decided.rows[refused], inside, min_trust)
        with_gaps = refused[decided.missing[refused].any(axis=1)]
        cause[with_gaps[decided[with_gaps].cause == Cause.MISSING]] = Cause.MISSING
        return cause


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrustedDecisions(Decisions):
    """Decisions of a `TrustedClassifier`, as arrays with one entry per row.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`. Labels and probabilities are the other model's; a region is a position in the partition's
        `regions_`.
    base_trust : array of float
        The other model's own probability of its label; NaN if it gives none.
    partition : SEPDecisions
        The decisions of the partition alone.
    """

    model: TrustModel = field(metadata=SHARED)
    min_trust: float = field(metadata=SHARED)
    base_trust: FloatArray
    partition: SEPDecisions

    @classmethod
    def of(cls, model: TrustModel, base: Decisions, partition: SEPDecisions, min_trust: float) -> Self:
        """Combine the base model's decisions with those of the partition."""
        trust = model.trust(base, partition)
        return cls(
            classes=base.classes,
            label=base.label,
            trust=trust,
            accepted=trust >= min_trust,
            cause=LATER,
            probabilities=base.probabilities,
            region=partition.region,
            by="TrustedClassifier",
            model=model,
            min_trust=min_trust,
            base_trust=base.trust,
            partition=partition,
        )

    @property
    def _partition_behind(self) -> SEPDecisions:
        return self.partition

    def _find_cause(self) -> IntArray:
        return self.model.causes(self.min_trust, self.partition, self.accepted)

    @property
    def rows(self) -> FloatArray:
        """The rows, in the features of the partition."""
        return self.partition.rows

    @property
    def gauge(self) -> FloatArray:
        """How far out the row lies in the partition, as in `SEPDecisions`."""
        return self.partition.gauge

    @cached_property
    def support(self) -> FloatArray:
        """The partition's probability of the label."""
        return probability_of(self.partition.probabilities, positions_of(self.label, self.partition.classes))

    @cached_property
    def agreement(self) -> BoolArray:
        """Whether the partition gives the same label."""
        return np.asarray(self.partition.label == self.label)

    def _with_feature_names(self, features: Sequence[str], restore: Any = None) -> Self:
        return replace_columns(self, partition=self.partition._with_feature_names(features, restore))

    def _extra_columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("base_trust", "support", "agreement", "gauge")}

    def _reasons(self) -> list[Reason]:
        # The partition describes the row with this cause, although its own may be different.
        partition = SEPReasons(replace_columns(self.partition, cause=np.asarray(self.cause)))
        return [self._reason(i, partition) for i in range(len(self))]

    def _reason(self, i: int, partition: SEPReasons) -> Reason:
        head = f"{shown(self.label[i])} by {self.model.base} with trust {decimal(self.trust[i])}"
        head += edited_mark(self.partition.model)
        sure = "" if np.isnan(self.base_trust[i]) else f" (itself {percent(self.base_trust[i])} sure)"
        opinion = f"The nearest cases agree ({percent(self.support[i])})."
        if not self.agreement[i]:
            other = f"{shown(self.partition.label[i])} ({percent(self.partition.trust[i])})"
            opinion = f"The nearest cases suggest {other} instead."
        sentences = (
            partition.place_sentence(i, head, sure),
            Sentence(opinion),
            *partition.about_gaps(i),
            *partition.about_features(i, by=self.model.base),
            *about_edits(self.partition.model),
        )
        return Reason(sentences, f"{head}. {opinion}")
