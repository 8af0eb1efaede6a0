"""LandscapeFigures: every number of a landscape, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card, ShownAsCard, ShownOnOneLine
from sepc.kernels.enclose import enclose_points
from sepc.points.in_memory import ArrayPoints
from sepc.shapes.ellipsoid import Ellipsoid, are_disjoint, overlap_ratio
from sepc.wording import counted, json_fields, percent, with_counts


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
    """The smallest ellipsoid around the rows of each class; `unit` is the standard deviation of each feature."""
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


HEAD = ("class", "other", "rows in both", "share of class", "of other")


@dataclass(frozen=True, eq=False, repr=False)
class LandscapeFigures(ShownAsCard):
    """A landscape in numbers.

    Attributes
    ----------
    feature_names : tuple of str
    classes : tuple of str
        The labels as text, sorted as labels.
    n_rows : tuple of int
        Rows of each class.
    ellipsoids : tuple of Ellipsoid
        The smallest ellipsoid around all rows of each class, in the user's features.
    overlaps : tuple of Overlap
        Every pair of classes.
    n_partitioned : int
        Rows that were partitioned. `n_isolated` counts only these; all other counts and shares below refer to all rows.
    n_ellipsoids : int
        Ellipsoids of the partition.
    n_regions : int
        Combinations of ellipsoids that contain at least one row.
    n_mixed : int
        Regions that hold rows of two or more labels.
    n_small : int
        Small disjuncts: ellipsoids of the partition that contain less than `small` of the rows of their label.
    small : float
        The threshold for a small disjunct.
    small_share : float
        Share of the rows that lie in a small disjunct of their label and in no larger ellipsoid of that label.
    mixed_share : float
        Share of the rows in regions that hold two or more labels.
    outvoted_share : float
        Share of all rows that lie in such a region and do not have its most common label.
    outside_share : float
        Share of the rows in no ellipsoid of the partition.
    n_isolated : int
        Partitioned rows in places with too few rows of their label for an ellipsoid.
    """

    feature_names: tuple[str, ...]
    classes: tuple[str, ...]
    n_rows: tuple[int, ...]
    ellipsoids: tuple[Ellipsoid, ...]
    overlaps: tuple[Overlap, ...]
    n_partitioned: int = 0
    n_ellipsoids: int = 0
    n_regions: int = 0
    n_mixed: int = 0
    n_small: int = 0
    small: float = 0.0
    small_share: float = 0.0
    mixed_share: float = 0.0
    outvoted_share: float = 0.0
    outside_share: float = 0.0
    n_isolated: int = 0

    @property
    def n_all(self) -> int:
        """Rows of all classes."""
        return sum(self.n_rows)

    @property
    def inside(self) -> FloatArray:
        """The share of the rows of each class that lie in the ellipsoid of each other one, and 1 of its own."""
        shares = np.eye(len(self.classes))
        for one in self.overlaps:
            shares[one.first, one.second] = one.n_first / max(self.n_rows[one.first], 1)
            shares[one.second, one.first] = one.n_second / max(self.n_rows[one.second], 1)
        return shares

    def to_dict(self) -> dict[str, Any]:
        """The figures as lists, numbers and text, ready for JSON."""
        return json_fields(self)

    def _card(self) -> Card:
        classes, features = counted(len(self.classes), "class", "classes"), counted(len(self.feature_names), "feature")
        title = f"Landscape of {counted(self.n_all, 'row')}, {classes}, {features}"
        facts = [("rows", with_counts(self.classes, self.n_rows)), *(self._partition_facts() if self.overlaps else ())]
        meeting = sorted(
            (overlap for overlap in self.overlaps if not overlap.disjoint),
            key=lambda overlap: -overlap.n_first - overlap.n_second,
        )
        rows = tuple(self._cells(overlap) for overlap in meeting)
        return Card(title, tuple(facts), HEAD, rows, "All figures: to_dict()")

    def _partition_facts(self) -> tuple[tuple[str, str], ...]:
        sample = "all rows" if self.n_partitioned == self.n_all else f"{self.n_partitioned:,} rows"
        parts = f"{counted(self.n_ellipsoids, 'ellipsoid')}, {counted(self.n_regions, 'region')}"
        mixed = f"{percent(self.mixed_share)} of rows, {percent(self.outvoted_share)} with a minority label"
        n_disjoint = sum(overlap.disjoint for overlap in self.overlaps)
        return (
            ("partition", f"{parts}, fitted on {sample}"),
            ("in mixed regions", mixed if self.n_mixed else "no row"),
            ("in no ellipsoid", f"{percent(self.outside_share)} of rows" if self.outside_share else "no row"),
            ("disjoint classes", f"{n_disjoint:,} of {counted(len(self.overlaps), 'pair')}"),
        )

    def _cells(self, overlap: Overlap) -> tuple[str, ...]:
        shares = [
            percent(n / self.n_rows[k])
            for k, n in ((overlap.first, overlap.n_first), (overlap.second, overlap.n_second))
        ]
        return (
            self.classes[overlap.first],
            self.classes[overlap.second],
            f"{overlap.n_first + overlap.n_second:,}",
            *shares,
        )
