"""LandscapeFigures: every number of a landscape, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sepc.cards import Card, ShownAsCard
from sepc.landscape.overlaps import Overlap
from sepc.plain_values import json_fields
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.wording import counted, percent, with_counts

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
        The smallest around all rows of each class, in the features as given.
    overlaps : tuple of Overlap
        Every pair of classes.
    n_partitioned : int
        Rows that were partitioned. Of those, `n_isolated` could not be made an ellipsoid of; all other counts and
        shares below are of all rows.
    n_ellipsoids : int
        Ellipsoids the partition found.
    n_regions : int
        Sets of these that some row lies in, and in no others.
    n_mixed : int
        Regions that hold rows of two or more labels.
    n_small : int
        Small disjuncts: ellipsoids of the partition that hold less than `small` of the rows of their label.
    small : float
        What counts as small.
    small_share : float
        Share of the rows that small disjuncts hold of their label, and no larger ellipsoid of that label does.
    mixed_share, mixed_low, mixed_high : float
        Share of the rows in regions that hold two or more labels, and its 95 % interval.
    outvoted_share, outvoted_low, outvoted_high : float
        Share of the rows in such regions whose label is not the most frequent one there, and its 95 % interval.
    outside_share : float
        Share of the rows in no ellipsoid of the partition.
    n_isolated : int
        Rows no ellipsoid could be made of.
    """

    feature_names: tuple[str, ...]
    classes: tuple[str, ...]
    n_rows: tuple[int, ...]
    ellipsoids: tuple[Ellipsoid, ...]
    overlaps: tuple[Overlap, ...]
    n_partitioned: int
    n_ellipsoids: int
    n_regions: int
    n_mixed: int
    n_small: int
    small: float
    small_share: float
    mixed_share: float
    mixed_low: float
    mixed_high: float
    outvoted_share: float
    outvoted_low: float
    outvoted_high: float
    outside_share: float
    n_isolated: int

    @property
    def n_all(self) -> int:
        """Rows of all classes."""
        return sum(self.n_rows)

    def to_dict(self) -> dict[str, Any]:
        """The same in lists, numbers and text, ready for JSON."""
        return json_fields(self)

    def _card(self) -> Card:
        classes, features = counted(len(self.classes), "class", "classes"), counted(len(self.feature_names), "feature")
        title = f"Landscape of {counted(self.n_all, 'row')}, {classes}, {features}"
        facts = [("rows", with_counts(self.classes, self.n_rows)), *(self._partition_facts() if self.overlaps else ())]
        meeting = sorted(
            (one for one in self.overlaps if not one.disjoint), key=lambda one: -one.n_first - one.n_second
        )
        rows = tuple(self._cells(one) for one in meeting)
        return Card(title, tuple(facts), HEAD, rows, "All of its numbers: to_dict()")

    def _partition_facts(self) -> tuple[tuple[str, str], ...]:
        sample = "all rows" if self.n_partitioned == self.n_all else f"{self.n_partitioned:,} rows"
        parts = f"{counted(self.n_ellipsoids, 'ellipsoid')}, {counted(self.n_regions, 'region')}"
        mixed = f"{percent(self.mixed_share)} of rows ({percent(self.mixed_low)} to {percent(self.mixed_high)})"
        n_disjoint = sum(one.disjoint for one in self.overlaps)
        return (
            ("partition", f"{parts}, made of {sample}"),
            ("in mixed regions", f"{mixed}, {percent(self.outvoted_share)} outvoted" if self.n_mixed else "no row"),
            ("in no ellipsoid", f"{percent(self.outside_share)} of rows" if self.outside_share else "no row"),
            ("disjoint classes", f"{n_disjoint:,} of {counted(len(self.overlaps), 'pair')}"),
        )

    def _cells(self, one: Overlap) -> tuple[str, ...]:
        own = [percent(n / self.n_rows[k]) for k, n in ((one.first, one.n_first), (one.second, one.n_second))]
        return (self.classes[one.first], self.classes[one.second], f"{one.n_first + one.n_second:,}", *own)
