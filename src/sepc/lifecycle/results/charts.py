"""The charts of results, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Charts show at most this many entries, the first of those given.
MOST_SHOWN = 20


@dataclass(frozen=True)
class Pair:
    """Two values of the same thing, such as a rate before and now; `note` says more about it."""

    name: str
    first: float
    second: float
    note: str = ""

    @property
    def name_and_note(self) -> str:
        """The name, followed by the note if there is one."""
        return f"{self.name}: {self.note}" if self.note else self.name


@dataclass(frozen=True)
class Entries:
    """What every chart has: entries of two values each.

    Attributes
    ----------
    title : str
    axis : str
        What the values are, or what is counted.
    keys : (str, str)
        What the two marks, or the two parts of a bar, stand for.
    pairs : sequence of Pair
    """

    title: str
    axis: str
    keys: tuple[str, str]
    pairs: Sequence[Pair]

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def shown(self) -> Sequence[Pair]:
        """The entries that are shown, at most `MOST_SHOWN`."""
        return self.pairs[:MOST_SHOWN]


@dataclass(frozen=True)
class PairChart(Entries):
    """Two marks on one line for every pair, joined: the first hollow, the second filled.

    Attributes
    ----------
    title, axis, keys, pairs
        As in `Entries`.
    is_share : bool
        Whether values are shares, shown as percentages.
    """

    is_share: bool = True

    @property
    def largest(self) -> float:
        """The largest value shown."""
        return max(max(pair.first, pair.second) for pair in self.shown)


@dataclass(frozen=True)
class BarChart(Entries):
    """Bars of two parts for every entry, such as right and wrong labels; the first part plain, the second hatched."""

    @property
    def largest(self) -> float:
        """The length of the longest bar shown."""
        return max(pair.first + pair.second for pair in self.shown)


Chart = PairChart | BarChart


def left_out(chart: Chart) -> str:
    """How many entries are not shown, as a sentence; empty if all are."""
    n_more = len(chart) - len(chart.shown)
    return f"{n_more:,} more in the table." if n_more else ""
