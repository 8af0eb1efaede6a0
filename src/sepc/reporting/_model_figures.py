"""What a report shows of a model: what counts, its regions and their names, and how classes overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import Categories
from sepc.columns.preparation import Preparation, number_columns
from sepc.columns.table import is_table, with_columns
from sepc.decisions.decisions import Decisions
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.landscape.landscape import LandscapeFigures, class_overlaps
from sepc.model.names import conditions_of, meets, region_name
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Term
from sepc.statistics.rates import rate_interval
from sepc.views.log_odds import Contrast, Curve, contrast_of, curves_of, spreads_of
from sepc.views.outcomes import most_common
from sepc.wording import counted, interval, name_of, percent, short, visible, with_number

# Curves that are drawn; of a model with few features, all.
N_CURVES, FEW_FEATURES = 6, 9
# Terms shown for a row.
N_TERMS = 3
# Features named for each class, if there are more than two.
N_NAMED = 4


@dataclass(frozen=True)
class WhatCounts:
    """The most important features."""

    label: str
    against: str | None
    positions: tuple[int, int]
    curves: tuple[Curve, ...]
    n_features: int
    by_class: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
    gives_labels: bool


def what_counts(
    decisions: SEPDecisions,
    accepted: BoolArray,
    categories: Mapping[int, Categories],
    gives_labels: bool = True,
) -> WhatCounts | None:
    """The most important features of the model behind decisions; None if it has no weights."""
    model = decisions.model
    if model.weights is None or len(model.classes) < 2:
        return None
    contrast = contrast_of(model, _class_to_show(decisions, accepted))
    other = contrast.against
    return WhatCounts(
        label=name_of(model.classes[contrast.label]),
        against=None if other is None else name_of(model.classes[other]),
        positions=(contrast.label, -1 if other is None else other),
        curves=_curves(model, contrast, decisions.rows, categories),
        n_features=len(model.feature_names),
        by_class=_by_class(model, decisions.rows),
        gives_labels=gives_labels,
    )


def _curves(
    model: SEPModel, contrast: Contrast, rows: FloatArray, categories: Mapping[int, Categories]
) -> tuple[Curve, ...]:
    """The curves that vary most, then those of other monotone features; of a model with few features, all."""
    n = len(model.feature_names)
    most = curves_of(model, contrast, rows, most=n if n <= FEW_FEATURES else N_CURVES, categories=categories)
    signed = [] if model.alone is None else model.alone.features[model.alone.directions != 0].tolist()
    others = [j for j in signed if j not in {curve.feature for curve in most}]
    return (*most, *curves_of(model, contrast, rows, others))


def largest_terms(terms: Term) -> tuple[tuple[str, float], ...]:
    """The largest terms of a decision."""
    return tuple((name_of(name), float(value)) for name, value in terms.largest(N_TERMS)[:N_TERMS])


def _class_to_show(decisions: SEPDecisions, accepted: BoolArray) -> Any:
    """The class whose log-odds are shown; None for the default of two classes."""
    if len(decisions.model.classes) == 2:
        return None
    waiting = decisions.label[~accepted]
    return most_common(waiting if len(waiting) else decisions.label)


def _by_class(model: SEPModel, rows: FloatArray) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
    n_classes = len(model.classes)
    if n_classes == 2:
        return ()
    contrasts = np.column_stack([contrast_of(model, label).coefficients for label in model.classes.tolist()])
    spreads = spreads_of(model, contrasts, rows)
    features = []
    for k, label in enumerate(model.classes):
        most = np.argsort(-spreads[:, k], kind="stable")[:N_NAMED]
        features.append((name_of(label), tuple((name_of(model.feature_names[j]), float(spreads[j, k])) for j in most)))
    return tuple(features)


N_REGIONS = 100
# At most this many places outside are listed.
N_OUTSIDE = 20
# At most this many labels of a region are named.
NAMED_LABELS = 4


@dataclass(frozen=True)
class RegionRow:
    """One region, or one place outside all of them, and the held-out rows there; every figure is of these rows."""

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
    """The regions of a model that held-out rows lie in, and the places outside them where the others lie."""

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


def class_overlaps_of(X: Any, y: ArrayLike | None) -> tuple[LandscapeFigures | None, str]:
    """The overlaps of the classes and an empty text, or None and the reason why there are none."""
    if X is None or y is None:
        return None, "The landscape needs the training rows; give X_train and y_train."
    try:
        numbers, names = number_columns(X)
        if not names:
            return None, "There is no landscape of these training rows: they have no numeric column."
        complete = np.flatnonzero(~np.isnan(numbers).any(axis=1))
        table = with_columns(X, names) if is_table(X) else numbers
        return class_overlaps(_safe_indexing(table, complete), _safe_indexing(y, complete)), ""
    except ValueError as error:
        return None, f"There is no landscape of these training rows: {error}"


# Longer names of regions are cut.
LONGEST_REGION = 120
# A name is of conditions that more than this share of the rows meet together.
HALF = 0.5


def names_of_regions(partition: SEPDecisions) -> dict[int, str]:
    """The regions that rows lie in, in words that hold for all these rows, or for the share said with "mostly"."""
    model, rows, missing = partition.model, partition.watched_rows, partition.missing
    d = missing.shape[1]
    restored = None if model.usual is None else model.usual.in_own_units(rows[:, :d])
    values = np.where(missing, np.nan, rows[:, :d] if restored is None else restored)
    rows = np.column_stack([values, rows[:, d:]])
    order = np.argsort(partition.region, kind="stable")
    regions, starts = np.unique(partition.region[order], return_index=True)
    names = {
        region: _name_that_holds(model, region, rows[own])
        for region, own in zip(regions.tolist(), np.split(order, starts[1:]), strict=True)
    }
    times = Counter(names.values())
    return {region: with_number(name, region) if times[name] > 1 else name for region, name in names.items()}


def _name_that_holds(model: SEPModel, region: int, rows: FloatArray) -> str:
    """The conditions of a region's name that most of these rows meet together, and how many do if not all."""
    conditions = {one.text: meets(model, rows, one) for one in conditions_of(model, region)}
    if not conditions:
        return short(visible(region_name(model, region)), LONGEST_REGION)
    while (share := float(np.all([np.ones(len(rows)), *conditions.values()], axis=0).mean())) <= HALF:
        del conditions[min(conditions, key=lambda text: int(conditions[text].sum()))]
    words = short(visible(", ".join(conditions) or f"region {region}"), LONGEST_REGION)
    n = int(model.table.memberships[region].sum()) if region < len(model.table.counts) else 0
    where = f" (where {n} overlap)" if n > 1 else "" if n else " (outside all groups)"
    return f"{'' if share == 1.0 else f'mostly ({percent(share, 0)}) '}{words}{where}"


def category_positions(preparation: Preparation | None) -> tuple[int, ...]:
    """Positions of the features that stand for categories."""
    if preparation is None:
        return ()
    return tuple(j for j, (column, _) in enumerate(preparation.features) if column in preparation.categories)
