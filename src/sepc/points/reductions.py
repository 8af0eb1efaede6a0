"""Summaries of rows that one pass can compute, each as map, combine and finish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.points.in_memory import BlockPoints, combine_in_order, narrow_mask
from sepc.points.inputs import refuse_missing_labels
from sepc.points.protocol import Answer, PointSet, Reduction, Region, State
from sepc.points.tiles import TILE_ROWS, project, row_tiles
from sepc.shapes.ellipsoid import squared_norms

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
    """Minimum and maximum of (rows - origin) @ directions; inf and -inf if there are no rows."""

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


# Signatures as columns of 64-bit words, with the first region in the highest bit of the first word, so that numeric
# order is the lexicographic order of the sets.
Words: TypeAlias = NDArray[np.uint64]
WORD_BITS = 64

SignatureState: TypeAlias = tuple[Words, IntArray]


@dataclass(frozen=True, eq=False)
class SignatureCounts:
    """The distinct sets of regions, (T, K) in lexicographic order, and the number of rows with each of them, (T,)."""

    memberships: BoolArray
    counts: IntArray


@dataclass(frozen=True)
class Signatures:
    """How many rows lie in exactly which regions, for every set of regions that occurs.

    Examples
    --------
    >>> from sepc.geometry import ArrayPoints
    >>> from sepc.geometry import Ellipsoid
    >>> intervals = (Ellipsoid(np.zeros(1), np.eye(1)), Ellipsoid(np.ones(1), np.eye(1)))
    >>> signatures = ArrayPoints(np.array([[-1.0], [0.5], [0.6], [9.0]])).reduce(Signatures(intervals))
    >>> signatures.memberships.tolist(), signatures.counts.tolist()
    ([[False, False], [True, False], [True, True]], [1, 1, 2])
    """

    regions: tuple[Region, ...]

    def map(self, block: FloatArray) -> SignatureState:
        """Count the signatures of one block, tile by tile so that each stays in the cache."""
        tallies = [_count(words) for words in map(self.words, row_tiles(block))]
        return _merge([(self.words(block[:0]), np.empty(0, dtype=np.int64)), *tallies])

    def combine(self, left: SignatureState, right: SignatureState) -> SignatureState:
        """Merge two tables."""
        return _merge([left, right])

    def finish(self, state: SignatureState) -> SignatureCounts:
        """Unpack the words into sets."""
        words, counts = state
        memberships = np.empty((len(counts), len(self.regions)), dtype=np.bool_)
        for k in range(len(self.regions)):
            word, shift = _place(k)
            memberships[:, k] = words[word] >> shift & np.uint64(1)
        return SignatureCounts(memberships, counts)

    def words(self, tile: FloatArray) -> Words:
        """The signatures of rows."""
        words = np.zeros((max(1, -(-len(self.regions) // WORD_BITS)), len(tile)), dtype=np.uint64)
        for k, region in enumerate(self.regions):
            word, shift = _place(k)
            words[word] |= region.contains(tile).astype(np.uint64) << shift
        return words


def _place(k: int) -> tuple[int, np.uint64]:
    """The word that holds the bit of region `k`, and the position of the bit in it."""
    return k // WORD_BITS, np.uint64(WORD_BITS - 1 - k % WORD_BITS)


def _merge(states: list[SignatureState]) -> SignatureState:
    return _tally(np.concatenate([words for words, _ in states], axis=1), np.concatenate([n for _, n in states]))


def _count(words: Words) -> SignatureState:
    """The distinct signatures of some rows, sorted, and how often each occurs."""
    ordered = np.sort(words, axis=1) if len(words) == 1 else words[:, np.lexsort(words[::-1])]
    starts = _starts(ordered)
    return ordered[:, starts], np.diff(starts, append=ordered.shape[1])


def _tally(words: Words, counts: IntArray) -> SignatureState:
    """Sort the signatures and add the counts of equal ones."""
    order = np.lexsort(words[::-1])
    words = words[:, order]
    starts = _starts(words)
    return words[:, starts], np.add.reduceat(counts[order], starts, dtype=np.int64)


def _starts(ordered: Words) -> IntArray:
    """Where each of the distinct signatures begins."""
    is_first = np.ones(ordered.shape[1], dtype=np.bool_)
    is_first[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    return np.flatnonzero(is_first)


@dataclass(frozen=True)
class OutermostRows:
    """Rows and their squared radii, and the largest squared radius of any row (-inf if there are none)."""

    rows: FloatArray
    squared: FloatArray
    largest: float


@dataclass(frozen=True)
class Farthest:
    """The `n_most` distinct rows with the largest ``|root (x - center)|^2`` above a threshold.

    `root` need not be square: it has one row for each relevant dimension. Repeated rows are listed once, since they
    would crowd out all others.
    """

    center: FloatArray
    root: FloatArray
    n_most: int
    above: float = -np.inf

    def map(self, block: FloatArray) -> OutermostRows:
        """Pick the farthest rows of one block."""
        squared = squared_norms(block, self.center, self.root)
        largest = float(squared.max(initial=-np.inf))
        if self.above > -np.inf:
            outside = (squared > self.above).nonzero()[0]
            block, squared = block[outside], squared[outside]
        chosen = self._choose(block, squared)
        return OutermostRows(block[chosen], squared[chosen], largest)

    def combine(self, left: OutermostRows, right: OutermostRows) -> OutermostRows:
        """Pick the farthest rows of two runs of blocks."""
        rows = np.concatenate([left.rows, right.rows])
        squared = np.concatenate([left.squared, right.squared])
        chosen = self._choose(rows, squared)
        return OutermostRows(rows[chosen], squared[chosen], max(left.largest, right.largest))

    def finish(self, state: OutermostRows) -> OutermostRows:
        """Order by squared radius, largest first."""
        order = np.argsort(-state.squared, kind="stable")
        return OutermostRows(state.rows[order], state.squared[order], state.largest)

    def _choose(self, rows: FloatArray, squared: FloatArray) -> IntArray:
        if len(rows) == 0:
            return np.empty(0, dtype=np.int64)
        top = _largest(squared, self.n_most)
        chosen = top[distinct((rows[top] - self.center) @ self.root.T)]
        if len(top) == len(squared) or 2 * len(chosen) >= len(top):
            return chosen
        once = distinct((rows - self.center) @ self.root.T)
        return once[_largest(squared[once], self.n_most)]


def distinct(rows: FloatArray) -> IntArray:
    """Indices of the first occurrence of each distinct row, for rows whose columns have a common scale."""
    # Equal rows have equal projections; on an irrational direction, unequal ones coincide only within rounding.
    keys = rows @ np.sqrt(np.arange(2.0, rows.shape[1] + 2.0))
    return np.unique(keys, return_index=True)[1]


def _largest(values: FloatArray, n_most: int) -> IntArray:
    if n_most >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - n_most)[len(values) - n_most :]


@dataclass(frozen=True, eq=False)
class BlockLabels:
    """The labels of one block: the distinct ones, sorted, and for each row its position among them.

    Positions take one or two bytes per row, so that long text labels are not kept for every row.
    """

    values: NDArray[Any]
    codes: NDArray[Any]

    @classmethod
    def of(cls, labels: NDArray[Any]) -> BlockLabels:
        """Find the distinct labels; raise if any are missing."""
        refuse_missing_labels(labels)
        try:
            values, codes = np.unique(labels, return_inverse=True)
        except TypeError:
            raise ValueError("y mixes labels of types that cannot be compared; convert them to one type.") from None
        return cls.from_codes(values, codes)

    @classmethod
    def from_codes(cls, values: NDArray[Any], codes: NDArray[Any]) -> BlockLabels:
        """Labels from distinct values in any order, none missing, and each row's position among them."""
        order = np.argsort(values)
        place = np.empty(len(order), dtype=np.min_scalar_type(max(len(order), 1)))
        place[order] = np.arange(len(order))
        return cls(values[order], place[codes])

    def masks(self, classes: NDArray[Any]) -> tuple[BoolArray | None, ...]:
        """The mask of the rows of each class; None means all rows."""
        places = [np.flatnonzero(self.values == label) for label in classes]
        marks = [self.codes == place[0] if len(place) else np.zeros(len(self.codes), dtype=bool) for place in places]
        return tuple(narrow_mask(None, mask, len(mask)) for mask in marks)


def classes_of(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """All classes, sorted, from the distinct labels of each block."""
    held = [distinct for distinct in values if len(distinct)]
    if not held:
        raise ValueError("X has 0 rows while a minimum of 2 is required.")
    return np.unique(np.concatenate(held))


def points_by_class(
    blocks: Sequence[FloatArray], labels: Sequence[BlockLabels], shapes: Sequence[tuple[int, int]] | None = None
) -> tuple[BlockPoints, tuple[BlockPoints, ...], NDArray[Any]]:
    """Point sets of all rows and of each class, and the classes, from blocks and their labels."""
    classes = classes_of([block.values for block in labels])
    masks = [block.masks(classes) for block in labels]
    of_classes = tuple(BlockPoints(blocks, kept, shapes) for kept in zip(*masks, strict=True))
    return BlockPoints(blocks, None, shapes), of_classes, classes


@dataclass(frozen=True, eq=False)
class JointReduction:
    """Several reductions of one set; the answer is the tuple of their answers.

    Examples
    --------
    >>> import numpy as np
    >>> points = BlockPoints([np.array([[1.0], [3.0]])])
    >>> points.reduce(JointReduction(())), points.n_points
    ((), 2)
    """

    reductions: tuple[Reduction[Any, Any], ...]

    def map(self, block: Any) -> tuple[Any, ...]:
        """Summarise one block by every reduction."""
        return tuple(reduction.map(block) for reduction in self.reductions)

    def combine(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Combine the summaries one by one."""
        return tuple(reduction.combine(a, b) for reduction, a, b in zip(self.reductions, left, right, strict=True))

    def finish(self, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Finish every reduction."""
        return tuple(reduction.finish(state) for reduction, state in zip(self.reductions, states, strict=True))


def reduce_each(sets: Sequence[PointSet], reduction: Reduction[Any, Answer]) -> list[Answer]:
    """Apply one reduction to several sets; sets that are subsets of the same blocks share one pass."""
    return reduce_each_with(sets, [reduction] * len(sets))


def reduce_each_with(sets: Sequence[PointSet], reductions: Sequence[Reduction[Any, Answer]]) -> list[Answer]:
    """Like `reduce_each`, with a reduction for each set."""
    parts = _parts_of_same_blocks(sets)
    if not parts:
        return [points.reduce(reduction) for points, reduction in zip(sets, reductions, strict=True)]
    by_block = [_states(parts, reductions, i) for i in range(len(parts[0].blocks))]
    return [
        reduction.finish(combine_in_order(reduction, states))
        for reduction, states in zip(reductions, zip(*by_block, strict=True), strict=True)
    ]


def _parts_of_same_blocks(sets: Sequence[PointSet]) -> list[BlockPoints]:
    """The sets if all of them are subsets of the same blocks; otherwise an empty list."""
    parts = [points for points in sets if isinstance(points, BlockPoints)]
    same = len(parts) == len(sets) and all(points.blocks is parts[0].blocks for points in parts)
    return parts if same else []


def _states(parts: Sequence[BlockPoints], reductions: Sequence[Reduction[State, Any]], i: int) -> list[State]:
    """The state of each part for its rows in block `i`; the block is not loaded if no part has rows there."""
    block = parts[0].blocks[i] if any(points.n_left(i) for points in parts) else None
    return [reduction.map(points.rows_of(i, block)) for points, reduction in zip(parts, reductions, strict=True)]
