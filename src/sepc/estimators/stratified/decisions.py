"""Decisions of a `StratifiedClassifier`, each made by the model of the row's stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray
from sepc.decisions.decisions import NO_REGIONS, Decision, Decisions, positions_of
from sepc.decisions.letter import Grounds, Words
from sepc.decisions.row_wise import SHARED
from sepc.decisions.sentences import Reason
from sepc.estimators.stratified.strata import POOLED, Strata


@dataclass(frozen=True, eq=False)
class StratifiedParts:
    """The decisions of each model.

    Attributes
    ----------
    strata : Strata
    decisions : mapping of stratum to Decisions
        The decisions of each model on its rows, in order; -1 is the pooled model.
    """

    strata: Strata
    decisions: Mapping[int, Decisions]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StratifiedDecisions(Decisions):
    """Decisions of a `StratifiedClassifier`: each row decided by the model of its stratum.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`, by the model of each row's stratum. Probabilities are 0 for classes it has not seen.
        Strata share no regions, so `region` is -2; `decisions[i].inner.region` is the region in the stratum's model.
    stratum : array of int
        Position in `StratifiedClassifier.strata_`; -1 where the pooled model decides.
    values : (n, k) array of object
        The categories of the row in the columns `by`.
    position : array of int
        Position of each row among those decided by its model.
    """

    parts: StratifiedParts = field(metadata=SHARED)
    stratum: IntArray
    values: NDArray[Any]
    position: IntArray

    @classmethod
    def gather(cls, parts: StratifiedParts, stratum: IntArray, values: NDArray[Any]) -> Self:
        """Combine the decisions of all models, in the order of the rows."""
        n, classes = len(stratum), parts.strata.classes
        columns: dict[str, Any] = {
            "label": np.empty(n, dtype=classes.dtype),
            "trust": np.empty(n),
            "accepted": np.empty(n, dtype=bool),
            "cause": np.empty(n, dtype=np.int64),
        }
        probabilities, position = np.zeros((n, len(classes))), np.empty(n, dtype=np.int64)
        for own_stratum, decided in parts.decisions.items():
            rows = np.flatnonzero(stratum == own_stratum)
            position[rows] = np.arange(len(rows))
            for name, column in columns.items():
                column[rows] = getattr(decided, name)
            probabilities[np.ix_(rows, positions_of(decided.classes, classes))] = decided.probabilities
        return cls(
            classes=classes,
            **columns,
            probabilities=probabilities,
            region=np.full(n, NO_REGIONS),
            by="StratifiedClassifier",
            parts=parts,
            stratum=stratum,
            values=values,
            position=position,
        )

    def _single(self) -> StratifiedDecision:
        """The only decision, as single values."""
        return StratifiedDecision(self)

    def _extra_columns(self) -> dict[str, Any]:
        """Columns that are specific to this class of decisions."""
        return {"stratum": self.stratum}

    def _reasons(self) -> list[Reason]:
        """The reasons for every decision, without the verdicts."""
        reasons: dict[int, Reason] = {}
        for stratum, decided in self.parts.decisions.items():
            rows = np.flatnonzero(self.stratum == stratum)
            pairs = zip(rows.tolist(), decided[self.position[rows]]._reasons(), strict=True)
            reasons |= {i: reason.after(f"{self[i].among}: ") for i, reason in pairs}
        return [reasons[i] for i in range(len(self))]

    def _grounds(self, words: Words) -> Grounds:
        """The grounds of the only decision, for a letter, in these words."""
        decided = next(decisions for stratum, decisions in self.parts.decisions.items() if stratum == self.stratum[0])
        return decided[self.position]._grounds(words)


@dataclass(frozen=True, eq=False, repr=False)
class StratifiedDecision(Decision):
    """The decision on one row; its attributes are those of `StratifiedDecisions`, as single values."""

    _only: StratifiedDecisions

    @property
    def inner(self) -> Decision:
        """The decision by the model of the row's stratum."""
        parts: StratifiedParts = self.parts
        return parts.decisions[self.stratum][[self.position]]._single()

    @property
    def among(self) -> str:
        """The stratum in words."""
        described = self.parts.strata.described(self.values)
        if self.stratum != POOLED:
            return f"among {described}"
        return f"among all rows, as {described} has no model of its own" if described else "among all rows"
