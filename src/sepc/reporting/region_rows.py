"""The regions of a partition as a table: their training rows, and how held-out rows turned out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.regions import Regions
from sepc.views.outcomes import region_name
from sepc.wording import name_of

N_REGIONS = 200
# At most this many classes of a region are named.
NAMED_CLASSES = 4


@dataclass(frozen=True)
class RegionRow:
    """One region.

    Attributes
    ----------
    region : int
        Its position in `regions_`; -1 is all combinations unseen in training together.
    name : str
        In words, by the numbers of its ellipsoids.
    label : str or None
        The label by the training rows there; None for -1, where it differs. With weights, single rows may get
        another.
    n_training : int
        Training rows; 0 for regions outside all ellipsoids.
    classes : str
        How many of them are of which class.
    low, high : float or None
        95 % credible interval of how often this label is right, from the training rows; None without any.
    n_rows, n_accepted : int
        Held-out rows.
    n_right : int or None
        Those with the right label.
    trust : float or None
        Their mean trust; None if there are none.
    """

    region: int
    name: str
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
    """The regions with the most held-out rows, then with the most training rows, and how many there are in all.

    `n_training` regions hold training rows, `n_used` hold held-out rows, and `n_all` hold either.
    """

    rows: tuple[RegionRow, ...]
    n_all: int
    n_training: int
    n_used: int


def region_table(
    decisions: SEPDecisions, accepted: BoolArray, right: BoolArray | None, regions: Regions
) -> RegionTable:
    """Every region that holds training rows or held-out rows, up to `N_REGIONS`."""
    n = len(regions)
    held = _Held.counted(decisions, accepted, right, n)
    is_inside = np.array([near is None for near in regions.near] + [False])
    n_training = np.append(np.where(is_inside[:-1], regions.counts.sum(axis=1), 0), 0)
    listed = np.flatnonzero((held.n_rows > 0) | (n_training > 0))
    order = listed[np.lexsort([-n_training[listed], -held.n_rows[listed]])][:N_REGIONS]
    low, high = regions.interval(0.95)
    rows = []
    for i in order.tolist():
        region = i if i < n else -1
        rows.append(
            RegionRow(
                region,
                region_name(regions, region, decisions.model.n_ellipsoids),
                name_of(regions.label[i]) if i < n else None,
                int(n_training[i]),
                _classes(regions, i) if is_inside[i] else "",
                float(low[i]) if is_inside[i] else None,
                float(high[i]) if is_inside[i] else None,
                *held.of(i),
            )
        )
    return RegionTable(tuple(rows), len(listed), int((n_training > 0).sum()), int((held.n_rows > 0).sum()))


@dataclass(frozen=True, eq=False)
class _Held:
    """Held-out rows of each region; the last entry is of combinations unseen in training."""

    n_rows: IntArray
    n_accepted: IntArray
    n_right: IntArray | None
    trust: FloatArray

    @classmethod
    def counted(cls, decisions: SEPDecisions, accepted: BoolArray, right: BoolArray | None, n: int) -> _Held:
        region = np.where(decisions.region < 0, n, decisions.region)

        def total(weights: Any = None) -> Any:
            return np.bincount(region, weights=weights, minlength=n + 1)

        n_rows = total()
        n_right = None if right is None else total(right).astype(np.int64)
        return cls(n_rows, total(accepted).astype(np.int64), n_right, total(decisions.trust) / np.maximum(n_rows, 1))

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
