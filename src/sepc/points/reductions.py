"""Summaries of rows that one pass can compute, each as map, combine and finish."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.points.protocol import Region
from sepc.points.tiles import TILE_ROWS, project, row_tiles

Range: TypeAlias = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Spread:
    """Number of rows, their mean, and their scatter, the sum of (x - mean)(x - mean)'."""

    n: int
    mean: FloatArray
    scatter: FloatArray


@dataclass(frozen=True, eq=False)
class _Partial:
    """A spread whose mean is `base + rest`: a single number would lose digits that later merges need."""

    n: int
    base: FloatArray
    rest: FloatArray
    scatter: FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and scatter of the rows, or of ``(x - origin) @ matrix``.

    Each tile is centred on its own mean, and tiles are merged by the formula of Chan, Golub and LeVeque: one pass over
    the data, and no loss of precision for rows far from zero. An overflow gives a non-finite result, without a warning.

    Parameters
    ----------
    origin : (d,) array, optional
        Subtracted from every row. The mean is then precise relative to the distance from it.
    matrix : (d, k) array, optional
        Applied to every row afterwards.

    Examples
    --------
    >>> from sepc.geometry import ArrayPoints
    >>> spread = ArrayPoints(np.array([[1e9], [1e9 + 2.0]])).reduce(Moments())
    >>> spread.n, spread.mean.tolist(), spread.scatter.tolist()
    (2, [1000000001.0], [[2.0]])
    """

    origin: FloatArray | None = None
    matrix: FloatArray | None = None

    def map(self, block: FloatArray) -> _Partial:
        """Join the tiles of one block."""
        d = block.shape[1] if self.matrix is None else self.matrix.shape[1]
        total = _Partial(0, np.zeros(d), np.zeros(d), np.zeros((d, d)))
        # One feature per row: with the short side of a tile as the inner loop, centring takes 1.5 times as long.
        buffer = np.empty((d, min(TILE_ROWS, len(block))))
        with np.errstate(over="ignore", invalid="ignore"):
            for tile in row_tiles(block):
                total = self.combine(total, self._of_tile(tile.T, buffer[:, : len(tile)]))
        return total

    def combine(self, left: _Partial, right: _Partial) -> _Partial:
        """Join two spreads; a spread of zero rows changes nothing."""
        if left.n == 0 or right.n == 0:
            return right if left.n == 0 else left
        share = right.n / (left.n + right.n)
        with np.errstate(over="ignore", invalid="ignore"):
            step = (right.base - left.base) + (right.rest - left.rest)
            between = np.outer(step, step * (left.n * share))
            return _Partial(
                left.n + right.n, left.base, left.rest + step * share, left.scatter + right.scatter + between
            )

    def finish(self, total: _Partial) -> Spread:
        """Add up the two parts of the mean."""
        return Spread(total.n, total.base + total.rest, total.scatter)

    def _of_tile(self, columns: FloatArray, buffer: FloatArray) -> _Partial:
        columns = self._transform(columns)
        n = columns.shape[1]
        # Weights instead of a sum and a division, so that the mean of finite rows never overflows.
        weights = np.full(n, 1 / n)
        mean = columns @ weights
        centred = np.subtract(columns, mean[:, None], out=buffer)
        rest = centred @ weights
        # The mean was rounded; for rows far from zero, the error may be comparable to their deviation.
        centred -= rest[:, None]
        return _Partial(n, mean, rest, centred @ centred.T)

    def _transform(self, columns: FloatArray) -> FloatArray:
        moved = columns if self.origin is None else columns - self.origin[:, None]
        return moved if self.matrix is None else self.matrix.T @ moved


# The moments of the plain rows; a single object, so that `reduce_once` recognises it.
MOMENTS = Moments()


class _RangeJoin:
    """Base of the range reductions; the range of zero rows is (inf, -inf)."""

    def combine(self, left: Range, right: Range) -> Range:
        """Keep the smaller minimum and the larger maximum."""
        return np.minimum(left[0], right[0]), np.maximum(left[1], right[1])

    def finish(self, ends: Range) -> Range:
        """Return the two ends unchanged."""
        return ends


@dataclass(frozen=True)
class ColumnRange(_RangeJoin):
    """Minimum and maximum of every column, two (d,) arrays; inf and -inf if there are no rows."""

    def map(self, block: FloatArray) -> Range:
        """Find the range of one block by comparing whole tiles, four times as fast as reducing along short rows."""
        lowest = np.full((min(TILE_ROWS, len(block)), block.shape[1]), np.inf)
        highest = -lowest
        for tile in row_tiles(block):
            n = len(tile)
            np.minimum(lowest[:n], tile, out=lowest[:n])
            np.maximum(highest[:n], tile, out=highest[:n])
        return lowest.min(axis=0, initial=np.inf), highest.max(axis=0, initial=-np.inf)


@dataclass(frozen=True, eq=False)
class ProjectionRange(_RangeJoin):
    """Minimum and maximum of (rows - origin) @ directions; inf and -inf if there are no rows.

    Parameters
    ----------
    directions : (d,) or (d, m) array
        The answer is two arrays of shape () or (m,).
    origin : (d,) array, optional
    """

    directions: FloatArray
    origin: FloatArray | None = None

    def map(self, block: FloatArray) -> Range:
        """Find the range of one block."""
        shape = self.directions.shape[1:]
        directions = self.directions.reshape(block.shape[1], -1).T
        lowest, highest = np.full(len(directions), np.inf), np.full(len(directions), -np.inf)
        origin = np.zeros(block.shape[1]) if self.origin is None else self.origin
        for tile in row_tiles(block):
            with np.errstate(over="ignore", invalid="ignore"):
                moved = np.subtract(tile, origin, order="F")
            values = [project(moved, direction) for direction in directions]
            lowest = np.minimum(lowest, [v.min() for v in values])
            highest = np.maximum(highest, [v.max() for v in values])
        return lowest.reshape(shape), highest.reshape(shape)


@dataclass(frozen=True, eq=False)
class ProjectionHistogram:
    """Rows per bin, with the lowest and highest value in it; inf and -inf if it is empty."""

    counts: IntArray
    lowest: FloatArray
    highest: FloatArray


@dataclass(frozen=True, eq=False)
class ProjectionCounts:
    """Histogram of (rows - origin) @ direction.

    Parameters
    ----------
    direction : (d,) array
    edges : (m,) array, ascending
        The m + 1 bins are below the first edge, from each edge (included) to the next, and from the last edge on.
    origin : (d,) array, optional

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [1.0], [5.0]])
    >>> ProjectionCounts(np.ones(1), np.array([1.0, 2.0])).map(rows).counts
    array([1, 2, 1])
    """

    direction: FloatArray
    edges: FloatArray
    origin: FloatArray | None = None

    def map(self, block: FloatArray) -> ProjectionHistogram:
        """Sort the values of one block and look up the edges; the other way around takes 7 times as long."""
        values = np.sort(project(block, self.direction, self.origin))
        cuts = np.concatenate(([0], np.searchsorted(values, self.edges), [len(values)]))
        counts = np.diff(cuts)
        occupied = counts > 0
        lowest, highest = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
        lowest[occupied] = values[cuts[:-1][occupied]]
        highest[occupied] = values[cuts[1:][occupied] - 1]
        return ProjectionHistogram(counts, lowest, highest)

    def combine(self, left: ProjectionHistogram, right: ProjectionHistogram) -> ProjectionHistogram:
        """Add the counts bin by bin."""
        return ProjectionHistogram(
            left.counts + right.counts,
            np.minimum(left.lowest, right.lowest),
            np.maximum(left.highest, right.highest),
        )

    def finish(self, histogram: ProjectionHistogram) -> ProjectionHistogram:
        """Return the histogram unchanged."""
        return histogram


@dataclass(frozen=True, eq=False)
class Average:
    """Number of rows, and their mean; zero if there are none."""

    n: int
    mean: FloatArray


@dataclass(frozen=True, eq=False)
class Tail:
    """Averages of the rows beyond `upper` along `direction`, and of the rows between `lower` and `upper` inclusive.

    Averages instead of sums: they neither overflow nor lose digits if all rows are nearly equal.
    """

    direction: FloatArray
    lower: float
    upper: float
    origin: FloatArray | None = None

    def map(self, block: FloatArray) -> tuple[Average, Average]:
        """Average the two groups of one block."""
        nothing = Average(0, np.zeros(block.shape[1]))
        return reduce(self.combine, map(self._of_tile, row_tiles(block)), (nothing, nothing))

    def combine(self, left: tuple[Average, Average], right: tuple[Average, Average]) -> tuple[Average, Average]:
        """Merge group by group."""
        return _join(left[0], right[0]), _join(left[1], right[1])

    def finish(self, groups: tuple[Average, Average]) -> tuple[Average, Average]:
        """Return the two groups unchanged: beyond, between."""
        return groups

    def _of_tile(self, tile: FloatArray) -> tuple[Average, Average]:
        values = project(tile, self.direction, self.origin)
        beyond = values > self.upper
        return _average(tile[beyond]), _average(tile[(values >= self.lower) & ~beyond])


def _average(rows: FloatArray) -> Average:
    if len(rows) == 0:
        return Average(0, np.zeros(rows.shape[1]))
    return Average(len(rows), rows[0] + np.full(len(rows), 1 / len(rows)) @ (rows - rows[0]))


def _join(left: Average, right: Average) -> Average:
    n = left.n + right.n
    if left.n == 0 or right.n == 0:
        return right if left.n == 0 else left
    return Average(n, left.mean + (right.mean - left.mean) * (right.n / n))


@dataclass(frozen=True)
class CountInside:
    """How many rows lie in each region."""

    regions: tuple[Region, ...]

    def map(self, block: FloatArray) -> IntArray:
        """Count in one block."""
        counts = np.zeros(len(self.regions), dtype=np.int64)
        for tile in row_tiles(block):
            counts += [np.count_nonzero(region.contains(tile)) for region in self.regions]
        return counts

    def combine(self, left: IntArray, right: IntArray) -> IntArray:
        """Add the counts."""
        return left + right

    def finish(self, counts: IntArray) -> IntArray:
        """Return the counts unchanged."""
        return counts
