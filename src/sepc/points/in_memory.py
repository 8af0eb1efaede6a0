"""Point sets in this process: one array, or a sequence of blocks that are loaded one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.points.protocol import Answer, PointSet, Reduction, Region, State
from sepc.points.row_digest import is_sampled

BYTES_PER_CELL = 8


@dataclass(frozen=True, eq=False)
class ArrayPoints:
    """The rows of one array.

    Parameters
    ----------
    rows : (n, d) array
        Not copied if it holds 64-bit floats, and never written to.

    Examples
    --------
    >>> points = ArrayPoints(np.array([[0.0, 5.0], [2.0, 1.0]]))
    >>> points.n_points, points.n_features
    (2, 2)
    """

    rows: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", _as_table(self.rows))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        return reduction.finish(reduction.map(self.rows))

    def split(self, region: Region, /) -> tuple[ArrayPoints, ArrayPoints]:
        """Divide into the rows inside `region` and the rows outside it."""
        inside = region.contains(self.rows)
        return ArrayPoints(self.rows.compress(inside, axis=0)), ArrayPoints(self.rows.compress(~inside, axis=0))

    def union(self, other: PointSet, /) -> ArrayPoints | BlockPoints:
        """All rows of both sets, those of `self` first; in blocks if `other` is."""
        if isinstance(other, ArrayPoints):
            check_same_features(self, other)
            return ArrayPoints(np.concatenate((self.rows, other.rows)))
        return BlockPoints((self.rows,)).union(other)

    def sample(self, share: float, seed: int, /) -> ArrayPoints:
        """Keep about `share` of the rows, chosen by `row_hashes`."""
        return ArrayPoints(self.rows[is_sampled(self.rows, share, seed)])

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> ArrayPoints:
        """The rows as ``(x - shift) / scale``."""
        return ArrayPoints((self.rows - shift) / scale)

    def gather(self, max_rows: int, /) -> FloatArray:
        """The array itself; raises if it has more than `max_rows` rows."""
        check_gatherable(self, max_rows)
        return self.rows


@dataclass(frozen=True, eq=False)
class BlockPoints:
    """The rows of a sequence of blocks, held in memory one block at a time.

    `blocks` may be a list of arrays, or any sequence that reads or computes a block when indexed, always with the same
    result. A subset keeps the sequence and a mask of the remaining rows, one byte per row. Blocks with no rows left are
    not loaded again.

    Parameters
    ----------
    blocks : sequence of (n_b, d) arrays
        At least one; blocks may be empty.
    kept : sequence, optional
        For each block the (n_b,) mask of the rows in the set, or None for all rows.
    shapes : sequence of (n_b, d), optional
        Shapes of the blocks; if not given, each block is loaded once to find out.
    """

    blocks: Sequence[FloatArray]
    kept: Sequence[BoolArray | None] | None = None
    shapes: Sequence[tuple[int, int]] | None = None

    def __post_init__(self) -> None:
        if len(self.blocks) == 0:
            raise ValueError("BlockPoints needs at least one block; for a set without rows, give one of shape (0, d).")
        if len({n_columns for _, n_columns in self._shapes}) > 1:
            raise ValueError(f"Blocks must have the same columns; their shapes are {self._shapes}.")
        if len(self._kept) != len(self.blocks):
            raise ValueError(f"kept has {len(self._kept)} masks for {len(self.blocks)} blocks; give one per block.")
        for mask, (n, _) in zip(self._kept, self._shapes, strict=True):
            if mask is not None and len(mask) != n:
                raise ValueError(f"kept has {len(mask)} marks for a block of {n} rows; give one per row.")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._shapes[0][1]

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return sum(self._n_kept)

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        states = (reduction.map(self.rows_of(i)) for i in range(len(self.blocks)))
        return reduction.finish(combine_in_order(reduction, states))

    def split(self, region: Region, /) -> tuple[BlockPoints, BlockPoints]:
        """Divide into the rows inside `region` and the rows outside it."""
        inside = self._marks(region.contains)
        return self._narrow(inside), self._narrow([~marks for marks in inside])

    def union(self, other: PointSet, /) -> BlockPoints:
        """All rows of both sets, those of `self` first; blocks with no rows left are dropped."""
        check_same_features(self, other)
        if isinstance(other, ArrayPoints):
            other = BlockPoints((other.rows,))
        if not isinstance(other, BlockPoints):
            raise TypeError(f"A set in memory cannot be joined with {type(other).__name__}.")
        parts = [(points, i) for points in (self, other) for i, n in enumerate(points._n_kept) if n > 0]
        parts = parts or [(self, 0)]
        return BlockPoints(
            _Picked([points._place(i) for points, i in parts]),
            [points._kept[i] for points, i in parts],
            [points._shapes[i] for points, i in parts],
        )

    def sample(self, share: float, seed: int, /) -> BlockPoints:
        """Keep about `share` of the rows, chosen by `row_hashes`."""
        return self._narrow(self._marks(lambda rows: is_sampled(rows, share, seed)))

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> BlockPoints:
        """The rows as ``(x - shift) / scale``, computed when a block is loaded."""
        return BlockPoints(_Rescaled(self.blocks, shift, scale), self._kept, self._shapes)

    def gather(self, max_rows: int, /) -> FloatArray:
        """All rows in one array; raises if there are more than `max_rows`."""
        check_gatherable(self, max_rows)
        gathered = np.empty((self.n_points, self.n_features))
        stop = 0
        for i, n in enumerate(self._n_kept):
            start, stop = stop, stop + n
            gathered[start:stop] = self.rows_of(i)
        return gathered

    def n_left(self, i: int) -> int:
        """How many rows of block `i` are in the set."""
        return self._n_kept[i]

    def rows_of(self, i: int, block: FloatArray | None = None) -> FloatArray:
        """The rows of block `i` that are in the set; the block is loaded unless given."""
        if self._n_kept[i] == 0:
            return np.empty((0, self.n_features))
        block = _as_table(self.blocks[i] if block is None else block)
        kept = self._kept[i]
        # Four times as fast as indexing with the mask.
        return block if kept is None else block.compress(kept, axis=0)

    @cached_property
    def _kept(self) -> tuple[BoolArray | None, ...]:
        return (None,) * len(self.blocks) if self.kept is None else tuple(self.kept)

    @cached_property
    def _shapes(self) -> tuple[tuple[int, int], ...]:
        if self.shapes is not None:
            return tuple(self.shapes)
        return tuple(_shape(self.blocks[i]) for i in range(len(self.blocks)))

    @cached_property
    def _n_kept(self) -> tuple[int, ...]:
        return tuple(
            n if kept is None else int(np.count_nonzero(kept))
            for kept, (n, _) in zip(self._kept, self._shapes, strict=True)
        )

    def _place(self, i: int) -> tuple[Sequence[FloatArray], int]:
        """The sequence and position that block `i` comes from, so that a chain of unions stays one step deep."""
        return self.blocks.places[i] if isinstance(self.blocks, _Picked) else (self.blocks, i)

    def _marks(self, test: Callable[[FloatArray], BoolArray]) -> list[BoolArray]:
        """The result of `test` for the rows of each block that are in the set."""
        return [test(self.rows_of(i)) for i in range(len(self.blocks))]

    def _narrow(self, marks: list[BoolArray]) -> BlockPoints:
        kept = [
            narrow_mask(old, marked, n) for old, marked, (n, _) in zip(self._kept, marks, self._shapes, strict=True)
        ]
        return BlockPoints(self.blocks, kept, self._shapes)


def gather_if_small(points: PointSet, local_rows: int) -> PointSet:
    """Gather a set of at most `local_rows` rows into one array; leave a larger set where it is."""
    if isinstance(points, ArrayPoints) or points.n_points > local_rows:
        return points
    return ArrayPoints(points.gather(local_rows))


def combine_in_order(reduction: Reduction[State, Any], states: Iterable[State]) -> State:
    """Combine the states of neighbouring blocks pairwise, in a tree that depends only on their number.

    Works like a binary counter: two states of equally many blocks are combined immediately, so that at most
    log2(n) + 1 of n states are in memory. There must be at least one state.
    """
    return combine_runs(reduction, ((1, state) for state in states))


def combine_runs(reduction: Reduction[State, Any], runs: Iterable[tuple[int, State]]) -> State:
    """Like `combine_in_order`, for pairs in order: a number of blocks, which is a power of two, and their state."""
    waiting: list[tuple[int, State]] = []
    for n_blocks, state in runs:
        while waiting and waiting[-1][0] == n_blocks:
            state = reduction.combine(waiting.pop()[1], state)
            n_blocks *= 2
        waiting.append((n_blocks, state))
    _, joined = waiting.pop()
    while waiting:
        joined = reduction.combine(waiting.pop()[1], joined)
    return joined


def check_gatherable(points: PointSet, max_rows: int) -> None:
    """Raise a ValueError if `points` has more than `max_rows` rows."""
    if points.n_points > max_rows:
        size = _readable_size(points.n_points * points.n_features * BYTES_PER_CELL)
        raise ValueError(
            f"gather would load {points.n_points:,} rows ({size}) into this process; "
            f"the limit is {max_rows:,}. Raise local_rows to allow this."
        )


class _Picked(Sequence[FloatArray]):
    """Blocks of other sequences, loaded when they are needed."""

    def __init__(self, places: list[tuple[Sequence[FloatArray], int]]) -> None:
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, i: Any) -> Any:
        blocks, place = self.places[i]
        return blocks[place]


class _Rescaled(Sequence[FloatArray]):
    """Blocks of another sequence, rescaled when they are needed."""

    def __init__(self, blocks: Sequence[FloatArray], shift: FloatArray, scale: FloatArray) -> None:
        self.blocks, self.shift, self.scale = blocks, shift, scale

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, i: Any) -> Any:
        return (self.blocks[i] - self.shift) / self.scale


def _as_table(rows: FloatArray) -> FloatArray:
    rows = np.asarray(rows, dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"A point set needs a table with rows and columns, not an array of shape {rows.shape}.")
    return rows


def _shape(block: FloatArray) -> tuple[int, int]:
    n, n_columns = np.shape(block)
    return n, n_columns


def narrow_mask(old: BoolArray | None, marked: BoolArray, n: int) -> BoolArray | None:
    """Narrow the mask `old` of a block of `n` rows to those of its rows that are marked; None means all rows."""
    if marked.all():
        return old
    if old is None:
        return marked
    mask = np.zeros(n, dtype=np.bool_)
    mask[old] = marked
    return mask


def check_same_features(left: PointSet, right: PointSet) -> None:
    """Raise a ValueError if two sets have different numbers of columns."""
    if left.n_features != right.n_features:
        raise ValueError(f"Sets with {left.n_features} and {right.n_features} features cannot be joined.")


def _readable_size(n_bytes: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"


def first_columns(points: PointSet, n_features: int) -> PointSet:
    """The rows restricted to their first `n_features` columns; the set itself if it has no others.

    Examples
    --------
    >>> first_columns(ArrayPoints(np.array([[1.0, 2.0, 7.0]])), 2).gather(1)
    array([[1., 2.]])
    """
    return points if points.n_features == n_features else chosen_columns(points, slice(n_features))


def chosen_columns(points: PointSet, columns: slice | IntArray) -> PointSet:
    """The rows restricted to some of their columns.

    Examples
    --------
    >>> chosen_columns(ArrayPoints(np.array([[1.0, 2.0, 7.0]])), np.array([0, 2])).gather(1)
    array([[1., 7.]])
    """
    return (
        ArrayPoints(_cut(points.rows, columns)) if isinstance(points, ArrayPoints) else ChosenColumns(points, columns)
    )


def _cut(rows: FloatArray, columns: slice | IntArray) -> FloatArray:
    """Some columns of rows: a view of the first ones, a copy of others."""
    return rows[:, columns] if isinstance(columns, slice) else np.ascontiguousarray(rows[:, columns])


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """A set whose rows are restricted to some columns when they are read."""

    points: PointSet
    columns: slice | IntArray

    @cached_property
    def n_features(self) -> int:
        """Number of columns that are left."""
        return len(np.arange(self.points.n_features)[self.columns])

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return self.points.n_points

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        cut: Reduction[Any, Answer] = _OfChosenColumns(reduction, self.columns)
        return self.points.reduce(cut)

    def split(self, region: Region, /) -> tuple[ChosenColumns, ChosenColumns]:
        """Divide into the rows inside `region` and the rows outside it."""
        inside, outside = self.points.split(_WithChosenColumns(region.contains, self.columns))
        return self._with(inside), self._with(outside)

    def union(self, other: PointSet, /) -> ChosenColumns:
        """All rows of both sets, those of `self` first."""
        if not isinstance(other, ChosenColumns):
            raise TypeError(f"Some columns of a set cannot be joined with {type(other).__name__}.")
        return self._with(self.points.union(other.points))

    def sample(self, share: float, seed: int, /) -> ChosenColumns:
        """Keep about `share` of the rows, chosen by `row_hashes` of these columns."""
        chosen = partial(is_sampled, share=share, seed=seed)
        return self._with(self.points.split(_WithChosenColumns(chosen, self.columns))[0])

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> ChosenColumns:
        """The rows as ``(x - shift) / scale``."""
        all_shift, all_scale = np.zeros(self.points.n_features), np.ones(self.points.n_features)
        all_shift[self.columns], all_scale[self.columns] = shift, scale
        return self._with(self.points.rescaled(all_shift, all_scale))

    def gather(self, max_rows: int, /) -> FloatArray:
        """All rows in one array; raises if there are more than `max_rows`."""
        return np.ascontiguousarray(self.points.gather(max_rows)[:, self.columns])

    def _with(self, points: PointSet) -> ChosenColumns:
        return ChosenColumns(points, self.columns)


@dataclass(frozen=True, eq=False)
class _OfChosenColumns:
    """A reduction that sees only some columns."""

    reduction: Reduction[Any, Any]
    columns: slice | IntArray

    def map(self, block: FloatArray) -> Any:
        return self.reduction.map(_cut(block, self.columns))

    def combine(self, left: Any, right: Any) -> Any:
        return self.reduction.combine(left, right)

    def finish(self, state: Any) -> Any:
        return self.reduction.finish(state)


@dataclass(frozen=True, eq=False)
class _WithChosenColumns:
    """A region that considers only some columns."""

    test: Any
    columns: slice | IntArray

    def contains(self, rows: FloatArray) -> BoolArray:
        return np.asarray(self.test(_cut(rows, self.columns)))
