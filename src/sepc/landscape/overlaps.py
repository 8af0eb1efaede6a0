"""The ellipsoid around all rows of each class, and how two of them overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.cards import ShownOnOneLine
from sepc.kernels.enclose import enclose_points
from sepc.points.in_memory import ArrayPoints
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.shapes.overlap import are_disjoint, overlap_ratio


@dataclass(frozen=True, repr=False)
class Overlap(ShownOnOneLine):
    """How the ellipsoids of two classes overlap.

    Attributes
    ----------
    first, second : int
        The classes, as positions among the classes of the landscape.
    disjoint : bool
        Whether the two ellipsoids have no point in common.
    n_first, n_second : int
        Rows of each of the two classes that lie in both ellipsoids.
    ratio_first, ratio_second : float or None
        Volume of the smallest ellipsoid around these rows, divided by the volume of the class's ellipsoid. 0 if there
        are no more such rows than features; None if the class has no more rows than features, since its ellipsoid is
        flat.
    """

    first: int
    second: int
    disjoint: bool
    n_first: int
    n_second: int
    ratio_first: float | None
    ratio_second: float | None


def class_ellipsoids(of_class: Sequence[FloatArray], unit: FloatArray) -> tuple[Ellipsoid, ...]:
    """The smallest ellipsoid around the rows of each class; `unit` is the standard deviation of each feature.

    All flat ellipsoids get their thickness in this unit, so that it nearly cancels in ratios of volumes.
    """
    return tuple(enclose_points(ArrayPoints(rows), unit=unit).ellipsoid for rows in of_class)


def overlaps_of(
    of_class: Sequence[FloatArray], ellipsoids: Sequence[Ellipsoid], unit: FloatArray
) -> tuple[Overlap, ...]:
    """The overlap of every pair of classes, in order."""
    return tuple(_overlap(i, j, of_class, ellipsoids, unit) for i, j in combinations(range(len(of_class)), 2))


def _overlap(
    i: int, j: int, of_class: Sequence[FloatArray], ellipsoids: Sequence[Ellipsoid], unit: FloatArray
) -> Overlap:
    disjoint = are_disjoint(ellipsoids[i], ellipsoids[j])
    # The rows of a class lie in its own ellipsoid, so only the other one needs a test.
    in_both = [_inside(of_class[i], ellipsoids[j], disjoint), _inside(of_class[j], ellipsoids[i], disjoint)]
    n_first, n_second = (int(np.count_nonzero(inside)) for inside in in_both)
    shared: Ellipsoid | None = None
    if n_first + n_second > ellipsoids[i].n_features:
        rows = np.concatenate([of_class[i][in_both[0]], of_class[j][in_both[1]]])
        shared = enclose_points(ArrayPoints(rows), unit=unit).ellipsoid
    ratios = [_ratio(shared, ellipsoids[k], len(of_class[k])) for k in (i, j)]
    return Overlap(i, j, disjoint, n_first, n_second, *ratios)


def _inside(rows: FloatArray, other: Ellipsoid, disjoint: bool) -> BoolArray:
    return np.zeros(len(rows), dtype=np.bool_) if disjoint else other.contains(rows)


def _ratio(shared: Ellipsoid | None, whole: Ellipsoid, n_own: int) -> float | None:
    if n_own <= whole.n_features:
        return None
    # All these rows lie in `whole`, so only rounding can push a ratio above 1.
    return 0.0 if shared is None else min(1.0, overlap_ratio(shared, whole))
