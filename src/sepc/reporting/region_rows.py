"""The regions of a partition as a table: how the held-out rows in each of them turned out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.sep_model import SEPModel
from sepc.statistics.binomial import rate_interval
from sepc.wording import counted, interval, name_of, percent

N_REGIONS = 100
# At most this many places outside are listed.
N_OUTSIDE = 20
# At most this many labels of a region are named.
NAMED_LABELS = 4


@dataclass(frozen=True)
class RegionRow:
    """One region, or one place outside all of them, and the held-out rows there; every figure is of these rows.

    Attributes
    ----------
    region : int
        Its position in `regions_`; -1 is all combinations unseen in training together.
    name : str
        In words that hold for all the rows, or for the share that it states.
    ellipsoids : tuple of int
        The ellipsoids of the region; for a place outside, the nearest one, if that is an ellipsoid.
    labels : str
        How many rows get each label.
    n_rows, n_accepted : int
    n_right : int or None
        Those with the right label.
    low, high : float or None
        95 % confidence interval of the share with the right label.
    trust : float
        Their mean trust.
    """

    region: int
    name: str
    ellipsoids: tuple[int, ...]
    labels: str
    n_rows: int
    n_accepted: int
    n_right: int | None
    low: float | None
    high: float | None
    trust: float

    @property
    def right(self) -> tuple[str, str] | None:
        """The share with the right label and its interval, in words; None without true labels."""
        if self.n_right is None or self.low is None or self.high is None:
            return None
        return percent(self.n_right / self.n_rows), interval(self.low, self.high)


@dataclass(frozen=True)
class RegionTable:
    """The regions of a model that held-out rows lie in, and the places outside them where the others lie.

    Attributes
    ----------
    n_regions : int
        How many regions the model has: combinations of ellipsoids in which training rows lie.
    rows : tuple of RegionRow
        Those with the most held-out rows, of `n_used` that have any.
    n_used : int
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
        model, rows = f"The model has {counted(self.n_regions, 'region')}", counted(self.n_rows, "held-out row")
        if not self.n_rows_inside:
            return f"{model}. None of {rows} lies in one of them, so nothing is known of them here."
        if self.n_used < self.n_regions:
            have, are = ("has", "this one is") if self.n_used == 1 else ("have", "these are")
            model += f"; {self.n_used:,} {have} held-out rows, and only {are} listed"
        others = "; the others lie outside" if self.n_rows_outside else ""
        return f"{model}. Held-out rows in regions: {self.n_rows_inside:,} of {self.n_rows:,}{others}."


def region_table(
    partition: SEPDecisions,
    decisions: Decisions,
    accepted: BoolArray,
    right: BoolArray | None,
    names: Mapping[int, str],
) -> RegionTable:
    """The regions of the partition behind some decisions, up to `N_REGIONS`, and what lies outside them."""
    table = partition.model.table
    order = np.argsort(partition.region, kind="stable")
    regions, starts, n_rows = np.unique(partition.region[order], return_index=True, return_counts=True)
    is_inside = (regions >= 0) & (regions < len(table.counts))
    is_inside[is_inside] = table.memberships[regions[is_inside]].any(axis=1)
    rows_of = dict(zip(regions.tolist(), np.split(order, starts[1:]), strict=True))

    def described(some: BoolArray, most: int) -> tuple[RegionRow, ...]:
        largest = regions[some][np.argsort(-n_rows[some], kind="stable")][:most].tolist()
        return tuple(_describe(partition.model, r, names[r], rows_of[r], decisions, accepted, right) for r in largest)

    return RegionTable(
        n_regions=table.n_regions,
        rows=described(is_inside, N_REGIONS),
        n_used=int(is_inside.sum()),
        outside=described(~is_inside, N_OUTSIDE),
        n_outside=int((~is_inside).sum()),
        n_rows=len(decisions),
        n_rows_outside=int(n_rows[~is_inside].sum()),
    )


def _describe(
    model: SEPModel,
    region: int,
    name: str,
    rows: IntArray,
    decisions: Decisions,
    accepted: BoolArray,
    right: BoolArray | None,
) -> RegionRow:
    place = region - len(model.table.counts)
    inside = np.flatnonzero(model.table.memberships[region]) if 0 <= region < len(model.table.counts) else ()
    n_right = None if right is None else int(right[rows].sum())
    low, high = (None, None) if n_right is None else map(float, rate_interval(n_right, len(rows)))
    return RegionRow(
        region=region,
        name=name,
        ellipsoids=(place,) if 0 <= place < model.n_ellipsoids else tuple(map(int, inside)),
        labels=_labels(np.asarray(decisions.label)[rows]),
        n_rows=len(rows),
        n_accepted=int(accepted[rows].sum()),
        n_right=n_right,
        low=low,
        high=high,
        trust=float(decisions.trust[rows].mean()),
    )


def _labels(labels: NDArray[Any]) -> str:
    """How often each label occurs, the most frequent first, as in "benign: 311, malignant: 2"."""
    values, counts = np.unique(labels, return_counts=True)
    order = np.argsort(-counts, kind="stable").tolist()
    texts = [f"{name_of(values[k])}: {counts[k]:,}" for k in order[:NAMED_LABELS]]
    rest = order[NAMED_LABELS:]
    return ", ".join([*texts, *([f"{len(rest)} others: {int(counts[rest].sum()):,}"] if rest else [])])
