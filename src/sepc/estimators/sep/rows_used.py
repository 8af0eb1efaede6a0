"""How many of the training rows each part of a fit has seen."""

from __future__ import annotations

from sepc.cards import ShownOnOneLine
from sepc.records import record, whole
from sepc.wording import counted


@record
class RowsUsed(ShownOnOneLine):
    """How many rows were partitioned into ellipsoids, and how many the weights were fitted to; all are counted.

    Attributes
    ----------
    n_rows, n_partitioned, n_weighed : int
        Training rows, those partitioned, and those that weights were fitted to.

    Examples
    --------
    >>> print(RowsUsed(n_rows=100_000, n_partitioned=4_000, n_weighed=40_000))
    4,000 of 100,000 rows were partitioned, all were counted, and 40,000 were weighed.
    >>> print(RowsUsed(n_rows=150, n_partitioned=150, n_weighed=150))
    All 150 rows were partitioned and counted, and all were weighed.
    """

    n_rows: int = whole()
    n_partitioned: int = whole()
    n_weighed: int = whole()

    def flaw(self) -> str | None:
        """Whether more rows were used than there are."""
        return "has numbers of rows that cannot be" if max(self.n_partitioned, self.n_weighed) > self.n_rows else None

    def __str__(self) -> str:
        rows = counted(self.n_rows, "row")
        if self.n_partitioned < self.n_rows:
            first = f"{self.n_partitioned:,} of {rows} were partitioned, all were counted"
        else:
            first = f"All {rows} were partitioned and counted"
        if self.n_weighed == 0:
            return f"{first}."
        return f"{first}, and {'all' if self.n_weighed == self.n_rows else f'{self.n_weighed:,}'} were weighed."
