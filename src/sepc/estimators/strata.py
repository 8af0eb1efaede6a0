"""Strata: combinations of categories in some columns, their rows, and decisions made by their models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import NO_REGIONS, SHARED, Decision, Decisions, frame_of, positions_of
from sepc.decisions.kinds import Reason
from sepc.decisions.letter import Grounds, Words
from sepc.estimators.base import column_names
from sepc.records import bools, counts, labels, lists, record, texts
from sepc.wording import counted, name_of

if TYPE_CHECKING:
    import pandas as pd


# The stratum of rows that the pooled model decides on.
POOLED = -1


@record
class Strata(ShownAsCard):
    """The combinations of categories among the training rows, the largest first.

    Attributes
    ----------
    by : tuple of str
        Names of the columns.
    values : tuple of S tuples
        The categories of each combination; None where they are missing.
    classes : (C,) array
        The labels.
    counts : (S, C) array of int
        Training rows of each class.
    fitted : (S,) array of bool
        Whether the combination has a model of its own; the pooled model decides on the others.
    """

    by: tuple[str, ...] = texts("k", name="by_names")
    values: tuple[tuple[Any, ...], ...] = lists("S", "k")
    classes: NDArray[Any] = labels("C")
    counts: IntArray = counts("S", "C")
    fitted: BoolArray = bools("S")

    @property
    def n_rows(self) -> IntArray:
        """Training rows of each combination."""
        return np.asarray(self.counts.sum(axis=1))

    def __len__(self) -> int:
        return len(self.values)

    def of(self, values: NDArray[Any]) -> IntArray:
        """The stratum of each row of categories: its position here, or -1 if the pooled model decides."""
        known = {combination: s for s, combination in enumerate(self.values) if self.fitted[s]}
        return np.array([known.get(tuple(row), POOLED) for row in values], dtype=np.int64)

    def described(self, values: NDArray[Any]) -> str:
        """Categories as text, such as "workclass = Private, sex missing"."""
        pairs = zip(self.by, values, strict=True)
        return ", ".join(f"{name} missing" if value is None else f"{name} = {value}" for name, value in pairs)

    def to_frame(self) -> pd.DataFrame:
        """The strata as a pandas DataFrame: categories, rows, rows of each class, and which model decides."""
        columns: dict[str, Any] = {
            name: np.array([combination[j] for combination in self.values], dtype=object)
            for j, name in enumerate(self.by)
        }
        columns |= {"n_rows": self.n_rows}
        columns |= {f"n_{label}": self.counts[:, c] for c, label in enumerate(self.classes)}
        return frame_of(columns | {"model": np.where(self.fitted, "own", "pooled")})

    def _card(self) -> Card:
        n_rows = self.n_rows
        facts = (
            ("by", ", ".join(self.by) or "no column"),
            ("with a model of their own", f"{self.fitted.sum():,}, for {n_rows[self.fitted].sum():,} training rows"),
            ("left to the pooled model", f"{(~self.fitted).sum():,}, for {n_rows[~self.fitted].sum():,} training rows"),
        )
        rows = tuple(
            (
                *("missing" if value is None else name_of(value) for value in combination),
                f"{n:,}",
                "own" if fitted else "pooled",
            )
            for combination, n, fitted in zip(self.values, n_rows, self.fitted, strict=True)
        )
        title = counted(len(self), "stratum", "strata")
        return Card(title, facts, (*self.by, "rows", "model"), rows, "As a DataFrame: to_frame()")


def find_strata(
    by: tuple[str, ...], values: NDArray[Any], classes: NDArray[Any], which: IntArray, min_rows: int, min_second: int
) -> tuple[Strata, IntArray]:
    """The strata of the training rows, and the stratum of each row (-1 if it is left to the pooled model)."""
    seen: dict[tuple[Any, ...], int] = {}
    first = np.array([seen.setdefault(tuple(row), len(seen)) for row in values], dtype=np.int64)
    counts = np.zeros((len(seen), len(classes)), dtype=np.int64)
    np.add.at(counts, (first, which), 1)
    order = np.argsort(-counts.sum(axis=1), kind="stable") if by else np.empty(0, dtype=np.int64)
    counts = counts[order]
    second = np.sort(counts, axis=1)[:, -2] if len(classes) > 1 else np.zeros(len(counts), dtype=np.int64)
    fitted = (counts.sum(axis=1) >= min_rows) & (second >= min_second)
    combinations = list(seen)
    strata = Strata(by, tuple(combinations[i] for i in order), classes, counts, fitted)
    of_first = np.full(len(seen), POOLED)
    of_first[order] = np.where(fitted, np.arange(len(order)), POOLED)
    return strata, of_first[first]


def text_columns(X: Any) -> list[str]:
    """Names of the columns whose cells are not numbers."""
    return [str(name) for j, name in enumerate(column_names(X)) if not _holds_numbers(_safe_indexing(X, j, axis=1))]


def _holds_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True, eq=False)
class StratifiedParts:
    """The decisions of each model."""

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
