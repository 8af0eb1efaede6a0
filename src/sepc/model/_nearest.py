"""The nearest ellipsoid or isolated point of rows that lie in no ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from sepc._typing import FloatArray, IntArray
from sepc.shapes.ellipsoid import distances, map_rows

# Places that differ in distance by less than this share are tied: rounding must not choose between mirror images.
TIE_TOLERANCE = 1e-9

# Rounding could raise a bound by this share of the distance to the center.
ROUNDING = 1e-12

# Coordinates are clipped here, where squares are still finite; such a row is equally near to all places.
FARTHEST = 1e140

# Rows compared at once: enough for a long array per ellipsoid; 100 ellipsoids take 40 MB.
BLOCK_ROWS = 16384


@dataclass(frozen=True, eq=False)
class Nearest:
    """The places nearest to some rows; ellipsoids are numbered from 0 to K - 1, isolated points from K."""

    place: IntArray
    distance: FloatArray
    tied_rows: IntArray
    tied_places: IntArray


@dataclass(frozen=True, eq=False)
class Places:
    """Ellipsoids and isolated points prepared for `nearest_of`; built once by `prepare_places`."""

    centers: FloatArray
    axes: FloatArray
    semi_axes: FloatArray
    isolated: cKDTree

    def __reduce__(self) -> Any:
        # The oldest two pickle protocols cannot write the tree.
        return _places, (self.centers, self.axes, self.semi_axes, np.array(self.isolated.data))

    def coordinates(self, rows: FloatArray, k: int) -> FloatArray:
        """Coordinates of rows along the axes of ellipsoid `k`, from its center."""
        return map_rows(rows, self.centers[k], self.axes[k])


def prepare_places(centers: FloatArray, roots: FloatArray, isolated: FloatArray) -> Places:
    """Prepare ellipsoids, of shapes (K, d) and (K, d, d), and isolated points, of shape (J, d), for many rows."""
    if len(centers) + len(isolated) == 0:
        raise ValueError("There are no ellipsoids and no isolated points, so there is no nearest place.")
    # Decompose the inverse, as in Ellipsoid: rounding is then small against the longest axes, which distances need.
    columns, semi_axes, _ = np.linalg.svd(np.linalg.inv(roots))
    return _places(centers, columns.transpose(0, 2, 1), semi_axes, isolated)


def _places(centers: FloatArray, axes: FloatArray, semi_axes: FloatArray, isolated: FloatArray) -> Places:
    return Places(centers, axes, semi_axes, cKDTree(isolated))


def nearest_of(places: Places, rows: FloatArray, squared_radii: FloatArray) -> Nearest:
    """Find the ellipsoid or isolated point nearest to each row that lies in no ellipsoid."""
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, max(1, len(rows)), BLOCK_ROWS)]
    parts = [_nearest_in_block(places, rows[block], squared_radii[block]) for block in blocks]
    return Nearest(
        place=np.concatenate([part.place for part in parts]),
        distance=np.concatenate([part.distance for part in parts]),
        tied_rows=np.concatenate([part.tied_rows + block.start for part, block in zip(parts, blocks, strict=True)]),
        tied_places=np.concatenate([part.tied_places for part in parts]),
    )


def _nearest_in_block(places: Places, rows: FloatArray, squared_radii: FloatArray) -> Nearest:
    rows = np.clip(rows, -FARTHEST, FARTHEST)
    # The two nearest, to see whether there may be a tie; infinity where there are fewer.
    to_isolated, isolated = map(np.asarray, places.isolated.query(rows, k=2))
    to_ellipsoids = _ellipsoid_distances(places, rows, squared_radii, within=to_isolated[:, 0])

    distance = np.minimum(to_ellipsoids.min(axis=1, initial=np.inf), to_isolated[:, 0])
    reach = distance * (1.0 + TIE_TOLERANCE)
    row, place = np.nonzero(to_ellipsoids <= reach[:, np.newaxis])
    isolated_row, isolated_place = _isolated_within(places.isolated, rows, reach, to_isolated, isolated)
    row = np.concatenate([row, isolated_row])
    place = np.concatenate([place, isolated_place + len(places.centers)])
    order = np.lexsort([place, row])
    row, place = row[order], place[order]

    starts = np.searchsorted(row, np.arange(len(rows)))
    is_tied = np.bincount(row, minlength=len(rows))[row] > 1
    return Nearest(place[starts], distance, row[is_tied], place[is_tied])


def _ellipsoid_distances(places: Places, rows: FloatArray, squared_radii: FloatArray, within: FloatArray) -> FloatArray:
    """Distance of each row to each ellipsoid that may be nearest; infinity for those proved to be farther."""
    to_ellipsoids = np.full(squared_radii.shape, np.inf)
    if len(places.centers) == 0:
        return to_ellipsoids
    to_centers = cdist(rows, places.centers)
    guess = _first_guess(to_centers, squared_radii)
    for k in np.unique(guess).tolist():
        at = np.flatnonzero(guess == k)
        to_ellipsoids[at, k] = distances(places.semi_axes[k], places.coordinates(rows[at], k))

    reach = np.minimum(within, to_ellipsoids.min(axis=1))
    to_balls = (1.0 - ROUNDING) * to_centers - places.semi_axes[:, 0]
    is_open = (to_balls <= _with_ties(reach)[:, np.newaxis]) & np.isinf(to_ellipsoids)
    for k in np.flatnonzero(is_open.any(axis=0)).tolist():
        at = np.flatnonzero(is_open[:, k])
        coords = places.coordinates(rows[at], k)
        # Negated so that NaN, which means no bound, keeps the row.
        may_be_nearest = ~(_lower_bounds(places.semi_axes[k], coords) > _with_ties(reach[at]))
        at = at[may_be_nearest]
        to_ellipsoids[at, k] = distances(places.semi_axes[k], coords[may_be_nearest])
        reach[at] = np.minimum(reach[at], to_ellipsoids[at, k])
    return to_ellipsoids


def _first_guess(to_centers: FloatArray, squared_radii: FloatArray) -> IntArray:
    """The ellipsoid whose boundary is nearest along the straight line to its center."""
    gauges = np.sqrt(np.maximum(squared_radii, 1.0))
    guess: IntArray = (to_centers * (1.0 - 1.0 / gauges)).argmin(axis=1)
    return guess


def _lower_bounds(semi_axes: FloatArray, coords: FloatArray) -> FloatArray:
    """Lower bounds on distances to an ellipsoid, from two of its tangent planes; NaN where that overflows."""
    longest = semi_axes[0]
    ratios = semi_axes / longest
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        powers = np.stack([np.ones_like(ratios), ratios**2, ratios**-2, ratios**-4])
        to_center, width, gauge, slope = np.sqrt(powers @ (coords.T / longest) ** 2)
        bounds = np.fmax(to_center - width / to_center, gauge * (gauge - 1.0) / slope)
        lowered: FloatArray = longest * (bounds - ROUNDING * to_center)
    return lowered


def _with_ties(reach: FloatArray) -> FloatArray:
    """A slightly larger distance, so that no tie is ruled out."""
    return (1.0 + 2.0 * TIE_TOLERANCE) * reach


def _isolated_within(
    tree: cKDTree, rows: FloatArray, reach: FloatArray, to_nearest: FloatArray, nearest: IntArray
) -> tuple[IntArray, IntArray]:
    """All pairs of row and isolated point at most `reach` apart, given the two nearest points of each row."""
    single = np.flatnonzero((to_nearest[:, 0] <= reach) & (to_nearest[:, 1] > reach))
    crowded = np.flatnonzero(to_nearest[:, 1] <= reach)
    crowds = tree.query_ball_point(rows[crowded], reach[crowded])
    row = np.concatenate([single, np.repeat(crowded, [len(crowd) for crowd in crowds])])
    return row, np.concatenate([nearest[single, 0], *crowds]).astype(np.int64)
