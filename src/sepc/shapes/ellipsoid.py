"""Ellipsoids and half-spaces: where rows lie in them, how far from them, and how two of them overlap."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card, ShownInLists, ShownOnOneLine
from sepc.wording import counted, numbers

# In axis coordinates, the point of the ellipsoid nearest to an outside row `z` is ``e**2 * z / (e**2 + t)``, with `e`
# the semi-axes and `t` the positive root of ``sum((e * z / (e**2 + t))**2) == 1``. One over the norm is concave in `t`
# and close to a line, so Newton's method on it, started left of the root, climbs to the root in a few steps (Moré &
# Sorensen 1983).


# Relative to the longest semi-axis: shorter ones change no distance, and their squares would underflow.
SHORTEST_AXIS = 1e-100

# How far the norm may stay above 1: a few times its rounding error.
NORM_TOLERANCE = 1e-14

# Newton takes 4 to 8 steps, 16 at worst for axes that are 1e-12 of the longest; the limit only guards the loop.
MAX_DISTANCE_STEPS = 50

# The arrays of one tile stay in the cache; rows are stored as columns, so that NumPy's inner loops are long.
BLOCK_ROWS = 1024


def distances(semi_axes: FloatArray, coords: FloatArray) -> FloatArray:
    """Euclidean distances to an ellipsoid that is centred at the origin and parallel to the axes."""
    answers = np.empty(len(coords))
    for tile, answer in zip(_tiles(coords), _tiles(answers), strict=True):
        columns = _as_columns(tile)
        squares, multipliers = secular_root(semi_axes, columns)
        # hypot, since the squares of a distant row may overflow although its distance does not.
        answer[:] = np.hypot.reduce(columns * (multipliers / (squares + multipliers)), axis=0)[: len(tile)]
    return answers


def _as_columns(rows: FloatArray) -> FloatArray:
    """Rows as columns; a single row twice, since NumPy would sum a single column in a different order."""
    return np.ascontiguousarray((rows if len(rows) > 1 else np.repeat(rows, 2, axis=0)).T)


def secular_root(semi_axes: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared semi-axes, of shape (d, n), and root, of shape (n,), of each row's secular equation; 0 for rows inside.

    Rows are the columns of a (d, n) array. Results are in units of the longest semi-axis times the size of the row,
    where nothing can overflow.
    """
    longest = semi_axes.max()
    sizes = np.maximum(longest, np.abs(columns).max(axis=0))
    ratios = np.maximum(semi_axes / longest, SHORTEST_AXIS)[:, np.newaxis]
    squares = ratios**2 * (longest / sizes)
    pulls = ratios * np.abs(columns / sizes)

    # Two lower bounds on the root: one takes all axes to be as long as the longest, one uses a single coordinate.
    roots = np.maximum(_norms(pulls) - longest / sizes, (pulls - squares).max(axis=0))
    roots = np.maximum(roots, 0.0)
    for _ in range(MAX_DISTANCE_STEPS):
        inverses = 1.0 / (squares + roots)
        images = pulls * inverses
        norms = _norms(images)
        excess = norms - 1.0
        if excess.max() <= NORM_TOLERANCE:
            break
        slopes = np.einsum("ij,ij->j", images, images * inverses)
        # Move only rows that have not converged: the root of a row must not depend on how long others take.
        steps = np.divide(excess * norms**2, slopes, out=np.zeros_like(roots), where=excess > NORM_TOLERANCE)
        roots += steps
    return squares, roots


def _norms(columns: FloatArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->j", columns, columns)
    return np.sqrt(squares)


def _tiles(rows: FloatArray) -> list[FloatArray]:
    return [rows[start : start + BLOCK_ROWS] for start in range(0, len(rows), BLOCK_ROWS)]


# A product over d features, summed in any order, is off by at most d * 2**-53 of the same product of absolute values.
# The product of a row and an offset computed from it both have this error, here and on another engine: four errors,
# doubled to be safe.
SLACK_PER_FEATURE = 2.0**-50

# Rows handled at a time, so that their absolute values stay in the cache.
TILE_ROWS = 1024


@dataclass(frozen=True, eq=False, repr=False)
class HalfSpaces(ShownOnOneLine):
    """The set of all `x` with ``normals @ x >= offsets``, where every inequality allows for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> right = HalfSpaces(normals=np.array([[1.0, 0.0]]), offsets=np.array([0.3]))
    >>> above = HalfSpaces(normals=np.array([[0.0, 1.0]]), offsets=np.array([0.0]))
    >>> right.and_also(above).contains(np.array([[0.1 + 0.2, 0.0], [1.0, -1.0]]))
    array([ True, False])
    """

    normals: FloatArray
    offsets: FloatArray

    def __post_init__(self) -> None:
        for name in ("normals", "offsets"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if self.normals.ndim != 2 or self.offsets.shape != self.normals.shape[:1]:
            raise ValueError(
                f"normals have shape {self.normals.shape} and offsets {self.offsets.shape}; give (m, d) and (m,)."
            )
        if not (np.isfinite(self.normals).all() and np.isfinite(self.offsets).all()):
            raise ValueError("normals and offsets must be finite; remove NaN and infinite values from the rows.")

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return int(self.normals.shape[1])

    def contains(self, rows: FloatArray) -> BoolArray:
        """Whether each row, of shape (n, d), lies in every half-space."""
        rows = np.asarray(rows)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"rows have shape {rows.shape}; these half-spaces need (n, {self.n_features}).")
        inside = np.empty(len(rows), dtype=np.bool_)
        for start in range(0, len(rows), TILE_ROWS):
            stop = start + TILE_ROWS
            inside[start:stop] = self._holds(rows[start:stop]).all(axis=1)
        return inside

    def and_also(self, other: HalfSpaces) -> HalfSpaces:
        """Intersect with `other`."""
        return HalfSpaces(np.vstack([self.normals, other.normals]), np.concatenate([self.offsets, other.offsets]))

    def _holds(self, rows: FloatArray) -> BoolArray:
        magnitudes = np.abs(rows) @ np.abs(self.normals).T + np.abs(self.offsets)
        slack = SLACK_PER_FEATURE * self.n_features * magnitudes
        return rows @ self.normals.T + slack >= self.offsets


# Rows handled at a time: the buffers of 30 features stay in the L2 cache, and a single row needs little padding.
NORM_TILE_ROWS = 512

# BLAS rounds every row of a product of this many in the same way; a single row needs a little padding.
STEP_ROWS = 64


def map_rows(rows: FloatArray, center: FloatArray, root: FloatArray) -> FloatArray:
    """``root (x - center)`` for each row `x`, bit for bit the same for a row on its own and among others."""
    n, d = rows.shape
    # Products of a fixed shape, padded with zeros: BLAS rounds differently for other shapes.
    shifted = np.zeros((-(-n // STEP_ROWS), STEP_ROWS, d))
    np.subtract(rows, center, out=shifted.reshape(-1, d)[:n])
    mapped: FloatArray = (shifted @ root.T).reshape(-1, len(root))[:n]
    return mapped


def squared_norms(rows: FloatArray, center: FloatArray, root: FloatArray) -> FloatArray:
    """``|root (x - center)|^2`` for each row `x`, bit for bit the same for a row on its own and among others."""
    squares = np.empty(len(rows))
    centers = np.tile(center, (NORM_TILE_ROWS, 1))
    # The last tile is padded, not cut: BLAS rounds differently for other shapes.
    shifted = np.zeros((NORM_TILE_ROWS, len(center)))
    mapped = np.empty((len(root), NORM_TILE_ROWS))
    for start in range(0, len(rows), NORM_TILE_ROWS):
        tile = rows[start : start + NORM_TILE_ROWS]
        n = len(tile)
        # Subtract the center first: far from the origin, a difference of two products would lose all digits.
        np.subtract(tile, centers[:n], out=shifted[:n])
        np.matmul(root, shifted.T, out=mapped)
        squares[start : start + n] = np.einsum("ij,ij->j", mapped, mapped)[:n]
    return squares


# Support points lie on the boundary itself, so `contains` allows for the rounding of one matrix product.
BOUNDARY_SLACK = 1e-9

# Semi-axes need a matrix decomposition, which is too slow for just printing an ellipsoid in more features than this.
MOST_SHOWN_AXES = 200


@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoid(ShownInLists):
    """The set of all `x` with ``||root @ (x - center)|| <= 1``.

    Parameters
    ----------
    center : ndarray of shape (d,)
        The middle of the ellipsoid.
    root : ndarray of shape (d, d)
        Any nonsingular matrix; the shape matrix is ``root.T @ root`` and is never formed, since that would square the
        condition number.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc.geometry import Ellipsoid
    >>> ellipse = Ellipsoid(center=np.array([1.0, 0.0]), root=np.diag([0.5, 1.0]))
    >>> ellipse.contains(np.array([[3.0, 0.0], [1.0, 1.1]]))
    array([ True, False])
    >>> ellipse.semi_axes
    array([2., 1.])
    >>> ellipse.distance(np.array([[1.0, 3.0], [1.0, 0.5]]))
    array([2., 0.])
    """

    center: FloatArray
    root: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _read_only(self.center))
        object.__setattr__(self, "root", _read_only(self.root))
        if self.center.ndim != 1 or self.center.size == 0:
            raise ValueError(f"center has shape {self.center.shape}; it must be a vector, one entry per feature.")
        if self.root.shape != (self.n_features, self.n_features):
            raise ValueError(
                f"root has shape {self.root.shape}; "
                f"a center of {self.n_features} features needs ({self.n_features}, {self.n_features})."
            )
        if not (np.isfinite(self.center).all() and np.isfinite(self.root).all()):
            raise ValueError("center and root must be finite; remove NaN and infinite values from the enclosed rows.")
        if not np.isfinite(self._log_determinant):
            raise ValueError(
                "root is singular, so the ellipsoid is unbounded in some direction; give a nonsingular matrix."
            )

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.center.size

    def squared_radius(self, rows: FloatArray) -> FloatArray:
        """Squared gauge (Mahalanobis distance) of each row: 0 at the center, 1 on the boundary.

        Parameters
        ----------
        rows : ndarray of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            Bit for bit the same for a row on its own and among others.
        """
        return squared_norms(self._check_rows(rows), self.center, self.root)

    def gauge(self, rows: FloatArray) -> FloatArray:
        """Mahalanobis distance of each row: the factor by which the ellipsoid must be expanded to reach it."""
        return np.sqrt(self.squared_radius(rows))

    def contains(self, rows: FloatArray) -> BoolArray:
        """Whether each row lies inside or, up to `BOUNDARY_SLACK`, on the boundary."""
        return self.squared_radius(rows) <= 1.0 + BOUNDARY_SLACK

    def distance(self, rows: FloatArray) -> FloatArray:
        """Euclidean distance from each row to the ellipsoid; 0 for rows inside."""
        rows = self._check_rows(rows)
        outside, found = ~self.contains(rows), np.zeros(len(rows))
        found[outside] = distances(self.semi_axes, map_rows(rows[outside], self.center, self.axes))
        return found

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""
        d = self.n_features
        log_unit_ball = 0.5 * d * math.log(math.pi) - float(gammaln(0.5 * d + 1.0))
        return log_unit_ball - self._log_determinant

    @cached_property
    def inverse_root(self) -> FloatArray:
        """The matrix that maps the unit ball onto the ellipsoid, up to a shift by `center`."""
        return _read_only(np.linalg.inv(self.root))

    @property
    def semi_axes(self) -> FloatArray:
        """Lengths of the semi-axes, longest first, of shape (d,)."""
        return self._axes_and_lengths[1]

    @property
    def axes(self) -> FloatArray:
        """Unit directions of the semi-axes, one per row, in the order of `semi_axes`."""
        return self._axes_and_lengths[0]

    def project(self, features: ArrayLike) -> Ellipsoid:
        """The exact projection of the ellipsoid onto some features, or onto the span of some directions.

        Parameters
        ----------
        features : sequence of int, or array of shape (d, k)
            Column numbers; or `k` independent directions as the columns of `B`, for the projection ``B.T @ x``.

        Returns
        -------
        Ellipsoid
            With `k` features.
        """
        basis = self._basis(features)
        # A QR factor of the mapped unit ball rounds each feature relative to its own spread, not to that of others.
        upper = np.linalg.qr((basis.T @ self.inverse_root).T, mode="r")
        return Ellipsoid(basis.T @ self.center, np.linalg.inv(upper).T)

    def boundary(self, n: int) -> FloatArray:
        """The outline of an ellipse as `n` points, of shape (n, 2); the last point equals the first."""
        if self.n_features != 2:
            raise ValueError(f"An outline needs 2 features, not {self.n_features}; project the ellipsoid first.")
        angles = np.linspace(0.0, 2.0 * np.pi, n)
        return self.center + np.column_stack([np.cos(angles), np.sin(angles)]) @ self.inverse_root.T

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw `n` rows uniformly from the volume, of shape (n, d)."""
        directions = rng.standard_normal((n, self.n_features))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        radii = rng.random((n, 1)) ** (1.0 / self.n_features)
        return self.center + (radii * directions) @ self.inverse_root.T

    def expanded(self, factor: float) -> Ellipsoid:
        """Scale the ellipsoid about its center; all semi-axes become `factor` times as long."""
        if not factor > 0.0:
            raise ValueError(f"factor is {factor}; an ellipsoid can only be expanded by a positive number.")
        return Ellipsoid(self.center, self.root / factor)

    def _card(self) -> Card:
        d = self.n_features
        facts = [("center", numbers(self.center)), ("log-volume", f"{self.log_volume:.4g}")]
        if d <= MOST_SHOWN_AXES:
            facts.insert(1, ("semi-axes", numbers(self.semi_axes)))
        return Card(f"Ellipsoid in {counted(d, 'feature')}, center {numbers(self.center)}", tuple(facts))

    @cached_property
    def _log_determinant(self) -> float:
        return float(np.linalg.slogdet(self.root).logabsdet)

    @cached_property
    def _axes_and_lengths(self) -> tuple[FloatArray, FloatArray]:
        # Decompose the inverse, so that rounding is small relative to the longest axes, on which distances depend.
        columns, lengths, _ = np.linalg.svd(self.inverse_root)
        return _read_only(columns.T), _read_only(lengths)

    def _check_rows(self, rows: FloatArray) -> FloatArray:
        rows = np.asarray(rows)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"rows have shape {rows.shape}; this ellipsoid needs (n, {self.n_features}).")
        return rows

    def _basis(self, features: ArrayLike) -> FloatArray:
        d = self.n_features
        given = np.asarray(features)
        if given.ndim == 2 and len(given) == d:
            basis = given.astype(np.float64)
        elif given.ndim == 1 and given.dtype.kind == "i" and np.isin(given, np.arange(d)).all():
            basis = np.eye(d)[:, given]
        else:
            raise ValueError(f"features must be column numbers from 0 to {d - 1}, or an array of shape ({d}, k).")
        if not 0 < basis.shape[1] == np.linalg.matrix_rank(basis):
            raise ValueError("features must differ from each other, and directions must be linearly independent.")
        return basis


def _read_only(values: ArrayLike) -> FloatArray:
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array


# Both ellipsoids contain rows up to this squared radius, so they are disjoint only beyond it.
TOUCHING = 1.0 + BOUNDARY_SLACK

# Shares are squares of numbers whose rounding error is 2**-53.
SMALLEST_SHARE = 2.0**-106

# Newton takes 3 to 12 steps. The bracket has length 74 at most, and every step halves it or the step before, so the
# limit is reached only by pairs that touch up to rounding.
MAX_OVERLAP_STEPS = 100


def are_disjoint(first: Ellipsoid, second: Ellipsoid) -> bool:
    """Whether no row can lie in both ellipsoids; touching ellipsoids are not disjoint.

    With `Q1`, `Q2` the squares of the inverse roots, the ellipsoids are disjoint if and only if the concave function
    ``f(s) = s * (1 - s) * gap.T @ inv(s * Q1 + (1 - s) * Q2) @ gap``, `gap` the difference of the centers, exceeds 1
    somewhere between 0 and 1 (Perram & Wertheim 1985). A value above 1 at any `s` proves that they are disjoint, a
    tangent that stays below 1 proves that they are not; the maximum itself is seldom needed.
    """
    if first.n_features != second.n_features:
        raise ValueError(f"Ellipsoids with {first.n_features} and {second.n_features} features cannot be compared.")
    first_share, second_share, gap = _common_axes(first, second)
    # Along one axis alone the maximum of f is the square of this: gap over the sum of the semi-axes.
    separations = np.abs(gap) / (np.sqrt(first_share) + np.sqrt(second_share))
    if separations.max() > math.sqrt(TOUCHING):
        return True
    if separations @ separations <= TOUCHING:
        return False
    return _maximum_exceeds(TOUCHING, first_share, second_share, gap**2)


def overlap_ratio(overlap: Ellipsoid, own: Ellipsoid) -> float:
    """Ratio of the volume of `overlap`, the ellipsoid around the rows in both classes' ellipsoids, to that of `own`."""
    if overlap.n_features != own.n_features:
        raise ValueError(f"Ellipsoids with {overlap.n_features} and {own.n_features} features cannot be compared.")
    return math.exp(overlap.log_volume - own.log_volume)


def _common_axes(first: Ellipsoid, second: Ellipsoid) -> tuple[FloatArray, FloatArray, FloatArray]:
    """In coordinates in which both are axis-parallel: squared semi-axes, which sum to 1, and the gap of the centers."""
    d = first.n_features
    # The columns are features; a QR factorisation leaves their scales, however different, to `upper` alone.
    orthonormal, upper = np.linalg.qr(np.vstack([first.inverse_root.T, second.inverse_root.T]))
    _, first_lengths, axes = np.linalg.svd(orthonormal[:d])
    # Not 1 minus the first: a flat ellipsoid's share may be far below the rounding of 1.
    second_lengths = np.linalg.norm(orthonormal[d:] @ axes.T, axis=0)
    gap = axes @ solve_triangular(upper, second.center - first.center, trans="T")
    return np.maximum(first_lengths**2, SMALLEST_SHARE), np.maximum(second_lengths**2, SMALLEST_SHARE), gap


def _maximum_exceeds(level: float, m: FloatArray, n: FloatArray, squared_gap: FloatArray) -> bool:
    """Whether ``f(s) = sum(squared_gap * s * (1 - s) / (s * m + (1 - s) * n))`` exceeds `level` anywhere.

    Newton's method on ``log(a / b) - 2 * x``, where `x` is the log-odds of `s` and the derivative of `f` is
    ``(1 - s)**2 * a - s**2 * b``: flat ellipsoids push the maximum close to 0 or 1, so `s` itself is a poor variable.
    """
    lower, upper = 0.5 * math.log((n / m).min()), 0.5 * math.log((n / m).max())
    x = 0.5 * math.log((squared_gap @ n) / (squared_gap @ m))
    last_step = upper - lower
    for _ in range(MAX_OVERLAP_STEPS):
        s, rest = _sigmoid(x), _sigmoid(-x)
        inverse = 1.0 / (s * m + rest * n)
        terms = squared_gap * inverse
        value = s * rest * float(terms.sum())
        if value > level:
            return True
        terms *= inverse
        a, b = float(terms @ n), float(terms @ m)
        slope = rest**2 * a - s**2 * b
        if slope > 0.0:
            lower, room = x, rest - _sigmoid(-upper)
        else:
            upper, room = x, s - _sigmoid(lower)
        if value + abs(slope) * room <= level:
            return False
        curvature = float((terms * inverse) @ (m * n))
        step = (0.5 * math.log(a / b) - x) / (curvature * (rest / b + s / a))
        if not lower < x + step < upper or abs(step) > 0.5 * last_step:
            step = 0.5 * (lower + upper) - x
        x += step
        last_step = abs(step)
    return False


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
