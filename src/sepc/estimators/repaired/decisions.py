"""Decisions of a `RepairedClassifier`: those of the original classifier, or of a repaired region's own model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.decisions import Decision, Decisions, positions_of
from sepc.decisions.letter import Grounds, Words
from sepc.decisions.row_wise import SHARED, replace_columns
from sepc.decisions.sentences import Reason
from sepc.estimators.repaired.partition import partition_decisions
from sepc.estimators.sep.decisions import SEPDecisions

# Columns of all decisions, and those of the partition.
BY_ROW = ("label", "trust", "accepted", "cause")
OF_PARTITION = ("counts_label", "rule", "gauge", "place")


@dataclass(frozen=True, eq=False)
class RepairedParts:
    """The decisions of each model: `outer` on all rows, `inner` on the rows of each repaired region, in order."""

    outer: Decisions
    inner: Mapping[int, SEPDecisions]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RepairedDecisions(Decisions):
    """Decisions of a `RepairedClassifier`: those of the original, and in repaired regions those of their own models.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`; in a repaired region, by its own model. Regions are those of the original classifier.
    rule, gauge, place, counts, counts_label
        As in `SEPDecisions`: by the partition of the original or, in a repaired region, by its own model.
    repaired : array of bool
        Whether the region's own model decided.
    position : array of int
        Position of each row among the rows that its model decided on.
    """

    parts: RepairedParts = field(metadata=SHARED)
    rule: IntArray
    gauge: FloatArray
    place: IntArray
    counts: IntArray
    counts_label: NDArray[Any]
    repaired: BoolArray
    position: IntArray

    @classmethod
    def gather(cls, parts: RepairedParts) -> Self:
        """Combine the decisions: those of repaired regions replace those of the original classifier."""
        outer, partition = parts.outer, partition_decisions(parts.outer)
        values = {name: np.array(getattr(outer, name)) for name in (*BY_ROW, "probabilities")}
        values |= {name: np.array(getattr(partition, name)) for name in OF_PARTITION}
        values["counts"] = _in_order_of(outer.classes, partition.classes, partition.counts)
        repaired, position = np.zeros(len(outer), dtype=bool), np.arange(len(outer))
        for region, decided in parts.inner.items():
            rows = np.flatnonzero(outer.region == region)
            repaired[rows], position[rows] = True, np.arange(len(rows))
            for name in (*BY_ROW, *OF_PARTITION):
                values[name][rows] = getattr(decided, name)
            for name in ("counts", "probabilities"):
                values[name][rows] = _in_order_of(outer.classes, decided.classes, getattr(decided, name))
        return cls(
            classes=outer.classes,
            region=outer.region,
            by="RepairedClassifier",
            parts=parts,
            repaired=repaired,
            position=position,
            **values,
        )

    def _single(self) -> RepairedDecision:
        """The only decision, as single values."""
        return RepairedDecision(self)

    def _with_feature_names(self, features: Sequence[str], restore: Any = None) -> Self:
        """The same decisions, with these feature names in their reasons, and values converted by `restore`."""
        inner = {region: decided._with_feature_names(features, restore) for region, decided in self.parts.inner.items()}
        return replace_columns(
            self, parts=RepairedParts(self.parts.outer._with_feature_names(features, restore), inner)
        )

    def _extra_columns(self) -> dict[str, Any]:
        """Columns that are specific to this class of decisions."""
        columns = {"rule": self.rule, "gauge": self.gauge, "counts_label": self.counts_label}
        columns |= {"repaired": self.repaired}
        return columns | {f"n_{label}": self.counts[:, i] for i, label in enumerate(self.classes)}

    def _reasons(self) -> list[Reason]:
        """The reasons for every decision, without the verdicts."""
        outer = np.flatnonzero(~self.repaired)
        reasons = dict(zip(outer.tolist(), self.parts.outer[self.position[outer]]._reasons(), strict=True))
        for region, decided in self.parts.inner.items():
            rows = np.flatnonzero(self.repaired & (self.region == region))
            pairs = zip(rows.tolist(), decided[self.position[rows]]._reasons(), strict=True)
            reasons |= {i: reason.after("By the repaired model: ") for i, reason in pairs}
        return [reasons[i] for i in range(len(self))]

    def _grounds(self, words: Words) -> Grounds:
        """The grounds of the only decision, for a letter, in these words."""
        decided = self.parts.inner[int(self.region[0])] if self.repaired[0] else self.parts.outer
        return decided[self.position]._grounds(words)


def _in_order_of(classes: NDArray[Any], known: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Reorder columns from a model's known classes to `classes`; zeros for a class it does not know."""
    place = positions_of(known, classes)
    columns = np.zeros((len(values), len(classes)), dtype=values.dtype)
    columns[:, place[place >= 0]] = values[:, place >= 0]
    return columns


@dataclass(frozen=True, eq=False, repr=False)
class RepairedDecision(Decision):
    """The decision on one row; its attributes are those of `RepairedDecisions`, as single values."""

    _only: RepairedDecisions

    @property
    def inner(self) -> Decision:
        """The decision of the model that decided on this row."""
        parts: RepairedParts = self.parts
        decided: Decisions = parts.inner[self.region] if self.repaired else parts.outer
        return decided[[self.position]]._single()
