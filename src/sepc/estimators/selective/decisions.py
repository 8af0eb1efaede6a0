"""Decisions of a `SelectiveClassifier`: those of its estimator, accepted where the promise covers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import SHARED, Decisions, replace_columns
from sepc.decisions.kinds import Cause, Reason, Sentence
from sepc.decisions.letter import Grounds, Words


class Lack(IntEnum):
    """Why the promise does not cover a row."""

    TRUST = 0
    GROUP = 1
    REGION = 2


NEEDS = {
    Lack.TRUST: "the promise requires more trust",
    Lack.GROUP: "there is no promise for its group",
    Lack.REGION: "there are too few calibration rows in its region",
}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SelectiveDecisions(Decisions):
    """Decisions of a `SelectiveClassifier`: which labels of its estimator the promise covers.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`; a row is accepted if the promise covers it. A row that the estimator would accept but the
        promise does not cover is THIN: there is evidence for its label, but too little for the promise.
    inner : Decisions
        The estimator's own decisions; their `accepted` ignores the promise.
    lack : array of int
        Why a row is not covered, numbered as in `Lack`.
    missed : str
        The errors of each true label among accepted calibration rows, if one of them has more than promised.
    """

    inner: Decisions
    lack: IntArray
    missed: str = field(default="", metadata=SHARED)

    @property
    def _partition_behind(self) -> Any:
        return self.inner._partition_behind

    @property
    def _weighed_behind(self) -> Any:
        return self.inner._weighed_behind

    @property
    def _routed_behind(self) -> Any:
        return self.inner._routed_behind

    def _find_cause(self) -> IntArray:
        """The estimator's own causes, and one for rows it would accept but the promise does not cover."""
        own, uncovered = self.inner.cause, Cause.UNEXPLAINED if type(self.inner) is Decisions else Cause.THIN
        return np.where(self.accepted, Cause.ACCEPTED, np.where(own == Cause.ACCEPTED, uncovered, own))

    def _with_feature_names(self, features: Sequence[str], restore: Any = None) -> Self:
        return replace_columns(self, inner=self.inner._with_feature_names(features, restore))

    def _extra_columns(self) -> dict[str, Any]:
        return self.inner._extra_columns()

    def _reasons(self) -> list[Reason]:
        reasons = []
        for reason, is_covered in zip(self.inner._reasons(), self.accepted, strict=True):
            reason = reason.with_sentence(f"The promise {'covers' if is_covered else 'does not cover'} it.")
            is_qualified = is_covered and self.missed
            reasons.append(Reason((Sentence(self.missed), *reason.sentences), reason.brief) if is_qualified else reason)
        return reasons

    def _grounds(self, words: Words) -> Grounds:
        return self.inner._grounds(words)

    def _verdicts(self) -> list[Sentence]:
        verdicts = super()._verdicts()
        for i, (cause, own) in enumerate(zip(self.cause, self.inner.cause, strict=True)):
            # Rejected only for lack of trust, given the estimator's own cause.
            if cause in (Cause.THIN, Cause.UNEXPLAINED) and own in (Cause.ACCEPTED, Cause.UNEXPLAINED):
                needs = NEEDS[Lack(self.lack[i])]
                verdicts[i] = Sentence(f"Not accepted ({Cause(cause).name}): {needs}; a person should decide.")
        return verdicts


def columns_for(probabilities: FloatArray, known: NDArray[Any], classes: NDArray[Any]) -> FloatArray:
    """Probabilities of the known classes, with a column of zeros for each of the others."""
    if len(known) == len(classes):
        return probabilities
    every = np.zeros((len(probabilities), len(classes)))
    every[:, np.searchsorted(classes, known)] = probabilities
    return every
