"""RecentRows: the latest rows of a stream, in memory only, so that an alarm can say which columns moved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from sepc.lifecycle.column_changes.column_rows import ColumnRows

# The most rows that are kept.
MOST_ROWS = 2_000


@dataclass(frozen=True, eq=False)
class RecentRows:
    """The latest rows, in batches.

    Attributes
    ----------
    batches : tuple of ColumnRows
        The latest is the last one; together they have at least `MOST_ROWS` rows, if there were that many.
    """

    batches: tuple[ColumnRows, ...] = ()

    def add(self, rows: ColumnRows | None) -> RecentRows:
        """Add rows, and drop batches that are too old."""
        if rows is None or len(rows) == 0:
            return self
        batches = (*self.batches, rows.last(MOST_ROWS))
        n_rows, first = sum(map(len, batches)), 0
        while n_rows - len(batches[first]) >= MOST_ROWS:
            n_rows -= len(batches[first])
            first += 1
        return RecentRows(batches[first:])

    @property
    def n_last(self) -> int:
        """Rows of the latest batch."""
        return len(self.batches[-1]) if self.batches else 0

    def together(self) -> ColumnRows | None:
        """The latest rows as one batch; None if there are none."""
        return reduce(ColumnRows.followed_by, self.batches).last(MOST_ROWS) if self.batches else None
