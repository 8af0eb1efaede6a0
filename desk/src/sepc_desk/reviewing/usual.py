"""What is usual: how the values of a case stand among those of recent cases, and which cases are most like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from sepc_desk.columns import Column, Kind
from sepc_desk.entries import EntryKind
from sepc_desk.models import Model
from sepc_desk.reviewing.feedback import Settled, feedback
from sepc_desk.rows import Row as CaseRow
from sepc_desk.schema import entries

N_RECENT = 1_000
N_ANSWERED = 500
# With fewer recent cases, nothing is called unusual.
FEWEST = 20
N_LIKE = 5
N_COMMON = 3
LOW, HIGH = 5, 95


@dataclass(frozen=True)
class Place:
    """Where a value stands among recent ones.

    Attributes
    ----------
    low, median, high : float or None
        For numbers and dates: between low and high lie nine of ten recent values.
    at : float or None
        The value as a number.
    below : float or None
        The share of recent values that are smaller.
    share : float or None
        For categories: the share of recent cases with this value.
    common : list of pairs
        The most frequent values, with their shares.
    is_unusual : bool
    """

    low: float | None = None
    median: float | None = None
    high: float | None = None
    at: float | None = None
    below: float | None = None
    share: float | None = None
    common: tuple[tuple[Any, float], ...] = ()
    is_unusual: bool = False


@dataclass(frozen=True)
class Like:
    """A case that reviewers have answered, and that is much like another."""

    row: CaseRow
    label: Any
    distance: float


class Recent:
    """Recent rows of a model, and those that reviewers have answered."""

    def __init__(self, model: Model, rows: Sequence[CaseRow], answered: Sequence[Settled]) -> None:
        self.columns, self.n = model.columns, len(rows)
        self.answered = answered
        self._numbers: dict[str, NDArray[np.float64]] = {}
        self._counts: dict[str, Counter[Any]] = {}
        for column in self.columns:
            cells = [row.get(column.name) for row in rows]
            if column.kind in (Kind.NUMBER, Kind.DATE):
                found = np.array([_number(cell) for cell in cells], dtype=np.float64)
                self._numbers[column.name] = np.sort(found[~np.isnan(found)])
            else:
                self._counts[column.name] = Counter(_plain(cell) for cell in cells if cell is not None)
        self._scale = {name: _spread(found) for name, found in self._numbers.items()}

    def place(self, column: Column, cell: Any) -> Place:
        """Where a value stands."""
        if column.name in self._numbers:
            return self._place_of_number(self._numbers[column.name], _number(cell))
        counts = self._counts[column.name]
        n = sum(counts.values())
        if not n:
            return Place()
        common = tuple((value, count / n) for value, count in counts.most_common(N_COMMON))
        share = None if cell is None else counts[_plain(cell)] / n
        return Place(share=share, common=common, is_unusual=n >= FEWEST and share is not None and share < LOW / 100)

    def _place_of_number(self, found: NDArray[np.float64], at: float) -> Place:
        if not len(found):
            return Place()
        low, median, high = (float(x) for x in np.percentile(found, [LOW, 50, HIGH]))
        if np.isnan(at):
            return Place(low, median, high)
        below = float(np.searchsorted(found, at) / len(found))
        return Place(low, median, high, at, below, is_unusual=len(found) >= FEWEST and not low <= at <= high)

    def like(self, row: CaseRow, without: str) -> list[Like]:
        """The answered cases with the most similar values, the most similar first."""
        others = (one for one in self.answered if one.id != without)
        found = [Like(one.row, one.label, self._distance(row, one.row)) for one in others]
        return sorted(found, key=lambda one: one.distance)[:N_LIKE]

    def _distance(self, a: CaseRow, b: CaseRow) -> float:
        """The mean difference of the values: numbers by the spread of recent ones, others equal or not."""
        return sum(self._difference(c, a.get(c.name), b.get(c.name)) for c in self.columns) / len(self.columns)

    def _difference(self, column: Column, a: Any, b: Any) -> float:
        if a is None or b is None:
            return float((a is None) != (b is None))
        if column.name in self._numbers:
            return min(1.0, abs(_number(a) - _number(b)) / self._scale[column.name])
        return float(_plain(a) != _plain(b))


def _spread(found: NDArray[np.float64]) -> float:
    width = float(np.subtract(*np.percentile(found, [HIGH, LOW]))) if len(found) else 0.0
    return width or 1.0


def _number(cell: Any) -> float:
    """A number or a date as a number; NaN if it is missing."""
    if cell is None:
        return float("nan")
    if isinstance(cell, dict):
        return datetime.fromisoformat(cell["date"]).replace(tzinfo=UTC).timestamp()
    return float(cell)


def _plain(cell: Any) -> Any:
    return orjson.dumps(cell).decode() if isinstance(cell, dict | list) else cell


def recent(connection: Connection, model: Model) -> Recent:
    """Recent rows of a model. Which of them the model accepts, and with which label, does not matter here."""
    e = entries.c
    last = select(e.private).where(e.kind == EntryKind.DECISION, e.model == model.name, e.private.is_not(None))
    rows = [
        orjson.loads(text)["row"] for text in connection.execute(last.order_by(e.at.desc()).limit(N_RECENT)).scalars()
    ]
    return Recent(model, rows, feedback(connection, model.name, N_ANSWERED))
