"""Trust in another model's labels: its own probabilities, combined with those of a partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.decisions.decisions import Decisions, positions_of, probability_of
from sepc.decisions.kinds import Cause, Rule
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.trusted.calibration import Calibration
from sepc.model.causes import causes
from sepc.model.sep_model import SEPModel

# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
NEVER_CERTAIN = 1e-3

# By default the base model and the partition count equally: the mean of their log-odds. The penalty, in rows, pulls
# the coefficients there. Both were chosen on the first draw of the comparison, where penalties from 1 to 30 differ
# little, and where the base model's margin and the partition's agreement added nothing as further signals.
N_SIGNALS = 2
EQUAL_WEIGHT = 0.5
PENALTY = 20.0

# Trust starts to fade at this many times the size of the nearest ellipsoid, with this power of the gauge: later than
# the partition's own probabilities, which enter already faded, but soon enough that far rows stay rejected.
FADING_BEGINS = 2.5
FADING_POWER = 2


def signals(base: Decisions, decided: SEPDecisions) -> FloatArray:
    """Log-odds of the labels, of shape (n, 2): from the base model (0 if it gives none) and from the partition."""
    support = probability_of(decided.probabilities, positions_of(base.label, decided.classes))
    both = np.column_stack([base.trust, support])
    return np.asarray(np.nan_to_num(logit(np.clip(both, NEVER_CERTAIN, 1.0 - NEVER_CERTAIN))))


def learn(given: FloatArray, correct: BoolArray) -> Calibration:
    """Fit the calibration to signals of unseen rows, and to whether their labels were right."""
    return Calibration.fit(given, correct, towards=EQUAL_WEIGHT, penalty=PENALTY)


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
        return self._fade(self.calibration.apply(signals(base, decided)), decided.gauge)

    def causes(self, min_trust: float, decided: SEPDecisions, accepted: BoolArray) -> IntArray:
        """Causes of rejected rows: MISSING where the partition has that cause, else by the training rows around."""
        cause = np.full(len(accepted), int(Cause.ACCEPTED))
        refused = np.flatnonzero(~accepted)
        standardized = self.partition.place(decided.rows[refused])
        cause[refused] = causes(self.partition, standardized, decided.rule[refused] != Rule.NEAREST, min_trust)
        with_gaps = refused[decided.missing[refused].any(axis=1)]
        cause[with_gaps[decided[with_gaps].cause == Cause.MISSING]] = Cause.MISSING
        return cause

    def _fade(self, trust: FloatArray, gauge: FloatArray) -> FloatArray:
        """Shrink trust towards that of a guess far from the training rows, however confident the base model is."""
        left = (FADING_BEGINS / np.maximum(gauge, FADING_BEGINS)) ** FADING_POWER
        guess = 1.0 / max(2, len(self.partition.classes))
        return np.asarray(left * trust + (1.0 - left) * guess)
