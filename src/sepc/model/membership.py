"""Squared radii of many rows in many ellipsoids at once, where scoring spends most of its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray

# A squared radius is a quadratic polynomial, so one matrix product of the rows' monomials with the coefficients gives
# all ellipsoids at once, faster than the stacked roots do. But its rounding error grows with the square of the
# condition number. So every ellipsoid has an error bound, and where that is too large the row is measured from its
# center.


# Polynomials are trusted up to this error, relative to squared radii above 1; no use of a gauge needs more precision.
POLYNOMIAL_ERROR = 1e-6

# Rows are measured if their value is nearer to 1 than this plus three times the error; a fit's slack is smaller.
BOUNDARY_MARGIN = 1e-8

# Matrix products always take this many rows at a time, since BLAS rounds differently for other shapes. A single row
# takes as long as a slab.
SLAB_ROWS = 64

# The products of the coordinates of so few rows are taken all at once; of more, coordinate by coordinate.
FEW_ROWS = 8

# A tile is a few slabs whose monomials stay in the L2 cache. Their number is odd: with a power of two as stride between
# monomials, a slab would map to a few cache sets, and a product would take half as long again.
TILE_ENTRIES = 2**18
MAX_TILE_SLABS = 15

# The most squared radii or other numbers in a tile: 32 MB.
MOST_NUMBERS = 2**22

# Offsets from centers that are measured at a time: few rows are measured in many ellipsoids at once.
MEASURED_ENTRIES = 2**16

# With more monomials than this, a tile would take hundreds of megabytes, so every row is measured instead.
MOST_MONOMIALS = 2**17

# Coordinates are clipped at this, divided by the largest norm of a root: far from every ellipsoid, but no overflow.
FARTHEST = 1e100


@dataclass(frozen=True, eq=False)
class Stack:
    """Ellipsoids prepared for `tiles_of_squared_radii`; built once by `stack_ellipsoids`."""

    centers: FloatArray
    roots: FloatArray
    origin: FloatArray
    farthest: float
    coefficients: FloatArray
    margins: FloatArray
    rough: IntArray
    slopes: FloatArray
    offsets: FloatArray

    def tile_rows(self, n_extra: int = 0) -> int:
        """The most rows in a tile, in whole slabs; fewer if the caller computes very many extra numbers per row."""
        n_monomials = int(max(len(self.origin), self.coefficients.shape[1], 1))
        fitting = min(TILE_ENTRIES // n_monomials, MOST_NUMBERS // max(len(self.centers), n_extra, 1)) // SLAB_ROWS
        n_slabs = min(MAX_TILE_SLABS, fitting - 1 + fitting % 2)
        return SLAB_ROWS * max(1, n_slabs)


def stack_ellipsoids(centers: FloatArray, roots: FloatArray) -> Stack:
    """Prepare ellipsoids, given by centers of shape (K, d) and roots of shape (K, d, d), for many rows."""
    K, d = centers.shape
    origin = centers.mean(axis=0) if K else np.zeros(d)
    sizes = np.linalg.norm(roots, axis=(1, 2))
    farthest = FARTHEST / sizes.max(initial=1.0 / FARTHEST)
    if K == 0 or d * (d + 3) // 2 + 1 > MOST_MONOMIALS:
        margins, never = np.full((K, 1), BOUNDARY_MARGIN), np.full((K, 1), np.inf)
        return Stack(centers, roots, origin, farthest, np.empty((K, 0)), margins, np.arange(K), never, never)
    offsets = np.linalg.norm(centers - origin, axis=1)
    longest = 1.0 / np.linalg.svd(roots, compute_uv=False)[:, -1]
    coefficients = _coefficients(centers - origin, roots)
    with np.errstate(over="ignore"):
        roundings = (coefficients.shape[1] + 3 * d + 5) * 2.0**-53 * sizes**2
        errors = roundings * (2.0 * offsets + longest) ** 2
    rough = np.flatnonzero(~(errors <= POLYNOMIAL_ERROR))
    return Stack(
        centers=centers,
        roots=roots,
        origin=origin,
        farthest=farthest,
        coefficients=coefficients,
        margins=3.0 * errors[:, np.newaxis] + BOUNDARY_MARGIN,
        rough=rough,
        slopes=2.0 * roundings[rough, np.newaxis] / POLYNOMIAL_ERROR,
        offsets=offsets[rough, np.newaxis] ** 2,
    )


def squared_radii(rows: FloatArray, centers: FloatArray, roots: FloatArray) -> FloatArray:
    """``|roots[k] (x - centers[k])|^2`` for each row `x` and each ellipsoid `k`."""
    squares = np.empty((len(centers), len(rows)))
    for place, tile in tiles_of_squared_radii(rows, stack_ellipsoids(centers, roots)):
        squares[:, place] = tile.T
    return squares.T


def tiles_of_squared_radii(rows: FloatArray, stack: Stack) -> Iterator[tuple[slice, FloatArray]]:
    """Compute `squared_radii` in tiles: which rows, and their squared radii of shape (len(tile), K), in new memory."""
    for place, _, squares in padded_tiles(rows, stack):
        yield place, squares[:, : place.stop - place.start].T


def padded_tiles(rows: FloatArray, stack: Stack, n_extra: int = 0) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Divide rows into tiles: which rows, the rows as columns, and their squared radii of shape (K, tile)."""
    tile_rows = min(stack.tile_rows(n_extra), whole_slabs(len(rows)))
    columns = np.zeros((len(stack.origin), tile_rows))
    monomials = np.ones((stack.coefficients.shape[1], tile_rows))
    for start in range(0, len(rows), max(1, tile_rows)):
        tile = rows[start : start + tile_rows]
        n_columns = whole_slabs(len(tile))
        padded = columns[:, :n_columns]
        padded[:, : len(tile)] = tile.T
        # Not around the yield: the caller's warnings are not ours to silence.
        with np.errstate(over="ignore", invalid="ignore"):
            is_measured = monomials.size == 0
            if is_measured:
                squares = _measure(padded, stack.centers, stack.roots)
            else:
                squares = _polynomials(padded, len(tile), monomials[:, :n_columns], stack)
        yield slice(start, start + len(tile)), padded, squares


def whole_slabs(n: int) -> int:
    """The number of rows in the slabs that `n` rows need."""
    return -(-n // SLAB_ROWS) * SLAB_ROWS


def slabwise(left: FloatArray, right: FloatArray) -> FloatArray:
    """``left @ right``, slab by slab; `right` has a column for every row of whole slabs."""
    product = np.empty((len(left), right.shape[1]))
    np.matmul(left, _slabs(right), out=_slabs(product))
    return product


def _slabs(columns: FloatArray) -> FloatArray:
    """A view of shape (slabs, n, SLAB_ROWS)."""
    return columns.reshape(len(columns), columns.shape[1] // SLAB_ROWS, SLAB_ROWS).transpose(1, 0, 2)


def _polynomials(columns: FloatArray, n_rows: int, monomials: FloatArray, stack: Stack) -> FloatArray:
    """Squared radii from polynomials, measured where these are not accurate enough."""
    coordinates = monomials[-1 - len(columns) : -1]
    np.subtract(columns, stack.origin[:, np.newaxis], out=coordinates)
    np.minimum(coordinates, stack.farthest, out=coordinates)
    np.maximum(coordinates, -stack.farthest, out=coordinates)
    _multiply_out(coordinates, n_rows, out=monomials)
    squares = slabwise(stack.coefficients, monomials)
    if not _lie_apart(squares, stack):
        is_sure = _are_accurate(squares, coordinates, stack)
        doubtful = np.flatnonzero(~is_sure[:, :n_rows].all(axis=1))
        measured = _measure(columns, stack.centers[doubtful], stack.roots[doubtful])
        squares[doubtful] = np.where(is_sure[doubtful], squares[doubtful], measured)
    return np.maximum(squares, 0.0, out=squares)


def _lie_apart(squares: FloatArray, stack: Stack) -> bool:
    """Whether all polynomial values can be used as they are: far enough from 1 for every ellipsoid."""
    if len(stack.rough):
        return False
    margin = stack.margins.max()
    is_apart = squares > 1.0 + margin
    is_apart |= squares < 1.0 - margin
    return bool(is_apart.all())


def _are_accurate(squares: FloatArray, coordinates: FloatArray, stack: Stack) -> BoolArray:
    """Which polynomial values are accurate enough to be used; NaN never is."""
    is_sure = squares > 1.0 + stack.margins
    is_sure |= squares < 1.0 - stack.margins
    if len(stack.rough):
        norms = np.einsum("ij,ij->j", coordinates, coordinates)
        is_sure[stack.rough] &= squares[stack.rough] > stack.slopes * (norms + stack.offsets)
    return is_sure


def _measure(columns: FloatArray, centers: FloatArray, roots: FloatArray) -> FloatArray:
    """Squared radii in ellipsoids. The center is subtracted first: a difference of two products would lose digits."""
    d, n = columns.shape
    squares = np.empty((len(centers), n))
    step = max(1, MEASURED_ENTRIES // max(1, columns.size))
    for start in range(0, len(centers), step):
        some = slice(start, start + step)
        offsets = (columns - centers[some, :, np.newaxis]).reshape(-1, d, n // SLAB_ROWS, SLAB_ROWS)
        mapped = np.empty_like(offsets)
        slabs, out = offsets.transpose(0, 2, 1, 3), mapped.transpose(0, 2, 1, 3)
        np.matmul(roots[some, np.newaxis], slabs, out=out)
        flat = mapped.reshape(-1, d, n)
        np.einsum("kij,kij->kj", flat, flat, out=squares[some])
    # A difference of infinities: too far away for a float.
    squares[np.isnan(squares)] = np.inf
    return squares


def _multiply_out(coordinates: FloatArray, n_rows: int, out: FloatArray) -> None:
    """Fill `out` with all products of two coordinates, those of the first coordinate first; padding may be left."""
    if n_rows <= FEW_ROWS:
        first, second = _pairs(len(coordinates))
        few = coordinates[:, :n_rows]
        np.multiply(few.take(first, axis=0), few.take(second, axis=0), out=out[: len(first), :n_rows])
        return
    start = 0
    for i in range(len(coordinates)):
        stop = start + len(coordinates) - i
        np.multiply(coordinates[i], coordinates[i:], out=out[start:stop])
        start = stop


@lru_cache(maxsize=16)
def _pairs(d: int) -> tuple[IntArray, IntArray]:
    """The first and the second coordinate of all products."""
    return np.triu_indices(d)


def _coefficients(centers: FloatArray, roots: FloatArray) -> FloatArray:
    """Write squared radii as polynomials: products as in `_multiply_out`, then coordinates, then 1."""
    shapes = roots.transpose(0, 2, 1) @ roots
    pulls = np.einsum("kij,kj->ki", shapes, centers)
    constants = np.einsum("ki,ki->k", pulls, centers)
    first, second = _pairs(centers.shape[1])
    products = np.where(first == second, 1.0, 2.0) * shapes[:, first, second]
    return np.column_stack([products, -2.0 * pulls, constants])


# How many ellipsoids are packed into one number, as powers of two that a double adds exactly.
WORD_BITS = 52
POWERS = 2.0 ** np.arange(WORD_BITS)

# Computes m numbers per row, (m, tile), from the rows as columns, (d, tile), and their squared radii, (K, tile).
TileFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Located:
    """Where some rows lie."""

    keys: FloatArray
    squared: FloatArray
    outside: IntArray
    outside_squared: FloatArray
    extra: FloatArray


def locate(
    rows: FloatArray,
    stack: Stack,
    slack: float,
    extra: TileFunction | None = None,
    n_extra: int = 0,
    with_keys: bool = True,
) -> Located:
    """Find the ellipsoids of every row, tile by tile, so that squared radii are never all in memory."""
    n, K = len(rows), len(stack.centers)
    limit = 1.0 + slack
    squared, keys, extras = np.full(n, np.inf), np.zeros((n, len(_words(K)))), np.empty((n, n_extra))
    outside: list[IntArray] = [np.empty(0, dtype=np.int64)]
    outside_squared: list[FloatArray] = [np.empty((0, K))]
    for place, columns, padded in padded_tiles(rows, stack, n_extra):
        n_rows = place.stop - place.start
        tile = padded[:, :n_rows]
        if extra is not None:
            extras[place] = extra(columns[:, :n_rows], tile).T
        tile.min(axis=0, initial=np.inf, out=squared[place])
        if with_keys:
            keys[place] = pack_sets((limit >= tile).T)
        alone = np.flatnonzero(squared[place] > limit)
        if len(alone):
            outside.append(place.start + alone)
            outside_squared.append(tile[:, alone].T)
    return Located(keys, squared, np.concatenate(outside), np.concatenate(outside_squared), extras)


def pack_sets(sets: BoolArray) -> FloatArray:
    """Pack sets of ellipsoids, one per row, into numbers as in `Located.keys`."""
    words = _words(sets.shape[1])
    keys = np.empty((len(sets), len(words)))
    # A product with powers of two packs the bits, three times as fast as packing bytes.
    for w, word in enumerate(words):
        keys[:, w] = sets[:, word].astype(np.float64) @ POWERS[: word.stop - word.start]
    return keys


def unpack_sets(keys: FloatArray, K: int) -> BoolArray:
    """The sets that `keys` stand for, of shape (n, K)."""
    words, bits = np.divmod(np.arange(K), WORD_BITS)
    return (keys.astype(np.int64)[:, words] >> bits & 1).astype(np.bool_)


def as_values(keys: FloatArray) -> NDArray[Any]:
    """Keys as one value per row to sort and compare: a number, or bytes if one number cannot hold all ellipsoids."""
    if keys.shape[1] == 1:
        return keys[:, 0]
    return np.ascontiguousarray(keys).view(np.dtype((np.void, 8 * keys.shape[1])))[:, 0]


def _words(K: int) -> list[slice]:
    """The ellipsoids in each number of a key; at least one number, even without ellipsoids."""
    return [slice(start, min(start + WORD_BITS, K)) for start in range(0, max(K, 1), WORD_BITS)]
