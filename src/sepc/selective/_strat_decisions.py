"""Decisions of several models, each on the rows of its stratum, put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.kinds import Cause
from sepc.regions.rowwise import OneRow, RowWise
from sepc.selective._strat_table import POOLED, Strata


@dataclass(frozen=True, eq=False)
class Parts:
    """What each model decided.

    Attributes
    ----------
    strata : Strata
    classes : mapping of stratum to array
        The labels each model knows; -1 is the pooled one.
    decisions : mapping of stratum to decisions
        Each model's own, on its rows in the order given.
    """

    strata: Strata
    classes: Mapping[int, NDArray[Any]]
    decisions: Mapping[int, Any]


@dataclass(frozen=True, eq=False)
class StratifiedDecisions(RowWise["StratifiedDecision"]):
    """Decisions on rows, as arrays of one entry a row.

    A whole number gives one `StratifiedDecision`; a slice, a mask or an array of positions gives fewer.

    Attributes
    ----------
    label : array
        The predicted labels.
    trust : array of float
        The probability that the label is right.
    accepted : array of bool
        Whether the row's model accepts it; the rest should go to a person.
    stratum : array of int
        Row of `StratifiedClassifier.strata_`; -1 where the pooled model decides.
    values : (n, k) array of object
        The row's categories in the columns `by`.
    position : array of int
        Where among the rows of its model each row stands.
    """

    model: Parts
    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    stratum: IntArray
    values: NDArray[Any]
    position: IntArray

    @classmethod
    def gathered(cls, parts: Parts, stratum: IntArray, values: NDArray[Any]) -> StratifiedDecisions:
        """Put the decisions of all models back into the order of the rows."""
        n, position = len(stratum), np.empty(len(stratum), dtype=np.int64)
        label, trust = np.empty(n, dtype=parts.strata.classes.dtype), np.empty(n)
        accepted = np.empty(n, dtype=bool)
        for one, decided in parts.decisions.items():
            rows = np.flatnonzero(stratum == one)
            position[rows] = np.arange(len(rows))
            label[rows], trust[rows], accepted[rows] = decided.label, decided.trust, decided.accepted
        return cls(parts, label, trust, accepted, stratum, values, position)

    @property
    def cause(self) -> IntArray:
        """Why a row was not accepted, an array of `Cause`."""
        cause = np.empty(len(self), dtype=np.int64)
        for one in np.unique(self.stratum):
            rows = np.flatnonzero(self.stratum == one)
            cause[rows] = self.model.decisions[int(one)].cause[self.position[rows]]
        return cause

    @property
    def probabilities(self) -> FloatArray:
        """Of each class, of shape (n, C); 0 for classes that a row's model has not seen."""
        probabilities = np.zeros((len(self), len(self.model.strata.classes)))
        for one in np.unique(self.stratum):
            rows = np.flatnonzero(self.stratum == one)
            own = self.model.decisions[int(one)].probabilities[self.position[rows]]
            probabilities[np.ix_(rows, among(self.model.strata.classes, self.model.classes[int(one)]))] = own
        return probabilities

    def alone(self) -> StratifiedDecision:
        """The only decision, as single values."""
        return StratifiedDecision(self)


@dataclass(frozen=True, eq=False)
class StratifiedDecision(OneRow):
    """The decision on one row; its attributes are those of `StratifiedDecisions`, as single values."""

    kinds = {"cause": Cause}
    alone: StratifiedDecisions

    def __repr__(self) -> str:
        return f"StratifiedDecision({self.label!r}, trust={self.trust:.3f}, {self.among})"

    @property
    def inner(self) -> Any:
        """The decision of the row's own model."""
        return self.model.decisions[int(self.stratum)][int(self.position)]

    @property
    def among(self) -> str:
        """The stratum in words."""
        described = self.model.strata.described(self.values)
        if self.stratum != POOLED:
            return f"among {described}"
        return f"among all rows, as {described} has no model of its own" if described else "among all rows"

    def why(self) -> str:
        """The stratum, and the reasons of its model."""
        inner = self.inner
        told = inner.why() if hasattr(inner, "why") else f"{inner.label} with trust {inner.trust:.3f}."
        return f"{self.among}: {told}"


def among(classes: NDArray[Any], some: NDArray[Any]) -> IntArray:
    """Where some classes stand among all, both sorted."""
    return np.asarray(np.searchsorted(classes, some))
