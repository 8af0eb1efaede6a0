"""What a monitor stores about rows: counts, errors and sums of features for every region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.records import counts, floats, record

# Over all rows, features are counted above their mean plus this many standard deviations.
CUTS = np.array([-0.7, 0.0, 0.7])
# The counts of columns: rows without a known value, and rows with a round one.
N_COUNTS = 2
# The counts of columns where they are unknown.
UNKNOWN: IntArray = np.zeros((0, 0), dtype=np.int64)


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
    columns : (c, d) array of int
        Rows without a known value of a feature, and rows with a round one; see `column_counts`. Empty if unknown,
        as in files of version 0.1.0; a sum is known only if both parts are.
    """

    rows: IntArray = counts("R")
    labelled: IntArray = counts("R")
    errors: IntArray = counts("R")
    above: IntArray = counts("R", "d")
    beyond: IntArray = counts(f"{CUTS.size}", "d")
    sums: FloatArray = floats("R", "d")
    squares: FloatArray = floats("R", "d")
    columns: IntArray = counts("c", "d", may_lack=True)

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything."""
        n_above, n_beyond = self.above - self.rows[:, None], self.beyond - self.rows.sum()
        if (self.errors > self.labelled).any() or max(n_above.max(initial=0), n_beyond.max(initial=0)) > 0:
            return "has more errors than labels, or more rows above a cut than rows"
        if len(self.columns) not in (0, N_COUNTS) or self.columns.max(initial=0) > self.rows.sum():
            return "has impossible counts of columns"
        return None

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
        columns: IntArray = UNKNOWN,
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
        return Tally(*(mine + theirs for mine, theirs in self._beside(other)))

    def __sub__(self, other: Tally) -> Tally:
        """The tally without `other`, whose rows must be part of this one."""
        return Tally(*(mine - theirs for mine, theirs in self._beside(other)))

    def _beside(self, other: Tally) -> Iterator[tuple[Any, Any]]:
        """The arrays of both; what is unknown to either is empty in both."""
        for field in fields(self):
            pair = getattr(self, field.name), getattr(other, field.name)
            yield pair if all(map(len, pair)) else (UNKNOWN, UNKNOWN)
