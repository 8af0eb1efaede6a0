"""Since when rows are compared: since the start, and since later starts, so that a late change is not diluted.

The rows of a window are compared with the reference and all rows before the window: if nothing has changed, those are
alike too, and the longer it was calm, the more there are to compare with. For each window what it is compared with is
settled when it starts, so its evidence is as good as that of a stream that starts there.

The first window never ends. The others hold 1,000 rows, 2,000, 4,000 and so on, and then start anew. Each has its own
part of the level: half is for the window that never ends, and of the other half the i-th length has 1 / (i (i + 1)), of
which its k-th window has 1 / (k (k + 1)). The parts never exceed the whole, however long the stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from sepc.lifecycle.monitoring.tally import Tally

SHORTEST, GROWTH = 1_000, 2


@dataclass(frozen=True, eq=False)
class Window:
    """Rows since some start, and how many windows of this length were filled before, the first rows of all included."""

    tally: Tally
    number: int = 1

    @property
    def log_part(self) -> float:
        """Logarithm of its part of what windows of this length have together."""
        return -float(np.log(self.number * (self.number + 1.0)))


@dataclass(frozen=True, eq=False)
class Part:
    """The rows before a window, those in it, and the logarithm of its part of the level."""

    earlier: Tally
    tally: Tally
    log_part: float


@dataclass(frozen=True, eq=False)
class Windows:
    """All rows, and the latest of them in windows of growing length."""

    total: Tally
    latest: tuple[Window, ...] = ()

    def parts(self) -> tuple[Part, ...]:
        """Every window, with its part of the level."""
        whole = Part(Tally.empty(*self.total.sums.shape), self.total, -np.log(2.0))
        own = [
            Part(self.total - one.tally, one.tally, one.log_part - np.log(2.0 * (i + 1.0) * (i + 2.0)))
            for i, one in enumerate(self.latest)
        ]
        return (whole, *own)

    def joined(self, other: Windows) -> Windows:
        """The rows of both; where one has not filled a window of some length yet, all its rows are in that window.

        Each window that either of them has filled counts in the number. So while a window keeps its number its rows
        only grow and the rows before it stay, however often the two are joined while they go on: what is tested is
        then as many windows as the level was parted into.
        """
        pairs = zip_longest(self.latest, other.latest)
        each = [(one or Window(self.total, 0), two or Window(other.total, 0)) for one, two in pairs]
        latest = [Window(one.tally + two.tally, one.number + two.number) for one, two in each]
        return Windows(self.total + other.total, tuple(latest))

    def added(self, tally: Tally) -> Windows:
        """With more rows in every window."""
        return Windows(self.total + tally, tuple(replace(one, tally=one.tally + tally) for one in self.latest))

    def renewed(self) -> Windows:
        """With new windows in place of full ones, and one of every length that all rows together fill."""
        empty = Tally.empty(*self.total.sums.shape)
        lengths = SHORTEST * GROWTH ** np.arange(len(self.latest))
        latest = [
            Window(empty, one.number + 1) if one.tally.n_seen >= length else one
            for one, length in zip(self.latest, lengths, strict=True)
        ]
        while self.total.n_seen >= SHORTEST * GROWTH ** len(latest):
            latest.append(Window(empty))
        return Windows(self.total, tuple(latest))
