"""Decisions of a `StratifiedClassifier`: those of several models, each on the rows of its stratum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray
from sepc.decisions.decisions import NO_REGIONS, Decision, Decisions, positions_of
from sepc.decisions.row_wise import SHARED
from sepc.estimators.stratified.strata import POOLED, Strata


@dataclass(frozen=True, eq=False)
class Parts:
    """What each model decided.

    Attributes
    ----------
    strata : Strata
    decisions : mapping of stratum to Decisions
        Each model's own, on its rows in the order given; -1 is the pooled one.
    """

    strata: Strata
    decisions: Mapping[int, Decisions]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StratifiedDecisions(Decisions):
    """Decisions on rows, as arrays of one entry a row.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`, by each row's own model. Probabilities are 0 for classes that this model has not seen.
        Strata have no regions in common; `decisions[i].inner.region` is that of the row's own model.
    stratum : array of int
        Row of `StratifiedClassifier.strata_`; -1 where the pooled model decides.
    values : (n, k) array of object
        The row's categories in the columns `by`.
    position : array of int
        Where among the rows of its model each row stands.
    """

    parts: Parts = field(metadata=SHARED)
    stratum: IntArray
    values: NDArray[Any]
    position: IntArray

    @classmethod
    def gathered(cls, parts: Parts, stratum: IntArray, values: NDArray[Any]) -> Self:
        """Put the decisions of all models back into the order of the rows."""
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

    def alone(self) -> StratifiedDecision:
        """The only decision, as single values."""
        return StratifiedDecision(self)

    def own_columns(self) -> dict[str, Any]:
        """Columns that only decisions of this class have."""
        return {"stratum": self.stratum}

    def reason_parts(self) -> list[str]:
        """What there is to say of the only decision, but whether it is accepted."""
        only = self.alone()
        first, *others = only.inner.alone.reason_parts()
        return [f"{only.among}: {first}", *others]


@dataclass(frozen=True, eq=False, repr=False)
class StratifiedDecision(Decision):
    """The decision on one row; its attributes are those of `StratifiedDecisions`, as single values."""

    alone: StratifiedDecisions

    @property
    def inner(self) -> Decision:
        """The decision of the row's own model."""
        parts: Parts = self.parts
        return parts.decisions[self.stratum][[self.position]].alone()

    @property
    def among(self) -> str:
        """The stratum in words."""
        described = self.parts.strata.described(self.values)
        if self.stratum != POOLED:
            return f"among {described}"
        return f"among all rows, as {described} has no model of its own" if described else "among all rows"
