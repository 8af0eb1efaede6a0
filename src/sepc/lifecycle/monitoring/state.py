"""What a monitor stores about rows: counts, errors and sums for every region, in windows of recent rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from scipy.sparse import csr_array

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.records import counts, floats, part, parts, record, whole

# Over all rows, features are counted above their mean plus this many standard deviations.
CUTS = np.array([-0.7, 0.0, 0.7])
# The counts of columns: rows without a known value, and rows with a round one.
N_COUNTS = 2


@record
class Tally:
    """Counts and sums over some rows; tallies can be added.

    Attributes
    ----------
    rows : (R,) array of int
        Rows in each region. The last region is that of combinations of ellipsoids not seen in training.
    labelled, errors : (R,) arrays of int
        Rows whose label is known, and those of them that the model got wrong.
    above : (R, d) array of int
        Rows with a feature above the middle of their region.
    beyond : (3, d) array of int
        Rows of all regions with a feature above each of three cuts.
    sums, squares : (R, d) arrays
        Sums of the features and of their squares, standardised by the reference's mean and standard deviation.
    columns : (2, d) array of int
        Rows without a known value of a feature, and rows with a round one; see `column_counts`.
    """

    rows: IntArray = counts("R")
    labelled: IntArray = counts("R")
    errors: IntArray = counts("R")
    above: IntArray = counts("R", "d")
    beyond: IntArray = counts(f"{CUTS.size}", "d")
    sums: FloatArray = floats("R", "d")
    squares: FloatArray = floats("R", "d")
    columns: IntArray = counts(f"{N_COUNTS}", "d")

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything."""
        n_above, n_beyond = self.above - self.rows[:, None], self.beyond - self.rows.sum()
        if (self.errors > self.labelled).any() or max(n_above.max(initial=0), n_beyond.max(initial=0)) > 0:
            return "has more errors than labels, or more rows above a cut than rows"
        return "has impossible counts of columns" if self.columns.max(initial=0) > self.rows.sum() else None

    @classmethod
    def empty(cls, n_regions: int, n_features: int) -> Tally:
        """The tally of no rows."""
        none, nothing = np.zeros(n_regions, dtype=np.int64), np.zeros((n_regions, n_features))
        beyond = np.zeros((len(CUTS), n_features), dtype=np.int64)
        columns = np.zeros((N_COUNTS, n_features), dtype=np.int64)
        return cls(none, none, none, nothing.astype(np.int64), beyond, nothing, nothing, columns)

    @classmethod
    def of_rows(
        cls,
        region: IntArray,
        features: FloatArray,
        above: BoolArray,
        beyond: BoolArray,
        n_regions: int,
        columns: IntArray,
    ) -> Tally:
        """The tally of rows without labels; region -1 is the last one, and `beyond` has shape (3, n, d)."""
        region = region % n_regions
        n, none = len(region), np.zeros(n_regions, dtype=np.int64)
        place = csr_array((np.ones(n), (region, np.arange(n))), shape=(n_regions, n))
        n_above = np.asarray(place @ above.astype(np.float64)).astype(np.int64)
        sums, squares = (np.asarray(place @ values, dtype=np.float64) for values in (features, features**2))
        rows, n_beyond = np.bincount(region, minlength=n_regions), beyond.sum(axis=1, dtype=np.int64)
        return cls(rows, none, none, n_above, n_beyond, sums, squares, columns)

    @classmethod
    def of_labels(cls, region: IntArray, wrong: BoolArray, n_regions: int, n_features: int) -> Tally:
        """The tally of labels alone; the rows are counted elsewhere."""
        region = region % n_regions
        labelled = np.bincount(region, minlength=n_regions)
        errors = np.bincount(region[wrong], minlength=n_regions)
        return replace(cls.empty(n_regions, n_features), labelled=labelled, errors=errors)

    @property
    def n(self) -> int:
        """Total number of rows."""
        return int(self.rows.sum())

    @property
    def n_seen(self) -> int:
        """Total number of rows or labels, whichever is larger."""
        return max(self.n, int(self.labelled.sum()))

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))

    def __sub__(self, other: Tally) -> Tally:
        """The tally without `other`, whose rows must be part of this one."""
        return Tally(*(mine - theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))


# The rows of a window are compared with the reference and all rows before the window: if nothing has changed, all of
# them are alike, and the longer nothing changes, the more rows there are to compare with. What a window is compared
# with is fixed when it starts, so its evidence is as valid as that of a stream that starts there.
#
# The first window never ends. The others hold 1,000 rows, 2,000, 4,000 and so on, and then start again. Each has its
# own share of the false alarm level: half goes to the window that never ends; of the other half, the i-th length gets 1
# / (i (i + 1)), of which its k-th window gets 1 / (k (k + 1)). The shares never exceed the whole level, however long
# the stream.


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
        """The rows of both; where one has not filled a window of some length yet, all its rows are in that window."""
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
