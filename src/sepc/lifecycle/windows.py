"""Since when rows are compared: since the start, and since later starts, so that a late change is not diluted.

The first window never ends. The others hold 1,000 rows, 4,000, 16,000 and so on, and then start anew. Each has its
own part of the level: half is for the window that never ends, a quarter for those of 1,000 rows, an eighth for those of
4,000; the k-th of a length gets 1 / (k (k + 1)) of that. The parts never exceed the whole, however long the stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from sepc.lifecycle.tally import Tally

SHORTEST, GROWTH = 1_000, 4


@dataclass(frozen=True, eq=False)
class Window:
    """Rows since some start, and how many windows of this length there were, this one included."""

    tally: Tally
    number: int = 1

    @property
    def log_part(self) -> float:
        """Logarithm of its part of what windows of this length have together."""
        return -float(np.log(self.number * (self.number + 1.0)))


@dataclass(frozen=True, eq=False)
class Windows:
    """All rows, and the latest of them in windows of growing length."""

    total: Tally
    latest: tuple[Window, ...] = ()

    def parts(self) -> tuple[tuple[Tally, float], ...]:
        """The tally of each window, with the logarithm of its part of the level."""
        own = [(one.tally, -np.log(4.0 * 2.0**i) + one.log_part) for i, one in enumerate(self.latest)]
        return ((self.total, -np.log(2.0)), *own)

    def joined(self, other: Windows) -> Windows:
        """The rows of both; where one has no window of some length yet, it adds nothing to the other's.

        Each window that either of them has started anew counts in the number, so that windows of one number only ever
        grow, however often the two are joined: what is tested is then as many windows as the level was parted into.
        """
        empty = Tally.empty(*self.total.sums.shape)
        pairs = zip_longest(self.latest, other.latest, fillvalue=Window(empty))
        latest = [Window(one.tally + two.tally, one.number + two.number - 1) for one, two in pairs]
        return Windows(self.total + other.total, tuple(latest))

    def added(self, tally: Tally) -> Windows:
        """With more rows in every window."""
        return Windows(self.total + tally, tuple(replace(one, tally=one.tally + tally) for one in self.latest))

    def renewed(self) -> Windows:
        """With new windows in place of full ones, and a first one of every length that all rows have reached."""
        empty = Tally.empty(*self.total.sums.shape)
        lengths = SHORTEST * GROWTH ** np.arange(len(self.latest))
        latest = [
            Window(empty, one.number + 1) if one.tally.n_seen >= length else one
            for one, length in zip(self.latest, lengths, strict=True)
        ]
        while self.total.n_seen >= SHORTEST * GROWTH ** len(latest):
            latest.append(Window(empty))
        return Windows(self.total, tuple(latest))
