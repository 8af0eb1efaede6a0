"""Which ellipsoid or isolated point lies nearest to rows that lie in no ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from sepc._typing import FloatArray, IntArray
from sepc.shapes.distance import distances

# Places this close to the nearest one, relative to its distance, are as near: rounding must not choose between mirror
# images.
TIE_TOLERANCE = 1e-9

# Of the distance to the center: by this much rounding could lift a bound.
ROUNDING = 1e-12

# Coordinates end here, where squares are still numbers; every place is as near to such a row as any other.
FARTHEST = 1e140

# Rows compared at once: enough to give every ellipsoid a long array, and 100 of them take 40 MB.
BLOCK_ROWS = 16384


@dataclass(frozen=True, eq=False)
class Nearest:
    """The places nearest to some rows; ellipsoids are numbered from 0 to K - 1, isolated points from K.

    Parameters
    ----------
    place : ndarray of shape (n,)
        The nearest place; of several as near, the first.
    distance : ndarray of shape (n,)
        Euclidean distance to the nearest place.
    tied_rows, tied_places : ndarray of shape (t,)
        All places of the rows that have several as near, by row and then by place.
    """

    place: IntArray
    distance: FloatArray
    tied_rows: IntArray
    tied_places: IntArray


@dataclass(frozen=True, eq=False)
class Places:
    """Ellipsoids and isolated points prepared for `nearest_of`; built once by `prepared`.

    Parameters
    ----------
    centers : ndarray of shape (K, d)
    axes : ndarray of shape (K, d, d)
        Unit directions of the semi-axes, as rows.
    semi_axes : ndarray of shape (K, d)
        Their lengths, longest first.
    isolated : cKDTree
        Of the J isolated points.
    """

    centers: FloatArray
    axes: FloatArray
    semi_axes: FloatArray
    isolated: cKDTree

    def coordinates(self, rows: FloatArray, k: int) -> FloatArray:
        """Rows as seen from the center of ellipsoid `k` along its axes."""
        coords: FloatArray = (rows - self.centers[k]) @ self.axes[k].T
        return coords


def prepared(centers: FloatArray, roots: FloatArray, isolated: FloatArray) -> Places:
    """Prepare ellipsoids, of shapes (K, d) and (K, d, d), and isolated points, of shape (J, d), for many rows."""
    if len(centers) + len(isolated) == 0:
        raise ValueError("There is neither an ellipsoid nor an isolated point, so nothing is nearest.")
    # Of the inverse, as in Ellipsoid: the rounding is then small against the longest axes, and distances need those.
    columns, semi_axes, _ = np.linalg.svd(np.linalg.inv(roots))
    return Places(centers, columns.transpose(0, 2, 1), semi_axes, cKDTree(isolated))


def nearest_places(
    rows: FloatArray, squared_radii: FloatArray, centers: FloatArray, roots: FloatArray, isolated: FloatArray
) -> Nearest:
    """Find the ellipsoid or isolated point nearest to each row that lies in no ellipsoid.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    squared_radii : ndarray of shape (n, K)
        Of these rows in the ellipsoids, as `squared_radii` gives them.
    centers : ndarray of shape (K, d)
    roots : ndarray of shape (K, d, d)
    isolated : ndarray of shape (J, d)
        K or J may be 0, not both.

    Examples
    --------
    >>> centers, roots = np.array([[-3.0, 0.0], [3.0, 0.0]]), np.array([np.eye(2), np.eye(2)])
    >>> rows = np.array([[-6.0, 0.0], [0.0, 0.0], [0.0, 4.5]])
    >>> squared_radii = np.array([[9.0, 81.0], [9.0, 9.0], [29.25, 29.25]])
    >>> found = nearest_places(rows, squared_radii, centers, roots, isolated=np.array([[0.0, 5.0]]))
    >>> found.place, found.distance
    (array([0, 0, 2]), array([2. , 2. , 0.5]))
    >>> found.tied_rows, found.tied_places
    (array([1, 1]), array([0, 1]))
    """
    return nearest_of(prepared(centers, roots, isolated), rows, squared_radii)


def nearest_of(places: Places, rows: FloatArray, squared_radii: FloatArray) -> Nearest:
    """Find the nearest place of each row; `nearest_places` for places that are prepared."""
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, max(1, len(rows)), BLOCK_ROWS)]
    found = [_nearest_in_block(places, rows[block], squared_radii[block]) for block in blocks]
    return Nearest(
        place=np.concatenate([one.place for one in found]),
        distance=np.concatenate([one.distance for one in found]),
        tied_rows=np.concatenate([one.tied_rows + block.start for one, block in zip(found, blocks, strict=True)]),
        tied_places=np.concatenate([one.tied_places for one in found]),
    )


def _nearest_in_block(places: Places, rows: FloatArray, squared_radii: FloatArray) -> Nearest:
    rows = np.clip(rows, -FARTHEST, FARTHEST)
    # Two of them, to see whether the nearest has a rival; infinity where there are fewer.
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
    """Distance of each row to each ellipsoid that may be nearest, and infinity for those proved to be farther.

    One ellipsoid, by a guess, is solved for every row; bounds from below then spare most of the others.
    """
    found = np.full(squared_radii.shape, np.inf)
    if len(places.centers) == 0:
        return found
    to_centers = cdist(rows, places.centers)
    guess = _first_guess(to_centers, squared_radii)
    for k in np.unique(guess).tolist():
        at = np.flatnonzero(guess == k)
        found[at, k] = distances(places.semi_axes[k], places.coordinates(rows[at], k))

    reach = np.minimum(within, found.min(axis=1))
    to_balls = (1.0 - ROUNDING) * to_centers - places.semi_axes[:, 0]
    is_open = (to_balls <= _with_ties(reach)[:, np.newaxis]) & np.isinf(found)
    for k in np.flatnonzero(is_open.any(axis=0)).tolist():
        at = np.flatnonzero(is_open[:, k])
        coords = places.coordinates(rows[at], k)
        # Written so that NaN, no bound, keeps a row.
        may_be_nearest = ~(_lower_bounds(places.semi_axes[k], coords) > _with_ties(reach[at]))
        at = at[may_be_nearest]
        found[at, k] = distances(places.semi_axes[k], coords[may_be_nearest])
        reach[at] = np.minimum(reach[at], found[at, k])
    return found


def _first_guess(to_centers: FloatArray, squared_radii: FloatArray) -> IntArray:
    """Ellipsoid whose boundary comes first on the straight ways to all centers."""
    gauges = np.sqrt(np.maximum(squared_radii, 1.0))
    guess: IntArray = (to_centers * (1.0 - 1.0 / gauges)).argmin(axis=1)
    return guess


def _lower_bounds(semi_axes: FloatArray, coords: FloatArray) -> FloatArray:
    """Bound distances to an ellipsoid by those to two of its tangent planes; NaN where that overflows.

    One plane is square to the way to the center, the other touches where that way enters the ellipsoid.
    """
    longest = semi_axes[0]
    ratios = semi_axes / longest
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        powers = np.stack([np.ones_like(ratios), ratios**2, ratios**-2, ratios**-4])
        to_center, width, gauge, slope = np.sqrt(powers @ (coords.T / longest) ** 2)
        bounds = np.fmax(to_center - width / to_center, gauge * (gauge - 1.0) / slope)
        lowered: FloatArray = longest * (bounds - ROUNDING * to_center)
    return lowered


def _with_ties(reach: FloatArray) -> FloatArray:
    """Widen a distance so that bounds keep everything that may be tied."""
    return (1.0 + 2.0 * TIE_TOLERANCE) * reach


def _isolated_within(
    tree: cKDTree, rows: FloatArray, reach: FloatArray, to_nearest: FloatArray, nearest: IntArray
) -> tuple[IntArray, IntArray]:
    """Row and isolated point of all pairs that are at most `reach` apart; the two nearest of each row are known."""
    single = np.flatnonzero((to_nearest[:, 0] <= reach) & (to_nearest[:, 1] > reach))
    crowded = np.flatnonzero(to_nearest[:, 1] <= reach)
    crowds = tree.query_ball_point(rows[crowded], reach[crowded])
    row = np.concatenate([single, np.repeat(crowded, [len(crowd) for crowd in crowds])])
    return row, np.concatenate([nearest[single, 0], *crowds]).astype(np.int64)
