"""Names of ellipsoids and regions: the ranges of the features that set them apart.

An ellipsoid is named by the features whose usual range in it is narrow compared to all training rows, such as "worst
area ≥ 900, worst texture ≥ 25". A region that lies in several ellipsoids is named by what their ranges have in common.
Names follow from what a model stores, so they are the same after saving and loading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import ANYWHERE, FeatureKind, TrainingSummary
from sepc.wording import calendar_day, name_of, quantity, short

# A name has two conditions, or three if that is needed to tell two names apart.
N_CONDITIONS, MOST_CONDITIONS = 2, 3
# Further conditions are added only if at most this share of all training rows meets them.
WORTH = 0.65
# The same where two names would otherwise be equal.
WORTH_TELLING_APART = 0.9
# A range that leaves out at most this share of all rows on one side is open to that side.
OPEN_TAIL = 0.1
# Ends of ranges are rounded to a power of ten below this share of the spread of a feature.
ROUNDED_TO = 0.1
# Values this close to a training value, as a share of the range, differ from it by rounding or a small thickness.
SAME_VALUE = 1e-4
# Values are compared with the ends of ranges up to this share of themselves, since a pipeline restores them inexactly.
ROUNDING = 1e-9
LONGEST_FEATURE = 40

UNSEEN_COMBINATION = "a combination not seen in training"
NO_REGION = "no region"
SINGLE_CASES = "single training cases"

# Rows are described by their most frequent categories, if at most this many make up this share of the rows.
MOST_CATEGORIES, MOST_OF_THEM = 2, 0.8


class Condition(NamedTuple):
    """What a name says of one feature: the range that it gives, or the codes of the categories."""

    text: str
    feature: int
    low: float = -np.inf
    high: float = np.inf
    codes: tuple[int, ...] = ()


class Names(NamedTuple):
    """The names of a model's ellipsoids, and of its regions that training rows lie in, with their conditions."""

    ellipsoids: tuple[str, ...]
    inside: tuple[str, ...]
    conditions: tuple[tuple[Condition, ...], ...]
    conditions_inside: tuple[tuple[Condition, ...], ...]


_KNOWN: WeakKeyDictionary[SEPModel, Names] = WeakKeyDictionary()


def region_name(model: SEPModel, region: int) -> str:
    """The name of a region, given its number in `SEPClassifier.regions_`, -1 or -2; unique among those of its model."""
    if region < 0:
        return UNSEEN_COMBINATION if region == -1 else NO_REGION
    names, place = names_of(model), region - len(model.table.counts)
    if place < 0:
        return names.inside[region]
    if place < model.n_ellipsoids:
        return f"around {names.ellipsoids[place]}"
    return _isolated_name(model, place - model.n_ellipsoids)


def names_of(model: SEPModel) -> Names:
    """The names of a model, built on first use; no two are the same."""
    if model not in _KNOWN:
        _KNOWN[model] = _name_all(model)
    return _KNOWN[model]


def conditions_of(model: SEPModel, region: int) -> tuple[Condition, ...]:
    """The conditions in the name of a region or, outside all ellipsoids, of the nearest one."""
    names, place = names_of(model), region - len(model.table.counts)
    if region < 0 or place >= model.n_ellipsoids:
        return ()
    return names.conditions_inside[region] if place < 0 else names.conditions[place]


def meets(model: SEPModel, rows: FloatArray, condition: Condition) -> BoolArray:
    """Which rows meet a condition; they are in the features that names are written in, followed by category codes."""
    values, usual = rows[:, condition.feature], model.usual
    assert usual is not None
    if condition.codes:
        codes = rows[:, len(model.shift) + usual.code_column(condition.feature)]
        return np.isin(codes, condition.codes) & ~np.isnan(values)
    values = np.floor(values) if usual.displays[condition.feature].kind is FeatureKind.DATE else values
    slack = ROUNDING * np.abs(values)
    return np.asarray((values >= condition.low - slack) & (values <= condition.high + slack))


def feature_name(model: SEPModel, j: int) -> str:
    """The name of a feature, shortened if it is long, for reasons and for the names of regions."""
    return short(name_of(model.feature_names[j]), LONGEST_FEATURE)


def value_in_words(usual: TrainingSummary, j: int, value: float) -> str:
    """The value of a numeric or date feature as text."""
    return calendar_day(value) if usual.displays[j].kind is FeatureKind.DATE else quantity(value)


def _name_all(model: SEPModel) -> Names:
    sets = [np.flatnonzero(row).tolist() for row in model.table.memberships]
    alone = _conditions(model, [[k] for k in range(model.n_ellipsoids)])
    shared = iter(_conditions(model, [ellipsoids for ellipsoids in sets if len(ellipsoids) > 1]))
    plain = [_joined(conditions, [k]) for k, conditions in enumerate(alone)]
    times, labels = Counter(plain), model.classes[model.owners]
    pairs = zip(plain, labels, strict=True)
    unique = _make_unique([f"{name} ({name_of(label)})" if times[name] > 1 else name for name, label in pairs])
    inside, names = [], []
    for ellipsoids in sets:
        n = len(ellipsoids)
        inside.append(next(shared) if n > 1 else alone[ellipsoids[0]] if n else ())
        overlapping = f"{_joined(inside[-1], ellipsoids)} (where {n} overlap)"
        names.append(overlapping if n > 1 else unique[ellipsoids[0]] if n else SINGLE_CASES)
    return Names(unique, _make_unique(names), tuple(alone), tuple(inside))


def _joined(conditions: Sequence[Condition], ellipsoids: Sequence[int]) -> str:
    return ", ".join(one.text for one in conditions) or f"ellipsoid {' and '.join(map(str, ellipsoids))}"


def _isolated_name(model: SEPModel, i: int) -> str:
    """An isolated row by its label, its number among all of them, and its two values that are rarest in training."""
    name, usual = f"near single {name_of(model.classes[model.isolated_owners[i]])} case {i + 1}", model.usual
    if usual is None:
        return name
    standard = model.shift + model.scale * model.with_alone(model.isolated[i : i + 1])[0]
    restored = usual.in_own_units(standard[None, :])
    values = standard if restored is None else restored[0]
    thickness = SAME_VALUE * _spread(usual)
    box = _UsualRanges(usual, (values - thickness)[None], (values + thickness)[None], np.empty((1, 0)))
    # The share of all rows that lie at least as far out, on the nearer side.
    rarity = 1.0 - np.maximum(box.below[0], box.above[0])
    rarity[[display.kind is not FeatureKind.NUMBER for display in usual.displays]] = np.inf
    rarity[~model.is_placed] = np.inf
    rare = [j for j in np.argsort(rarity, kind="stable")[:N_CONDITIONS].tolist() if rarity[j] < np.inf]
    shown = [f"{feature_name(model, j)} {value_in_words(usual, j, _as_in_training(usual, j, values[j]))}" for j in rare]
    return name + (f" ({', '.join(shown)})" if shown else "")


def _as_in_training(usual: TrainingSummary, j: int, value: float) -> float:
    """Undo the rounding of a value that was standardised and converted back."""
    known = usual.overall[j]
    nearest = float(known[np.abs(known - value).argmin()])
    return nearest if abs(nearest - value) <= SAME_VALUE * float(_spread(usual)[j]) else float(value)


def _spread(usual: TrainingSummary) -> FloatArray:
    """The range of every feature in training."""
    return np.asarray(usual.overall[:, -1] - usual.overall[:, 0])


def _conditions(model: SEPModel, sets: Sequence[Sequence[int]]) -> list[tuple[Condition, ...]]:
    """What sets of ellipsoids are named by: two conditions, or three where two names would be the same."""
    if model.usual is None or not sets:
        return [()] * len(sets)
    boxes = _usual_ranges(model, model.usual, sets)
    # Ellipsoids have no bounds in standalone features, so these do not name them.
    share = np.where(model.is_placed, boxes.share, np.inf)
    order = np.argsort(share, axis=1, kind="stable")[:, : min(MOST_CONDITIONS, len(model.placed))]
    rarest = order.tolist()
    named = [_chosen(model, boxes, i, features[:N_CONDITIONS], WORTH) for i, features in enumerate(rarest)]
    times = Counter(tuple(one.text for one in conditions) for conditions in named)
    return [
        _chosen(model, boxes, i, rarest[i], WORTH_TELLING_APART)
        if times[tuple(one.text for one in conditions)] > 1
        else conditions
        for i, conditions in enumerate(named)
    ]


def _chosen(
    model: SEPModel, boxes: _UsualRanges, i: int, features: Sequence[int], worth: float
) -> tuple[Condition, ...]:
    """The first of these conditions of box `i`, and those of the others that at most a share `worth` of rows meets."""
    # A feature that says nothing, such as one whose rows have many categories, has an infinite share.
    shares = [(j, boxes.share[i, j], np.inf if j == features[0] else worth) for j in features]
    return tuple(_condition(model, boxes, i, j) for j, share, most in shares if share < np.inf and share <= most)


def _condition(model: SEPModel, boxes: _UsualRanges, i: int, j: int) -> Condition:
    """What the rows of box `i` have in common in feature `j`."""
    usual, name = boxes.usual, feature_name(model, j)
    if j in boxes.categories:
        codes = boxes.categories[j][i].tolist()
        named = " or ".join(short(usual.displays[j].categories[code], LONGEST_FEATURE) for code in codes)
        return Condition(f"{name} {named}", j, codes=tuple(codes))
    (low, least), (high, most) = (_rounded_end(usual, j, float(ends[i, j])) for ends in (boxes.low, boxes.high))
    is_open_below, is_open_above = boxes.below[i, j] <= OPEN_TAIL, boxes.above[i, j] <= OPEN_TAIL
    if is_open_above and not is_open_below:
        return Condition(f"{name} ≥ {low}", j, low=least)
    if is_open_below and not is_open_above:
        return Condition(f"{name} ≤ {high}", j, high=most)
    return Condition(f"{name} {low}" if low == high else f"{name} {low} to {high}", j, least, most)


def _rounded_end(usual: TrainingSummary, j: int, end: float) -> tuple[str, float]:
    """The end of a range, rounded to a tenth of the spread of the feature or finer: as text, and as a number."""
    values = usual.overall[j]
    tenth = len(values) // 10
    spread = float(values[-1 - tenth]) - float(values[tenth])
    if not 0.0 < spread < np.inf:
        rounded = _as_in_training(usual, j, end)
    else:
        rounded = round(end, -int(np.floor(np.log10(spread * ROUNDED_TO))))
    text = value_in_words(usual, j, rounded)
    is_day = usual.displays[j].kind is FeatureKind.DATE
    return text, float(np.floor(rounded)) if is_day else float(text.replace(",", ""))


def _make_unique(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with a number after those already taken."""
    unique: dict[str, None] = {}
    times: Counter[str] = Counter()
    for name in names:
        free = name
        while free in unique:
            times[name] += 1
            free = f"{name} ({times[name] + 1})"
        unique[free] = None
    return tuple(unique)


@dataclass(frozen=True, eq=False)
class _UsualRanges:
    """Usual values in several sets of ellipsoids: a box for each set."""

    usual: TrainingSummary
    low: FloatArray
    high: FloatArray
    category_shares: FloatArray

    @cached_property
    def below(self) -> FloatArray:
        """The share of all training rows below each range, of shape (n, d)."""
        pairs = zip(self.usual.overall, self.low.T, strict=True)
        return self._shares([np.searchsorted(quantiles, ends) for quantiles, ends in pairs])

    @cached_property
    def above(self) -> FloatArray:
        """The share of all training rows above each range, of shape (n, d)."""
        pairs = zip(self.usual.overall, self.high.T, strict=True)
        return 1.0 - self._shares([np.searchsorted(quantiles, ends, side="right") for quantiles, ends in pairs])

    @cached_property
    def categories(self) -> dict[int, list[IntArray]]:
        """For each categorical feature and each box, the few categories that most rows have; empty if it takes many."""
        return {j: [_frequent(shares) for shares in self._of_feature(j)] for j in self.usual.category_features}

    @cached_property
    def share(self) -> FloatArray:
        """The share of all training rows in the range or categories of each feature; infinite if it has neither."""
        share = 1.0 - self.below - self.above
        share[:, [j for j, display in enumerate(self.usual.displays) if display.kind is FeatureKind.PART]] = np.inf
        for j, chosen in self.categories.items():
            everyone = self._everyone(j)
            share[:, j] = [everyone[codes].sum() if len(codes) else np.inf for codes in chosen]
        return share

    def _shares(self, places: list[IntArray]) -> FloatArray:
        return np.asarray(np.array(places).T / self.usual.overall.shape[1])

    def _of_feature(self, j: int) -> FloatArray:
        return np.asarray(self.category_shares[:, self.usual.categories_of(j)])

    def _everyone(self, j: int) -> FloatArray:
        """How frequent each category of a feature is among all rows of the sample."""
        groups = np.flatnonzero(self.usual.ellipsoid == ANYWHERE)
        counts = self.usual.category_counts[groups][:, self.usual.categories_of(j)].sum(axis=0)
        return np.asarray(counts / self.usual.n_rows[groups].sum())


def _usual_ranges(model: SEPModel, usual: TrainingSummary, sets: Sequence[Sequence[int]]) -> _UsualRanges:
    """The usual ranges of sets of ellipsoids: where their ranges intersect or, if they do not, what lies between."""
    K, d = model.n_ellipsoids, len(model.feature_names)
    ranges = np.array([_range(model, usual, k) for k in range(K)]).reshape(K, d, 2)
    low = np.array([ranges[ellipsoids, :, 0].max(axis=0) for ellipsoids in sets]).reshape(-1, d)
    high = np.array([ranges[ellipsoids, :, 1].min(axis=0) for ellipsoids in sets]).reshape(-1, d)
    shares = np.array([_category_shares(usual, k, int(model.owners[k])) for k in range(K)])
    mixed = np.array([shares[ellipsoids].mean(axis=0) for ellipsoids in sets]).reshape(len(sets), -1)
    return _UsualRanges(usual, np.minimum(low, high), np.maximum(low, high), mixed)


def _range(model: SEPModel, usual: TrainingSummary, k: int) -> FloatArray:
    """The usual ranges in an ellipsoid, or those of its shape if it has too few rows, of shape (d, 2)."""
    group = usual.group(k, int(model.owners[k]))
    if group is not None:
        return np.asarray(usual.ranges[group])
    reach = np.linalg.norm(np.linalg.inv(model.roots[k]), axis=1)
    sides = np.array([model.centers[k] - reach, model.centers[k] + reach])
    ends = model.shift + model.scale * model.with_alone(sides)
    restored = usual.in_own_units(ends)
    return np.sort((ends if restored is None else restored).T, axis=1)


def _category_shares(usual: TrainingSummary, k: int, owner: int) -> FloatArray:
    group = usual.group(k, owner)
    if group is None:
        return np.full(usual.category_counts.shape[1], np.nan)
    return np.asarray(usual.category_counts[group] / usual.n_rows[group])


def _frequent(shares: FloatArray) -> IntArray:
    order = np.argsort(-shares, kind="stable")
    n_needed = int(np.searchsorted(np.cumsum(shares[order]), MOST_OF_THEM)) + 1
    return order[: n_needed if n_needed <= MOST_CATEGORIES and not np.isnan(shares).any() else 0]
