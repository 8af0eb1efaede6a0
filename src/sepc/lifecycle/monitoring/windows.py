"""Windows of recent rows: since the start, and since later starts, so that a late change is not diluted.

The rows of a window are compared with the reference and all rows before the window: if nothing has changed, all of them
are alike, and the longer nothing changes, the more rows there are to compare with. What a window is compared with is
fixed when it starts, so its evidence is as valid as that of a stream that starts there.

The first window never ends. The others hold 1,000 rows, 2,000, 4,000 and so on, and then start again. Each has its own
share of the false alarm level: half goes to the window that never ends; of the other half, the i-th length gets
1 / (i (i + 1)), of which its k-th window gets 1 / (k (k + 1)). The shares never exceed the whole level, however long
the stream.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from sepc.lifecycle.monitoring.tally import Tally
from sepc.records import part, parts, record, whole

SHORTEST, GROWTH = 1_000, 2
COUNTS = ("rows", "labelled", "errors", "above", "beyond", "columns")


@record
class Window:
    """Rows since some start.

    Attributes
    ----------
    tally : Tally
    number : int
        How many windows of this length were filled before, counting the first rows of the stream as one.
    """

    tally: Tally = part(Tally, is_inline=True)
    number: int = whole(1)

    @property
    def log_part(self) -> float:
        """Logarithm of its share of the level for windows of this length."""
        return -float(np.log(self.number * (self.number + 1.0)))


@dataclass(frozen=True, eq=False)
class Part:
    """The rows before a window, those in it, and the logarithm of its share of the level."""

    earlier: Tally
    tally: Tally
    log_part: float


@record
class Windows:
    """All rows, and the latest of them in windows of growing length.

    Attributes
    ----------
    total : Tally
        All rows.
    latest : tuple of Window
        The latest of them, in windows of 1,000 rows, 2,000 rows, and so on.
    """

    total: Tally = part(Tally, has_node=False)
    latest: tuple[Window, ...] = parts(Window, default=())

    def flaw(self) -> str | None:
        """What is wrong with the windows, if anything."""
        pairs = [(getattr(self.total, name), getattr(window.tally, name)) for window in self.latest for name in COUNTS]
        if any(of_all.shape == of_window.shape and (of_all < of_window).any() for of_all, of_window in pairs):
            return "has a window with more rows than there are in total"
        is_complete = len(self.renew().latest) == len(self.latest)
        return None if is_complete else "has windows that do not match the rows seen"

    def parts(self) -> tuple[Part, ...]:
        """Every window, with its share of the level."""
        whole = Part(Tally.empty(*self.total.sums.shape), self.total, -np.log(2.0))
        recent = [
            Part(self.total - window.tally, window.tally, window.log_part - np.log(2.0 * (i + 1.0) * (i + 2.0)))
            for i, window in enumerate(self.latest)
        ]
        return (whole, *recent)

    def join(self, other: Windows) -> Windows:
        """The rows of both; where one has not filled a window of some length yet, all its rows are in that window.

        The number of a joined window counts the windows that either of them has filled. So while a window keeps its
        number, its rows only grow and the rows before it stay the same, however often the two are joined: no more
        windows are tested than the level was divided among. A joined window may hold more rows than its length.
        """
        pairs = zip_longest(self.latest, other.latest)
        each = [(mine or Window(self.total, 0), theirs or Window(other.total, 0)) for mine, theirs in pairs]
        latest = [Window(mine.tally + theirs.tally, mine.number + theirs.number) for mine, theirs in each]
        return Windows(self.total + other.total, tuple(latest))

    def add(self, tally: Tally) -> Windows:
        """These windows with more rows in each."""
        return Windows(self.total + tally, tuple(replace(window, tally=window.tally + tally) for window in self.latest))

    def renew(self) -> Windows:
        """These windows with full ones restarted, and with a window of every length that all rows fill."""
        empty = Tally.empty(*self.total.sums.shape)
        lengths = SHORTEST * GROWTH ** np.arange(len(self.latest))
        latest = [
            Window(empty, window.number + 1) if window.tally.n_seen >= length else window
            for window, length in zip(self.latest, lengths, strict=True)
        ]
        while self.total.n_seen >= SHORTEST * GROWTH ** len(latest):
            latest.append(Window(empty, 1))
        return Windows(self.total, tuple(latest))
