"""How far to trust labels that another model gave: its own confidence, weighed with what a partition says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.decisions import Decisions, positions_of, probability_of
from sepc.decisions.kinds import Cause, Rule
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.trusted.calibration import Calibration
from sepc.model.causes import causes
from sepc.model.sep_model import SEPModel

# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
NEVER_CERTAIN = 1e-3

# Before rows have said otherwise, the base model and the partition have an equal say: the mean of their log-odds. This
# many rows' worth of penalty holds them there. Both were settled on the first drawing of the comparison, where 1 to 30
# differ little, and where the base model's margin and the partition's agreement added nothing.
N_SIGNALS = 2
EQUAL_SAY = 0.5
PENALTY = 20.0

# Trust fades from this many times the size of the nearest ellipsoid on, with this power of the gauge: later than the
# partition's own probabilities, which are faded already where they enter, and as late as far rows stay refused.
FADING_BEGINS = 2.5
FADING_POWER = 2


def signals(base: Decisions, decided: SEPDecisions) -> FloatArray:
    """Log-odds of the labels, of shape (n, 2): by the base model (0 where it does not say), and by the partition."""
    support = probability_of(decided.probabilities, positions_of(base.label, decided.classes))
    both = np.column_stack([base.trust, support])
    return np.asarray(np.nan_to_num(logit(np.clip(both, NEVER_CERTAIN, 1.0 - NEVER_CERTAIN))))


def learn(given: FloatArray, correct: BoolArray) -> Calibration:
    """How signals on unseen rows go with labels' being right."""
    return Calibration.learnt(given, correct, towards=EQUAL_SAY, penalty=PENALTY)


@dataclass(frozen=True, eq=False)
class TrustModel:
    """Everything that trust in another model's labels needs, but that model.

    Attributes
    ----------
    partition : SEPModel
    calibration : Calibration
        From the signals of a label to the probability that it is right.
    base : str
        What the other model is called.
    """

    partition: SEPModel
    calibration: Calibration
    base: str

    def trust(self, base: Decisions, decided: SEPDecisions) -> FloatArray:
        """How far to trust the labels of the base model on rows that the partition has decided on."""
        return self._faded(self.calibration.apply(signals(base, decided)), decided.gauge)

    def causes(self, decided: SEPDecisions, accepted: BoolArray, min_trust: float) -> IntArray:
        """Why rows are not accepted, by the training rows around them."""
        cause = np.full(len(accepted), int(Cause.ACCEPTED))
        refused = np.flatnonzero(~accepted)
        standardized = self.partition.standardize(decided.rows[refused])
        cause[refused] = causes(self.partition, standardized, decided.rule[refused] != Rule.NEAREST, min_trust)
        return cause

    def _faded(self, trust: FloatArray, gauge: FloatArray) -> FloatArray:
        """Trust, drawn towards that of a guess where nothing was seen, however sure the base model is."""
        left = (FADING_BEGINS / np.maximum(gauge, FADING_BEGINS)) ** FADING_POWER
        guess = 1.0 / max(2, len(self.partition.classes))
        return np.asarray(left * trust + (1.0 - left) * guess)
