"""The ellipsoid: a centre, a root, and everything that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card, ShownInLists
from sepc.shapes.distance import distances
from sepc.shapes.norms import map_rows, squared_norms
from sepc.wording import counted, numbers

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
