"""Decisions of a `SelectiveClassifier`: an estimator's own, and which of them its promise covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sepc._typing import BoolArray
from sepc.decisions.decisions import Decisions
from sepc.decisions.kinds import Cause


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SelectiveDecisions(Decisions):
    """Decisions on rows, as arrays of one entry a row.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`; a row is accepted if the promise covers it. A row that the estimator would accept, and the
        promise does not cover, is THIN: there is evidence for its label, and too little for the promise.
    inner : Decisions
        The estimator's own decisions. Their `accepted` knows of no promise.
    """

    inner: Decisions

    @classmethod
    def of(cls, inner: Decisions, accepted: BoolArray) -> Self:
        """The decisions of an estimator, of which the promise covers some."""
        own, uncovered = inner.cause, Cause.UNEXPLAINED if type(inner) is Decisions else Cause.THIN
        cause = np.where(accepted, Cause.ACCEPTED, np.where(own == Cause.ACCEPTED, uncovered, own))
        return cls(
            classes=inner.classes,
            label=inner.label,
            trust=inner.trust,
            accepted=accepted,
            cause=cause,
            probabilities=inner.probabilities,
            region=inner.region,
            by="SelectiveClassifier",
            inner=inner,
        )

    def renamed(self, features: Sequence[str]) -> Self:
        """The same with reasons that call the features by these names."""
        return replace(self, inner=self.inner.renamed(features))

    def own_columns(self) -> dict[str, Any]:
        """Columns that only decisions of this class have."""
        return self.inner.own_columns()

    def reason_parts(self) -> list[str]:
        """What there is to say of the only decision, but whether it is accepted."""
        covers = "The promise covers it." if self.accepted[0] else "The promise does not cover it."
        return [*self.inner.reason_parts(), covers]

    def verdict(self) -> str:
        """Why the only row was not accepted, as a sentence; nothing if it was."""
        cause, own = Cause(self.cause[0]), Cause(self.inner.cause[0])
        is_about_trust = cause in (Cause.THIN, Cause.UNEXPLAINED) and own in (Cause.ACCEPTED, Cause.UNEXPLAINED)
        return f"Not accepted ({cause.name}): it asks for more trust." if is_about_trust else super().verdict()
