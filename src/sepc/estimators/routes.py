"""Routes: which rows have a model of their own, and the decisions that these models and the default made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import (
    LATER,
    NO_REGIONS,
    SHARED,
    Decision,
    Decisions,
    frame_of,
    positions_of,
    replace_columns,
)
from sepc.decisions.kinds import Reason
from sepc.decisions.letter import Grounds, Words
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.records import bools, counts, flag, labels, lists, number, record, text, texts, whole
from sepc.wording import counted, name_of, p_in_short, with_number

if TYPE_CHECKING:
    import pandas as pd


# The route of rows that the default model decides on.
DEFAULT = -2


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
        Whether the combination has a model of its own; the default decides on the others.
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
        """The stratum of each row of categories: its position here, or -2 if the default model decides."""
        known = {combination: s for s, combination in enumerate(self.values) if self.fitted[s]}
        return np.array([known.get(tuple(row), DEFAULT) for row in values], dtype=np.int64)

    def _described(self, values: NDArray[Any]) -> str:
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
    """The strata of the training rows, and the stratum of each row (-2 if it is left to the default)."""
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
    of_first = np.full(len(seen), DEFAULT)
    of_first[order] = np.where(fitted, np.arange(len(order)), DEFAULT)
    return strata, of_first[first]


# Regions listed in a summary; the others are counted.
MOST_LISTED = 10
COLUMNS = ("region", "where", "kept", "n_made", "n_judged", "errors_before", "errors_after", "p_value", "n_together")


@record
class Change:
    """The outcome of a repair in one region.

    Attributes
    ----------
    region : int
        Its number.
    where : str
        The region in words.
    n_made : int
        Rows that the region's new model was fitted to; 0 if there were too few.
    n_judged : int
        Held-out rows of the region; each was tested on a new model that was not fitted to it.
    errors_before, errors_after : int
        Errors on these rows, of the original model and of the new ones.
    p_value : float
        Of an exact one-sided sign test (McNemar's): the probability, if new models were no better, that they are right
        on at least as many of the rows on which only one of the two is right.
    n_together : int
        Number of regions tested together, including this one; regions with few rows are pooled.
    kept : bool
        Whether the new model is used.
    """

    region: int = whole(low=-1)
    where: str = text()
    n_made: int = whole()
    n_judged: int = whole()
    errors_before: int = whole()
    errors_after: int = whole()
    p_value: float = number(0.0, 1.0)
    n_together: int = whole(low=1)
    kept: bool = flag()

    def __str__(self) -> str:
        name = with_number(self.where, self.region)
        if self.n_made == 0:
            return f"{name}: left as it was, too few rows to fit a model to"
        outcome = "repaired" if self.kept else "left as it was, a new model is not shown to be better"
        if self.n_judged == 0:
            return f"{name}: {outcome}; no rows to judge it"
        errors = f"{self.errors_before:,} before, {self.errors_after:,} after"
        others = f", together with {counted(self.n_together - 1, 'other region')}" if self.n_together > 1 else ""
        p = f" (p {p_in_short(self.p_value, '= ')}{others})"
        return f"{name}: {outcome}; errors on {counted(self.n_judged, 'row')}: {errors}{p}"


class Changes(ShownAsCard, tuple[Change, ...]):
    """The outcome of a repair in each region: a tuple of `Change` that prints as a table."""

    __slots__ = ()

    @property
    def kept(self) -> tuple[Change, ...]:
        """The changes of repaired regions."""
        return tuple(change for change in self if change.kept)

    def headline(self) -> str:
        """How many regions were repaired, and their errors before and after, in a sentence."""
        if not self:
            return "Nothing repaired: no region fails."
        head = f"{len(self.kept):,} of {counted(len(self), 'region')} repaired"
        if not self.kept:
            return f"{head}: no new model is shown to be better."
        before, after = (sum(getattr(change, f"errors_{when}") for change in self.kept) for when in ("before", "after"))
        return f"{head}; errors there on rows not fitted on: {before:,} before, {after:,} after."

    def summary(self) -> str:
        """What was changed, in words."""
        lines = [self.headline(), *(f"- {change}" for change in self[:MOST_LISTED])]
        if len(self) > MOST_LISTED:
            lines.append(f"- and {counted(len(self) - MOST_LISTED, 'more region')}: see changes_.to_frame()")
        return "\n".join([*lines, "All other decisions stay as they were."] if self else lines)

    def to_frame(self) -> pd.DataFrame:
        """The changes as a pandas DataFrame, a row for each region."""
        return frame_of({name: [getattr(change, name) for change in self] for name in COLUMNS})

    def _card(self) -> Card:
        rows = tuple(
            (
                change.where,
                str(change.region),
                "repaired" if change.kept else "as it was",
                *(f"{n:,}" for n in (change.n_judged, change.errors_before, change.errors_after)),
                p_in_short(change.p_value),
            )
            for change in self
        )
        head = ("where", "region", "outcome", "rows", "wrong before", "after", "p")
        note = "All other decisions stay as they were." if self else ""
        return Card(self.headline().removesuffix("."), (), head, rows, note)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RoutedDecisions(Decisions):
    """Decisions of a `RoutedClassifier`: each row decided by the model of its route, or by the default.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`, by the model that decided. Probabilities are 0 for classes it does not know. Regions are
        those of the default model; models of strata share none, so there `region` is -2.
    route : array of int
        Which model of `RoutedClassifier.routes_` decided: a position in `strata_`, or a region; -2 for the default.
    values : (n, k) array of object or None
        The categories of the row in the columns `by`.
    inner : list of Decision
        The decision of the model that decided, for each row.
    """

    parts: Mapping[int, Decisions] = field(metadata=SHARED)
    strata: Strata | None = field(default=None, metadata=SHARED)
    route: IntArray
    position: IntArray
    values: NDArray[Any] | None = None
    located: SEPDecisions | None = None

    @classmethod
    def of_strata(cls, strata: Strata, parts: Mapping[int, Decisions], route: IntArray, values: NDArray[Any]) -> Self:
        """The decisions of the models of strata, and of the default, each on the rows of its route."""
        region = np.full(len(route), NO_REGIONS)
        return cls._gather(strata.classes, parts, route, region=region, strata=strata, values=values)

    @classmethod
    def of_regions(cls, outer: Decisions, inner: Mapping[int, SEPDecisions]) -> Self:
        """The decisions of the default model on all rows, and of models of regions, which replace these."""
        route = np.where(np.isin(outer.region, list(inner)), outer.region, DEFAULT)
        parts = {DEFAULT: outer[route == DEFAULT] if inner else outer, **inner}
        return cls._gather(outer.classes, parts, route, region=outer.region, located=outer._partition_behind)

    @classmethod
    def _gather(cls, classes: NDArray[Any], parts: Mapping[int, Decisions], route: IntArray, **given: Any) -> Self:
        """Bring together what each model decided; classes that a model does not know have probability 0."""
        n, position = len(route), np.empty(len(route), dtype=np.int64)
        label, trust, accepted = np.empty(n, classes.dtype), np.empty(n), np.empty(n, bool)
        probabilities = np.zeros((n, len(classes)))
        for key, decided in parts.items():
            rows, place = np.flatnonzero(route == key), positions_of(decided.classes, classes)
            position[rows] = np.arange(len(rows))
            label[rows], trust[rows], accepted[rows] = decided.label, decided.trust, decided.accepted
            probabilities[np.ix_(rows, place[place >= 0])] = decided.probabilities[:, place >= 0]
        return cls(
            classes=classes,
            label=label,
            trust=trust,
            accepted=accepted,
            cause=LATER,
            probabilities=probabilities,
            by="RoutedClassifier",
            parts=parts,
            route=route,
            position=position,
            **given,
        )

    @property
    def _partition_behind(self) -> SEPDecisions | None:
        return self.located

    @property
    def _routed_behind(self) -> RoutedDecisions:
        return self

    @property
    def is_repaired(self) -> BoolArray:
        """Where the model of a repaired region decided."""
        return np.asarray((self.route != DEFAULT) & (self.strata is None))

    @property
    def _weighed_behind(self) -> Any:
        """That of the default model if it decided on all of these rows, and its regions have the other models."""
        is_all = self.strata is None and not self.is_repaired.any()
        return self.parts[DEFAULT][self.position]._weighed_behind if is_all else None

    @property
    def inner(self) -> list[Decision]:
        """The decision of the model that decided, for each row."""
        found = {i: one for _, rows, part in self._each() for i, one in zip(rows.tolist(), part, strict=True)}
        return [found[i] for i in range(len(self))]

    def of_repaired(self) -> Iterator[Decisions]:
        """The decisions of each model of a repaired region, on its rows among these."""
        return (decided for route, _, decided in self._each() if route != DEFAULT and self.strata is None)

    def _each(self) -> Iterator[tuple[int, IntArray, Decisions]]:
        """Of each model that decided on some of the rows: its route, the rows, and its decisions on them."""
        for route, decided in self.parts.items():
            rows = np.flatnonzero(self.route == route)
            if len(rows):
                yield route, rows, decided[self.position[rows]]

    def _find_cause(self) -> IntArray:
        cause = np.empty(len(self), dtype=np.int64)
        for _, rows, decided in self._each():
            cause[rows] = decided.cause
        return cause

    def _with_feature_names(self, features: Sequence[str], restore: Any = None) -> Self:
        if self.located is None:
            return self
        parts = {route: decided._with_feature_names(features, restore) for route, decided in self.parts.items()}
        return replace_columns(self, parts=parts, located=self.located._with_feature_names(features, restore))

    def _extra_columns(self) -> dict[str, Any]:
        return {"route": self.route}

    def _reasons(self) -> list[Reason]:
        reasons: dict[int, Reason] = {}
        for route, rows, decided in self._each():
            for i, reason in zip(rows.tolist(), decided._reasons(), strict=True):
                reasons[i] = reason.after(self._whose(i, route))
        return [reasons[i] for i in range(len(self))]

    def _whose(self, i: int, route: int) -> str:
        """Whose decision it is, before its reasons; empty for the default of regions."""
        if self.strata is None or self.values is None:
            return "" if route == DEFAULT else "By the repaired model: "
        described = self.strata._described(self.values[i])
        if route != DEFAULT:
            return f"among {described}: "
        return f"among all rows, as {described} has no model of its own: " if described else "among all rows: "

    def _grounds(self, words: Words) -> Grounds:
        _, _, decided = next(self._each())
        return decided._grounds(words)
