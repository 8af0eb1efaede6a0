"""Decisions of a repaired classifier: its own, but in repaired regions those of the regions' models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.decisions import Decisions
from sepc.regions.frames import column_of_names, frame_of
from sepc.regions.kinds import Cause, Rule
from sepc.regions.rowwise import OneRow, RowWise
from sepc.selective._strat_decisions import among

if TYPE_CHECKING:
    import pandas as pd

BY_ROW = ("label", "counts_label", "trust", "accepted", "rule", "cause", "gauge", "place")
BY_CLASS = ("counts", "probabilities")


@dataclass(frozen=True, eq=False)
class RepairedParts:
    """What each model decided: `outer` on all rows, and `inner` on the rows of each repaired region, in their order."""

    classes: NDArray[Any]
    outer: Decisions
    inner: Mapping[int, Decisions]


@dataclass(frozen=True, eq=False)
class RepairedDecisions(RowWise["RepairedDecision"]):
    """Decisions on rows, as arrays of one entry a row; as `Decisions`, but for two arrays more.

    Attributes
    ----------
    label, trust, accepted, rule, cause, gauge, place, counts, counts_label, probabilities
        As in `Decisions`; in a repaired region those of its own model.
    region : array of int
        The region of the classifier that was repaired.
    repaired : array of bool
        Whether the region's own model decided.
    position : array of int
        Where among the rows that its model was asked for each row stands.
    """

    model: RepairedParts
    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    rule: IntArray
    cause: IntArray
    gauge: FloatArray
    place: IntArray
    counts: IntArray
    counts_label: NDArray[Any]
    probabilities: FloatArray
    region: IntArray
    repaired: BoolArray
    position: IntArray

    @classmethod
    def gathered(cls, parts: RepairedParts) -> RepairedDecisions:
        """Put the decisions of the regions' models in place of those they were asked to replace."""
        outer = parts.outer
        values = {name: np.array(getattr(outer, name)) for name in (*BY_ROW, *BY_CLASS)}
        repaired, position = np.zeros(len(outer), dtype=bool), np.arange(len(outer))
        for region, decided in parts.inner.items():
            rows = np.flatnonzero(outer.region == region)
            known = among(parts.classes, decided.model.classes)
            repaired[rows], position[rows] = True, np.arange(len(rows))
            for name in BY_ROW:
                values[name][rows] = getattr(decided, name)
            for name in BY_CLASS:
                values[name][rows] = 0
                values[name][np.ix_(rows, known)] = getattr(decided, name)
        return cls(parts, region=outer.region, repaired=repaired, position=position, **values)

    def alone(self) -> RepairedDecision:
        """The only decision, as single values."""
        return RepairedDecision(self)

    def to_frame(self) -> pd.DataFrame:
        """The decisions as a pandas DataFrame, with names for rules and causes and a column of counts a class."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in ("label", "trust", "accepted")}
        columns |= {"rule": column_of_names(Rule, self.rule), "cause": column_of_names(Cause, self.cause)}
        columns |= {"region": self.region, "gauge": self.gauge, "counts_label": self.counts_label}
        columns |= {"repaired": self.repaired}
        columns |= {f"n_{name}": self.counts[:, i] for i, name in enumerate(self.model.classes)}
        return frame_of(columns)


@dataclass(frozen=True, eq=False)
class RepairedDecision(OneRow):
    """The decision on one row; its attributes are those of `RepairedDecisions`, as single values."""

    kinds = {"rule": Rule, "cause": Cause}
    alone: RepairedDecisions

    def __repr__(self) -> str:
        return f"RepairedDecision({self.label!r}, trust={self.trust:.3f}, region={self.region})"

    @property
    def inner(self) -> Any:
        """The decision of the model that was asked."""
        asked = self.model.inner[int(self.region)] if self.repaired else self.model.outer
        return asked[int(self.position)]

    def why(self) -> str:
        """The reasons of the model that was asked, and whether it is that of a repaired region."""
        return f"In repaired region {self.region}: {self.inner.why()}" if self.repaired else str(self.inner.why())
