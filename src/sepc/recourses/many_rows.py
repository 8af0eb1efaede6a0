"""Recourse for every row of a table, in parallel, and a summary by group."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card, ShownAsCard
from sepc.columns.table import is_table
from sepc.decisions.decisions import Decisions, frame_of
from sepc.kernels.project import LinearRelations
from sepc.recourses._limits import Duration, Limits, RowRelations
from sepc.recourses.recourse import Recourse
from sepc.wording import counted, deviations, listed, name_of, percent, shown

if TYPE_CHECKING:
    import pandas as pd


# Rows that a process takes at a time, and parts per process, so that all end at about the same time.
MOST_ROWS, PARTS = 50, 8
# The outcomes of a row.
ACCEPTED, FOUND, NOT_FOUND, UNREACHABLE, INCOMPLETE = (
    "accepted already",
    "answer found",
    "none found",
    "out of reach",
    "missing values",
)
# Features that a summary names.
MOST_FEATURES = 3
# The costs that a summary gives for each group.
MEDIAN, HIGH = 0.5, 0.9


class RowOutcome(NamedTuple):
    """What was found for a row."""

    outcome: str
    bound: float = np.nan
    cost: float = np.nan
    trust: float = np.nan
    changes: tuple[tuple[str, Any, Any, str], ...] = ()
    takes: Duration | None = None
    usual: float = np.nan
    n_answers: int = 0

    @classmethod
    def of(cls, found: Recourse) -> RowOutcome:
        """The outcome of a recourse, without its proof."""
        if not found.answers:
            return cls(NOT_FOUND if found.is_reachable else UNREACHABLE, found.bound)
        first = found.answers[0]
        return cls(
            FOUND if first.changes else ACCEPTED,
            found.bound,
            first.cost,
            float(first.decision.trust),
            tuple((change.feature, change.before, change.after, change.words) for change in first.changes),
            first.takes,
            np.nan if first.usual is None else first.usual,
            len(found.answers),
        )


@dataclass(frozen=True, eq=False, repr=False)
class RecourseTable(ShownAsCard):
    """What would have to change in each row of a table for it to be accepted with a label.

    Attributes
    ----------
    to : object
        The target label.
    given : DataFrame or matrix
        The rows.
    decisions : Decisions
        The model's decisions on the rows as given.
    outcomes : tuple of RowOutcome
        What was found for each row.
    """

    to: Any
    given: Any
    decisions: Decisions
    outcomes: tuple[RowOutcome, ...]

    def __len__(self) -> int:
        return len(self.outcomes)

    def to_frame(self) -> pd.DataFrame:
        """One row for each row of the table: the outcome, the bound, and the first answer."""
        columns = {
            "outcome": _objects(own.outcome for own in self.outcomes),
            "bound": np.array([own.bound for own in self.outcomes]),
            "cost": np.array([own.cost for own in self.outcomes]),
            "trust": np.array([own.trust for own in self.outcomes]),
            "usual": np.array([own.usual for own in self.outcomes]),
            "takes": _objects("" if own.takes is None else str(own.takes) for own in self.outcomes),
            "n_answers": np.array([own.n_answers for own in self.outcomes], dtype=np.int64),
            "changes": _objects("; ".join(change[3] for change in own.changes) for own in self.outcomes),
        }
        return frame_of(columns, self.decisions.index)

    def changes(self) -> pd.DataFrame:
        """One row for each feature that changes in the first answer of a row, with the position of that row."""
        each = [(i, change) for i, own in enumerate(self.outcomes) for change in own.changes]
        columns = {
            "row": np.array([i for i, _ in each], dtype=np.int64),
            "feature": _objects(change[0] for _, change in each),
            "before": _objects(change[1] for _, change in each),
            "after": _objects(change[2] for _, change in each),
        }
        return frame_of(columns, None)

    def summary(self, by: Any = None) -> pd.DataFrame:
        """Who has recourse, and at what cost: one row for all, or one for each group.

        Parameters
        ----------
        by : column, list of columns or array of length n, optional
            What the groups have in common: columns of the table, or a value for each row.

        Returns
        -------
        DataFrame
            For each group: its rows; those accepted already; those asked about, without missing values; the share of
            these with an answer, and the share proved to be out of reach; the median and the 90 % quantile of the costs
            of answers, and the median bound; and the features that change most often.
        """
        labels = np.array(self._labels(by), dtype=object)
        records = [self._summary_of(name, labels == name) for name in sorted(set(labels))]
        return frame_of({key: np.array([record[key] for record in records]) for key in records[0]}, None)

    def _labels(self, by: Any) -> list[str]:
        """The group of each row."""
        if by is None:
            return ["all"] * len(self)
        if isinstance(by, str) or (isinstance(by, list) and by and all(isinstance(name, str) for name in by)):
            names = [by] if isinstance(by, str) else by
            if not is_table(self.given):
                raise ValueError("by names columns, but the rows have no column names; give a value for each row.")
            known = list(map(str, self.given.columns))
            for name in names:
                if name not in known:
                    raise ValueError(f"There is no column {shown(name)}; there are {listed(map(shown, known), 12)}.")
            cells = [np.asarray(self.given.iloc[:, known.index(name)], dtype=object) for name in names]
            return [", ".join(map(name_of, row)) for row in zip(*cells, strict=True)]
        values = np.asarray(by, dtype=object)
        if values.shape != (len(self),):
            raise ValueError(f"by has {values.size:,} values for {counted(len(self), 'row')}; give one for each.")
        return [name_of(value) for value in values]

    def _summary_of(self, name: str, inside: BoolArray) -> dict[str, Any]:
        own = [outcome for outcome, is_in in zip(self.outcomes, inside, strict=True) if is_in]
        n = Counter(outcome.outcome for outcome in own)
        n_asked = n[FOUND] + n[NOT_FOUND] + n[UNREACHABLE]
        costs = np.array([outcome.cost for outcome in own if outcome.outcome == FOUND])
        bounds = np.array([outcome.bound for outcome in own if outcome.outcome in (FOUND, NOT_FOUND)])
        changed = Counter(change[0] for outcome in own for change in outcome.changes)
        return {
            "group": name,
            "rows": len(own),
            ACCEPTED: n[ACCEPTED],
            "asked": n_asked,
            "with an answer": n[FOUND] / n_asked if n_asked else np.nan,
            UNREACHABLE: n[UNREACHABLE] / n_asked if n_asked else np.nan,
            "median cost": _quantile(costs, MEDIAN),
            "90 % cost": _quantile(costs, HIGH),
            "median bound": _quantile(bounds, MEDIAN),
            "changes most": ", ".join(feature for feature, _ in changed.most_common(MOST_FEATURES)),
        }

    def _card(self) -> Card:
        every = self._summary_of("all", np.ones(len(self), dtype=bool))
        n = Counter(own.outcome for own in self.outcomes)
        facts = [(outcome, f"{n[outcome]:,} ({percent(n[outcome] / len(self))})") for outcome in n]
        if n[FOUND]:
            facts.append(("median cost", deviations(every["median cost"])))
            facts.append(("changes most", every["changes most"]))
        title = f"Recourse to {shown(self.to)} for {counted(len(self), 'row')}"
        return Card(title, tuple(facts), note="summary(by=...) compares groups, and to_frame() has every row.")


def ask_each(
    ask: Callable[[Any], Recourse],
    X: Any,
    decisions: Decisions,
    is_incomplete: BoolArray,
    to: Any,
    n_jobs: int | None,
    progress: bool | Callable[[int, int], None],
) -> RecourseTable:
    """Ask about each complete row, in parallel; `progress` is told how many rows are done."""
    complete = np.flatnonzero(~is_incomplete)
    size = max(1, min(MOST_ROWS, len(complete) // (PARTS * effective_n_jobs(n_jobs))))
    parts = [complete[start : start + size] for start in range(0, len(complete), size)]
    outcomes = [RowOutcome(INCOMPLETE)] * len(X)
    tell = _write_progress if progress is True else progress or None
    told = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_ask_some)(ask, _some(X, part)) for part in parts)
    n_done = len(X) - len(complete)
    for part, found in zip(parts, told, strict=True):
        for i, outcome in zip(part.tolist(), found, strict=True):
            outcomes[i] = outcome
        n_done += len(part)
        if tell is not None:
            tell(n_done, len(X))
    return RecourseTable(to, X, decisions, tuple(outcomes))


def _ask_some(ask: Callable[[Any], Recourse], X: Any) -> list[RowOutcome]:
    return [RowOutcome.of(ask(_some(X, np.array([i])))) for i in range(len(X))]


def _some(X: Any, rows: NDArray[Any]) -> Any:
    return X.iloc[rows] if is_table(X) else X[rows]


def _write_progress(n_done: int, n_rows: int) -> None:
    end = "\n" if n_done == n_rows else ""
    sys.stderr.write(f"\rRecourse: {n_done:,} of {counted(n_rows, 'row')}{end}")
    sys.stderr.flush()


def _quantile(values: FloatArray, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else np.nan


def _objects(values: Iterable[Any]) -> Any:
    every = list(values)
    column = np.empty(len(every), dtype=object)
    column[:] = every
    return column


# A change is as unusual as its distance to this nearest known change.
NEIGHBOUR = 5
# An answer counts as usual if at least this share of the known changes are at least as unusual.
USUAL = 0.1
# The most known changes that are compared, and that are tried on a row.
MOST_COMPARED, MOST_TRIED = 1_000, 200


@dataclass(frozen=True, eq=False)
class KnownChanges:
    """Changes of other rows, in the model's features."""

    before: FloatArray
    after: FloatArray

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray) -> KnownChanges:
        """The pairs of rows that are complete and differ; raises a ValueError if there are none."""
        complete = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1)
        used = np.flatnonzero(complete & (before != after).any(axis=1))
        if len(used) == 0:
            raise ValueError("changes has no pair of complete rows that differ.")
        if len(used) > MOST_COMPARED:
            used = np.sort(np.random.default_rng(0).choice(used, MOST_COMPARED, replace=False))
        return cls(before[used], after[used])

    def tried_on(self, limits: Limits) -> FloatArray:
        """The row with each of the known changes made, within the limits."""
        d, n = limits.n_features, min(len(self.before), MOST_TRIED)
        before, after = self.before[:n], self.after[:n]
        rows = np.tile(limits.row, (n, 1))
        values = rows[:, :d] + after[:, :d] - before[:, :d]
        # Numbers that did not change keep their exact values.
        rows[:, :d] = np.where(after[:, :d] == before[:, :d], rows[:, :d], np.clip(values, limits.low, limits.high))
        rows[:, d:] = np.where(after[:, d:] == before[:, d:], rows[:, d:], after[:, d:])
        return limits.complete(limits.round_whole_numbers(rows))

    def usual(self, limits: Limits, rows: FloatArray) -> FloatArray:
        """For the change to each row, the share of known changes that are at least as unusual."""
        scores = self._scores(limits, np.broadcast_to(limits.row, rows.shape), rows, self._neighbour)
        known = self._known_scores(limits)
        return np.asarray((1.0 + (known >= scores[:, np.newaxis]).sum(axis=1)) / (1.0 + len(known)))

    @property
    def _neighbour(self) -> int:
        return min(NEIGHBOUR, len(self.before)) - 1

    def _known_scores(self, limits: Limits) -> FloatArray:
        if "scores" not in self._cache:
            # Each known change is its own nearest one, which does not count.
            nearest = min(self._neighbour + 1, len(self.before) - 1)
            self._cache["scores"] = self._scores(limits, self.before, self.after, nearest)
        return self._cache["scores"]

    @cached_property
    def _cache(self) -> dict[str, FloatArray]:
        return {}

    def _scores(self, limits: Limits, before: FloatArray, after: FloatArray, nearest: int) -> FloatArray:
        """The distance of changes to the known change at a position among the nearest."""
        d, numbers = limits.n_features, limits.prices > 0.0
        scale = limits.model.scale[numbers]
        own = (after - before)[:, :d][:, numbers] / scale
        known = (self.after - self.before)[:, :d][:, numbers] / scale
        squared = (own**2).sum(axis=1)[:, np.newaxis] + (known**2).sum(axis=1) - 2.0 * own @ known.T
        for code in range(d, before.shape[1]):
            one = np.where(after[:, code] == before[:, code], -1.0, after[:, code])
            two = np.where(self.after[:, code] == self.before[:, code], -1.0, self.after[:, code])
            squared = squared + (one[:, np.newaxis] != two)
        return np.asarray(np.sqrt(np.maximum(np.partition(squared, nearest, axis=1)[:, nearest], 0.0)))


@dataclass(frozen=True, eq=False)
class UsualOnly:
    """Relations that hold only where the change is usual."""

    limits: Limits
    known: KnownChanges

    @property
    def _inner(self) -> RowRelations | None:
        return self.limits.relations

    @property
    def linear(self) -> LinearRelations | None:
        """The linear relations, in standardised features."""
        return None if self._inner is None else self._inner.linear

    @property
    def loose(self) -> tuple[str, ...]:
        """The relations that are not fully linear."""
        return () if self._inner is None else self._inner.loose

    def allow(self, rows: FloatArray) -> BoolArray:
        """Whether all relations hold in each row, and its change is usual."""
        holds = self.known.usual(self.limits, rows) >= USUAL
        return holds if self._inner is None else holds & self._inner.allow(rows)

    def repair(self, rows: FloatArray) -> FloatArray:
        """Change rows, in place, so that relations hold in more of them."""
        return rows if self._inner is None else self._inner.repair(rows)

    def duration(self, row: FloatArray) -> Duration | None:
        """How long it takes to get to a row."""
        return None if self._inner is None else self._inner.duration(row)

    @property
    def under(self) -> Callable[[Limits], Any]:
        """Gives the same under other limits."""
        return lambda limits: UsualOnly(self.limits, self.known)
