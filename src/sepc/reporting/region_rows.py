"""The regions of a partition as a table: their training rows, and how the held-out rows there turned out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.regions import Regions
from sepc.reporting.partitions import named_region
from sepc.wording import counted, name_of

N_REGIONS = 100
# At most this many places outside are listed.
N_OUTSIDE = 20
# At most this many classes of a region are named.
NAMED_CLASSES = 4


@dataclass(frozen=True)
class RegionRow:
    """One region, or one place outside all of them.

    Attributes
    ----------
    region : int
        Its position in `regions_`; -1 is all combinations unseen in training together.
    name : str
        In words.
    ellipsoids : tuple of int
        The ellipsoids of the region; for a place outside, the nearest one, if that is an ellipsoid.
    label : str or None
        The label according to the counts of training rows; None for region -1. With weights, rows may get another.
    n_training : int
        Training rows in the region; 0 outside.
    classes : str
        The number of training rows of each class.
    low, high : float or None
        95 % credible interval of the share of rows with this label, from the training rows; None outside.
    n_rows, n_accepted : int
        Held-out rows.
    n_right : int or None
        Those with the right label.
    trust : float or None
        Their mean trust; None if there are none.
    """

    region: int
    name: str
    ellipsoids: tuple[int, ...]
    label: str | None
    n_training: int
    classes: str
    low: float | None
    high: float | None
    n_rows: int
    n_accepted: int
    n_right: int | None
    trust: float | None


@dataclass(frozen=True)
class RegionTable:
    """The regions of a model, and the places outside them where held-out rows lie.

    Attributes
    ----------
    n_regions : int
        How many regions the model has: combinations of ellipsoids in which training rows lie.
    rows : tuple of RegionRow
        Those with the most held-out rows, then with the most training rows.
    n_used : int
        How many regions contain held-out rows.
    outside : tuple of RegionRow
        The places outside the regions that have the most held-out rows, of `n_outside` that have any.
    n_outside : int
    n_rows, n_rows_outside : int
        All held-out rows, and those outside the regions.
    """

    n_regions: int
    rows: tuple[RegionRow, ...]
    n_used: int
    outside: tuple[RegionRow, ...]
    n_outside: int
    n_rows: int
    n_rows_outside: int

    @property
    def n_rows_inside(self) -> int:
        """Held-out rows in the regions."""
        return self.n_rows - self.n_rows_outside

    def summary(self) -> str:
        """How many regions there are, and how many held-out rows lie in them and outside."""
        held_out = counted(self.n_rows, "held-out row")
        if not self.n_rows_inside:
            words = f"None of {held_out} lies in one of them."
        elif not self.n_rows_outside:
            words = f"All of {held_out} lie in {self.n_used:,} of them."
        else:
            words = (
                f"Of {held_out}, {self.n_rows_inside:,} lie in {self.n_used:,} of them; the other "
                f"{self.n_rows_outside:,} lie outside."
            )
        return f"The model has {counted(self.n_regions, 'region')}. {words}"


def region_table(
    partition: SEPDecisions, decisions: Decisions, accepted: BoolArray, right: BoolArray | None
) -> RegionTable:
    """The regions of the partition behind some decisions, up to `N_REGIONS`, and what lies outside them."""
    regions = Regions(partition.model)
    held = _HeldOutRows.count(partition.region, decisions.trust, accepted, right, len(regions))
    is_region = np.append([bool(inside) for inside in regions.ellipsoids], False)
    n_training = np.append(regions.counts.sum(axis=1), 0)
    describe = _describer(regions, n_training, held)
    inside = np.flatnonzero(is_region)
    outside = np.flatnonzero(~is_region & (held.n_rows > 0))
    order = inside[np.lexsort([-n_training[inside], -held.n_rows[inside]])]
    beyond = outside[np.argsort(-held.n_rows[outside], kind="stable")]
    return RegionTable(
        n_regions=partition.model.table.n_regions,
        rows=tuple(map(describe, order[:N_REGIONS].tolist())),
        n_used=int((held.n_rows[inside] > 0).sum()),
        outside=tuple(map(describe, beyond[:N_OUTSIDE].tolist())),
        n_outside=len(outside),
        n_rows=len(decisions),
        n_rows_outside=int(held.n_rows[outside].sum()),
    )


def _describer(regions: Regions, n_training: IntArray, held: _HeldOutRows) -> Callable[[int], RegionRow]:
    """A function that describes the region at a position; the last is of combinations unseen in training."""
    n, (low, high) = len(regions), regions.interval(0.95)
    labels = regions.label

    def describe(i: int) -> RegionRow:
        region = i if i < n else -1
        inside = regions.ellipsoids[i] if i < n else ()
        near = regions.near[i] if i < n else None
        is_near_one = near is not None and near < regions.model.n_ellipsoids
        return RegionRow(
            region,
            named_region(regions.model, region),
            (near,) if is_near_one and near is not None else inside,
            name_of(labels[i]) if i < n else None,
            int(n_training[i]) if inside else 0,
            _classes(regions, i) if inside else "",
            float(low[i]) if inside else None,
            float(high[i]) if inside else None,
            *held.of(i),
        )

    return describe


@dataclass(frozen=True, eq=False)
class _HeldOutRows:
    """Held-out rows of each region; the last entry is of combinations unseen in training."""

    n_rows: IntArray
    n_accepted: IntArray
    n_right: IntArray | None
    trust: FloatArray

    @classmethod
    def count(
        cls, regions: IntArray, trust: FloatArray, accepted: BoolArray, right: BoolArray | None, n: int
    ) -> _HeldOutRows:
        region = np.where(regions < 0, n, regions)

        def total(weights: Any = None) -> Any:
            return np.bincount(region, weights=weights, minlength=n + 1)

        n_rows = total()
        n_right = None if right is None else total(right).astype(np.int64)
        return cls(n_rows, total(accepted).astype(np.int64), n_right, total(trust) / np.maximum(n_rows, 1))

    def of(self, i: int) -> tuple[int, int, int | None, float | None]:
        n_rows = int(self.n_rows[i])
        n_right = None if self.n_right is None else int(self.n_right[i])
        return n_rows, int(self.n_accepted[i]), n_right, float(self.trust[i]) if n_rows else None


def _classes(regions: Regions, i: int) -> str:
    """The classes in a region, the largest first, as in "benign: 311, malignant: 2"."""
    counts = regions.counts[i]
    order = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k] > 0]
    texts = [f"{name_of(regions.classes[k])}: {counts[k]:,}" for k in order[:NAMED_CLASSES]]
    rest = order[NAMED_CLASSES:]
    return ", ".join([*texts, *([f"{len(rest)} others: {int(counts[rest].sum()):,}"] if rest else [])])
