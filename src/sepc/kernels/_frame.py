"""The coordinates in which `enclose` works: rows centred and whitened, flat directions set aside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri

from sepc._typing import BoolArray, FloatArray
from sepc.kernels._core_set import CoreSolution
from sepc.kernels.magnitude import power_of_two
from sepc.points.protocol import PointSet
from sepc.points.reductions import Moments, Spread
from sepc.shapes.ellipsoid import Ellipsoid

EPS = float(np.finfo(np.float64).eps)
# A column varies if its standard deviation exceeds the rounding of its own values.
CONSTANT = 8.0 * EPS
# Below this ratio of eigenvalues, a covariance is too inexact to distinguish a thin direction from a flat one; the rows
# are then transformed and measured again.
TRUSTED_RATIO = 1e-10
# Eigenvalues are clamped here before the second measurement, so that rounding noise is not amplified to size one.
CLAMPED_RATIO = 1e-13
MAX_MEASUREMENTS = 3
# A direction is flat if its deviation is below this share of the largest: the rounding noise of a collinear column is
# near 1e-10, and a threshold of 1e-11 was seen to enclose the noise.
FLAT = 1e-8
# No semi-axis is shorter than this share of the longest, in units of each column's deviation.
THICKNESS = 1e-6
# If no feature varies, each feature's unit is its value, but at least this: the inverse of a smaller thickness would
# overflow.
SHORTEST_UNIT = 1e-290
# A flat direction is this many times thicker than the rounding of the rows and of the centre, so that rounding adds
# less than 1e-11 to a squared radius.
NOISE_MARGIN = 3e5


@dataclass(frozen=True, eq=False)
class WhiteningFrame:
    """Whitened coordinates ``z = (x - origin) @ to_white`` of the directions in which the rows vary.

    `unit` scales the features (a power of two each, near their deviation), `directions` are orthonormal in these
    units: first `rank` thick ones with their `deviations`, then the flat ones.
    """

    origin: FloatArray
    unit: FloatArray
    directions: FloatArray
    deviations: FloatArray

    @property
    def rank(self) -> int:
        """Number of directions in which the rows vary."""
        return len(self.deviations)

    @property
    def to_white(self) -> FloatArray:
        """The map of shape (d, rank) from centred rows to whitened ones."""
        return self.directions[:, : self.rank] / self.deviations / self.unit[:, None]

    @property
    def flat_directions(self) -> FloatArray:
        """The normals of the affine hull, of shape (d - rank, d), in the frame's units."""
        return self.directions[:, self.rank :].T

    @property
    def to_flat(self) -> FloatArray:
        """The map of shape (d, d - rank) from centred rows to their coordinates along the flat directions."""
        return self.directions[:, self.rank :] / self.unit[:, None]

    def whiten(self, rows: FloatArray) -> FloatArray:
        """Whitened coordinates of `rows`."""
        return (rows - self.origin) @ self.to_white

    def without_thinnest(self) -> WhiteningFrame:
        """The frame in which the thinnest direction counts as flat."""
        return WhiteningFrame(self.origin, self.unit, self.directions, self.deviations[:-1])

    def ellipsoid(self, center: FloatArray, factor: FloatArray) -> Ellipsoid:
        """The ellipsoid with this center and lower factor in whitened coordinates; there must be no flat direction."""
        own_center = self.origin + self.unit * (self.directions * self.deviations @ center)
        return Ellipsoid(own_center, dtrtri(factor, lower=1)[0] @ self.to_white.T)

    def restore(
        self, white: CoreSolution, flat_range: tuple[FloatArray, FloatArray], unit: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Centre and root, in the original features, of the whitened ellipsoid `white`, made thin in flat directions.

        No semi-axis is shorter than `THICKNESS` in units of `unit`; if that is None, `THICKNESS` is relative to the
        longest semi-axis, in units of the rows' own standard deviations.
        """
        thick, thin = self.directions[:, : self.rank] * self.deviations, self.directions[:, self.rank :]
        half = 0.5 * (flat_range[1] - flat_range[0])
        center = self.origin + self.unit * (thick @ white.center + thin @ (flat_range[0] + half))
        if unit is None and thin.shape[1] == 0 and self._is_thick(white):
            return center, dtrtri(white.factor, lower=1)[0] @ self.to_white.T
        longest = float(np.linalg.norm(thick @ white.factor, 2)) if self.rank else 1.0
        rounding = np.abs(thin).T @ (np.spacing(np.abs(self.origin)) / self.unit)
        spans = np.hstack([thick @ white.factor, thin * np.minimum(NOISE_MARGIN * (half + rounding), longest)])
        relative = np.ones_like(self.unit) if unit is None else self.unit / unit
        axes, lengths, _ = np.linalg.svd(spans * relative[:, None])
        lengths = np.maximum(lengths, THICKNESS * (longest if unit is None else 1.0))
        triangle: FloatArray = np.linalg.qr((axes / lengths).T)[1]
        return center, triangle * (relative / self.unit)

    def _is_thick(self, white: CoreSolution) -> bool:
        """Whether every semi-axis is certain to be long enough to need no added thickness."""
        inverse, _ = dtrtri(white.factor, lower=1)
        condition = np.linalg.norm(white.factor) * np.linalg.norm(inverse)
        return bool(condition * self.deviations.max() * THICKNESS < self.deviations.min())


def frame_of(points: PointSet, spread: Spread) -> WhiteningFrame:
    """Frame of a non-empty set of rows with these moments; takes a few more passes if columns are nearly collinear."""
    deviation = np.sqrt(np.diag(spread.scatter) / spread.n)
    varies = deviation > CONSTANT * (np.abs(spread.mean) + deviation)
    unit = _units(deviation, spread.mean, varies)
    inner, deviations = _principal_directions(points, spread, unit, varies)
    directions = inner
    if not varies.all():
        directions = np.zeros((points.n_features, points.n_features))
        directions[np.ix_(varies, np.arange(len(inner)))] = inner
        directions[~varies, np.arange(len(inner), len(directions))] = 1.0
    return WhiteningFrame(spread.mean, unit, directions, deviations)


def _units(deviation: FloatArray, mean: FloatArray, varies: BoolArray) -> FloatArray:
    """The unit of each feature: its deviation, or for a constant one the largest deviation of the others."""
    if not varies.any():
        return power_of_two(np.where(mean == 0.0, 1.0, np.maximum(np.abs(mean), SHORTEST_UNIT)))
    return power_of_two(np.where(varies, deviation, deviation[varies].max()))


def _principal_directions(
    points: PointSet, spread: Spread, unit: FloatArray, varies: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Orthonormal directions of the varying columns, thick ones first, and the deviations along the thick ones.

    Where the covariance is too ill-conditioned to be trusted, the rows are measured again, which resolves deviations
    down to 1e-13 of the largest.
    """
    if not varies.any():
        return np.zeros((0, 0)), np.zeros(0)
    covariance = (spread.scatter / spread.n / unit / unit[:, None])[varies][:, varies]
    values, vectors = np.linalg.eigh(covariance)
    if values[0] > TRUSTED_RATIO * values[-1]:
        deviations, directions = np.sqrt(values[::-1]), vectors.T[::-1]
    else:
        _, deviations, directions = np.linalg.svd(_accurate_factor(points, spread.mean, unit, varies, values, vectors))
    rank = min(int(np.count_nonzero(deviations > FLAT * deviations[0])), points.n_points - 1)
    return directions.T, deviations[:rank]


def _accurate_factor(
    points: PointSet, origin: FloatArray, unit: FloatArray, varies: BoolArray, values: FloatArray, vectors: FloatArray
) -> FloatArray:
    """A matrix `B` with ``B'B`` the covariance in these units, accurate also in thin directions.

    The rows are transformed by their approximate covariance and measured again (the idea of shifted Cholesky-QR).
    """
    to_unit = np.eye(len(unit))[:, varies] / unit[:, None]
    factor = np.eye(len(values))
    for _ in range(MAX_MEASUREMENTS):
        factor = np.sqrt(np.maximum(values, CLAMPED_RATIO * values[-1]))[:, None] * (vectors.T @ factor)
        if values[0] > TRUSTED_RATIO * values[-1]:
            break
        try:
            inverse = np.linalg.inv(factor)
        except np.linalg.LinAlgError:
            break  # Thinner than doubles can resolve: measuring again would not help.
        spread = points.reduce(Moments(origin, to_unit @ inverse))
        values, vectors = np.linalg.eigh(spread.scatter / spread.n)
    return factor
