"""Recourse for every row of a table, in parallel, and a summary by group."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card, ShownAsCard
from sepc.columns.table import is_table
from sepc.decisions.decisions import Decisions, frame_of
from sepc.recourses.recourse import Recourse, objects
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
            "outcome": objects([own.outcome for own in self.outcomes]),
            "bound": np.array([own.bound for own in self.outcomes]),
            "cost": np.array([own.cost for own in self.outcomes]),
            "trust": np.array([own.trust for own in self.outcomes]),
            "n_answers": np.array([own.n_answers for own in self.outcomes], dtype=np.int64),
            "changes": objects(["; ".join(change[3] for change in own.changes) for own in self.outcomes]),
        }
        return frame_of(columns, self.decisions.index)

    def changes(self) -> pd.DataFrame:
        """One row for each feature that changes in the first answer of a row, with the position of that row."""
        each = [(i, change) for i, own in enumerate(self.outcomes) for change in own.changes]
        columns = {
            "row": np.array([i for i, _ in each], dtype=np.int64),
            "feature": objects([change[0] for _, change in each]),
            "before": objects([change[1] for _, change in each]),
            "after": objects([change[2] for _, change in each]),
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
