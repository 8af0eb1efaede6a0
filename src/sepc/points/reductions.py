"""What one pass over rows can compute: a summary as map, combine and finish, the sets that are read, and summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.points.tiles import TILE_ROWS, row_tiles

State = TypeVar("State")
Answer_co = TypeVar("Answer_co", covariant=True)
Answer = TypeVar("Answer")


class Reduction(Protocol[State, Answer_co]):
    """A summary of rows, as three pure functions; its state should stay small however many rows there are."""

    def map(self, block: FloatArray, /) -> State:
        """Summarise one block of rows, possibly empty."""
        ...

    def combine(self, left: State, right: State, /) -> State:
        """Combine the summaries of two adjacent runs of rows; associative."""
        ...

    def finish(self, state: State, /) -> Answer_co:
        """Turn the summary of all rows into the answer."""
        ...


class Region(Protocol):
    """A region of the feature space."""

    def contains(self, rows: FloatArray, /) -> BoolArray:
        """Whether each row lies in the region."""
        ...


class PointSet(Protocol):
    """A set of rows, wherever they are stored."""

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        ...


def combine_in_order(combine: Callable[[State, State], State], states: Iterable[State]) -> State:
    """Combine the states of neighbouring blocks pairwise, in a tree that depends only on their number.

    Works like a binary counter: two states of equally many blocks are combined immediately, so that at most
    log2(number of blocks) states are held.
    """
    waiting: list[tuple[int, State]] = []
    for state in states:
        n_blocks = 1
        while waiting and waiting[-1][0] == n_blocks:
            state = combine(waiting.pop()[1], state)
            n_blocks *= 2
        waiting.append((n_blocks, state))
    _, joined = waiting.pop()
    while waiting:
        joined = combine(waiting.pop()[1], joined)
    return joined


@dataclass(frozen=True, eq=False)
class JointReduction:
    """Several reductions of one set; the answer is the tuple of their answers."""

    reductions: tuple[Reduction[Any, Any], ...]

    def map(self, block: FloatArray) -> tuple[Any, ...]:
        """Summarise one block by every reduction."""
        return tuple(reduction.map(block) for reduction in self.reductions)

    def combine(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Combine the summaries one by one."""
        return tuple(reduction.combine(a, b) for reduction, a, b in zip(self.reductions, left, right, strict=True))

    def finish(self, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Finish every reduction."""
        return tuple(reduction.finish(state) for reduction, state in zip(self.reductions, states, strict=True))


@dataclass(frozen=True, eq=False)
class Transformed:
    """A reduction of rows that are transformed when they are read."""

    reduction: Reduction[Any, Any]
    transform: Callable[[FloatArray], FloatArray]

    def map(self, block: FloatArray) -> Any:
        """Summarise the transformed rows of one block."""
        return self.reduction.map(self.transform(block))

    def combine(self, left: Any, right: Any) -> Any:
        """Combine as the reduction does."""
        return self.reduction.combine(left, right)

    def finish(self, state: Any) -> Any:
        """Finish as the reduction does."""
        return self.reduction.finish(state)


class AllRows:
    """All rows in one array."""

    def map(self, block: FloatArray) -> tuple[FloatArray, ...]:
        """The block itself."""
        return (block,)

    def combine(self, left: tuple[FloatArray, ...], right: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Keep the blocks in order."""
        return left + right

    def finish(self, blocks: tuple[FloatArray, ...]) -> FloatArray:
        """All rows."""
        return np.concatenate(blocks)


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


@dataclass(frozen=True)
class ColumnRange:
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

    def combine(self, left: Range, right: Range) -> Range:
        """Keep the smaller minimum and the larger maximum."""
        return np.minimum(left[0], right[0]), np.maximum(left[1], right[1])

    def finish(self, ends: Range) -> Range:
        """Return the two ends unchanged."""
        return ends
