"""LandscapeSummary: every number of a landscape, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sepc.landscape.overlaps import Overlap
from sepc.shapes.ellipsoid import Ellipsoid


@dataclass(frozen=True, eq=False)
class LandscapeSummary:
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
        plain = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return plain | {
            "ellipsoids": [{"center": one.center.tolist(), "root": one.root.tolist()} for one in self.ellipsoids],
            "overlaps": [vars(one) for one in self.overlaps],
        }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
