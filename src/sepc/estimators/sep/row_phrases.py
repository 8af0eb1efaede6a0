"""Values of rows and the terms behind their labels, in words for reasons and letters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.letter import Grounds, Words
from sepc.model.membership import FARTHEST, tiles_of_squared_radii
from sepc.model.names import feature_name, value_in_words
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Terms
from sepc.model.training_summary import ANYWHERE, FeatureKind, TrainingSummary
from sepc.wording import cases_of, name_of, percent, short

LONGEST_CATEGORY = 30
# A value favours a class if it is this many times as frequent there.
CLEARLY_MORE = 1.5
# Values with a smaller share are unusual.
RARE = 0.05


@dataclass(frozen=True, eq=False)
class RowPhrases:
    """Phrases about the features of rows, with what they need computed once for all rows."""

    model: SEPModel
    usual: TrainingSummary
    rows: FloatArray

    @cached_property
    def gauges(self) -> FloatArray:
        """The gauge of every row in every ellipsoid, of shape (n, K)."""
        return gauges_of(self.model, self.rows)

    @cached_property
    def nearest(self) -> IntArray:
        """The ellipsoid where each row lies deepest, or that is nearest to it; -1 if there are none."""
        return self.gauges.argmin(axis=1) if self.model.n_ellipsoids else np.full(len(self.rows), ANYWHERE)

    def value(self, i: int, j: int) -> str:
        """A feature and its value; the name alone if the value is not known in the user's own units."""
        if self._is_category(j):
            names, code = self.usual.displays[j].categories, self._code(i, j)
            category = short(names[code], LONGEST_CATEGORY) if code < len(names) else "unknown"
            return f"{self.names[j]} {category}"
        return self.names[j] if self._restored is None else f"{self.names[j]} {self._in_words(j, self._restored[i, j])}"

    def groups(self, owner: int) -> IntArray:
        """For every row the group of a class most like it: where it lies deepest, or else the nearest."""
        if owner not in self._groups:
            around, every = self.usual.ellipsoids_of(owner), self.usual.group(ANYWHERE, owner)
            assert every is not None  # Every class has a group of all its rows.
            known = np.array([self.usual.group(int(k), owner) for k in around] or [every])
            place = self.gauges[:, around].argmin(axis=1) if len(around) else np.zeros(len(self.rows), dtype=np.int64)
            self._groups[owner] = known[place]
        return self._groups[owner]

    def group_around(self, i: int, owner: int) -> int:
        """The group of the nearest ellipsoid; that of a class if there is none."""
        if not self.model.n_ellipsoids:
            return int(self.groups(owner)[i])
        nearest = int(self.nearest[i])
        group = self.usual.group(nearest, int(self.model.owners[nearest]))
        return int(self.groups(int(self.model.owners[nearest]))[i]) if group is None else group

    def usual_for(self, i: int, j: int, owner: int, is_first: bool) -> str:
        """What is usual for cases of a class like a row; empty if that is not known."""
        group = int(self.groups(owner)[i])
        label, share = self.model.classes[owner], self._share(i, j, group)
        like_it = " like it" if is_first and self.usual.ellipsoid[group] != ANYWHERE else ""
        if share is not None:
            return f"{percent(share, 0)} of {cases_of(label, like_it) if is_first else name_of(label)}"
        if self._restored is None:
            return ""
        others = name_of(label) if isinstance(label, str) else f"of {name_of(label)}:"
        return f"{cases_of(label, like_it) if is_first else others} {self._usual_range(j, group)}"

    def usual_among(self, i: int, j: int, owner: int) -> tuple[str, bool]:
        """The usual range for cases of a class like a row, or the share with its value, and whether it is a share."""
        group = int(self.groups(owner)[i])
        share = self._share(i, j, group)
        if share is not None:
            return percent(share, 0), True
        return ("" if self._restored is None else self._usual_range(j, group)), False

    def shows(self, i: int, j: int, owner: int, other: int) -> int:
        """1 if the value is more typical of the first class, 0 if about equally typical of both, -1 otherwise."""
        like_it, unlike_it = int(self.groups(owner)[i]), int(self.groups(other)[i])
        share, rival = self._share(i, j, like_it), self._share(i, j, unlike_it)
        if share is None or rival is None:
            near, apart = self._distance(i, j, like_it), self._distance(i, j, unlike_it)
            return int(near < apart) if near < apart or near == 0.0 else -1
        if share == 0.0 or rival >= CLEARLY_MORE * share:
            return -1
        return int(share >= CLEARLY_MORE * rival)

    def is_outside(self, i: int, j: int, group: int) -> bool:
        """Whether the value is not usual in a group."""
        share = self._share(i, j, group)
        return share < RARE if share is not None else self._distance(i, j, group) > 0.0

    def set_against_all(self, i: int, j: int, nearest: int, is_first: bool) -> str:
        """A feature, its value and the range of all training cases or, within that range, what is usual in a group."""
        share = self._share(i, j, nearest)
        if share is not None:
            return f"{self.value(i, j)} ({percent(share, 0)} of the nearest{' cases' if is_first else ''})"
        if self._restored is None:
            return self.names[j]
        lowest, highest = self.usual.overall[j, 0], self.usual.overall[j, -1]
        if not lowest <= self._restored[i, j] <= highest:
            everyone = "all training cases" if is_first else "all cases"
            return f"{self.value(i, j)} ({everyone} {self._range(j, lowest, highest)})"
        return f"{self.value(i, j)} ({'the nearest cases' if is_first else 'nearest'} {self._usual_range(j, nearest)})"

    @cached_property
    def names(self) -> list[str]:
        """The names of all features."""
        return [feature_name(self.model, j) for j in range(len(self.model.feature_names))]

    @cached_property
    def _groups(self) -> dict[int, IntArray]:
        return {}

    @cached_property
    def _restored(self) -> FloatArray | None:
        """The rows in the user's own features; None if these cannot be restored."""
        return self.usual.in_own_units(self.rows[:, : len(self.usual.displays)])

    def _distance(self, i: int, j: int, group: int) -> float:
        """How far the value lies outside the usual range of a group, infinite on overflow; 0 within."""
        low, high = map(float, self.usual.ranges[group, j])
        # If the rows cannot be restored, ranges are in the model's features too.
        value = float(self.rows[i, j] if self._restored is None else self._restored[i, j])
        return max(low - value, value - high, 0.0)

    def _share(self, i: int, j: int, group: int) -> float | None:
        """How frequent the value is in a group; None if the feature has many values."""
        if self._is_category(j):
            return self.usual.category_share(group, j, self._code(i, j))
        return self.usual.level_share(group, j, float(self.rows[i, j]))

    def _usual_range(self, j: int, group: int) -> str:
        return self._range(j, *self.usual.ranges[group, j])

    def _range(self, j: int, low: float, high: float) -> str:
        first, last = self._in_words(j, low), self._in_words(j, high)
        return first if first == last else f"{first} to {last}"

    def _in_words(self, j: int, value: float) -> str:
        return value_in_words(self.usual, j, float(value))

    def _is_category(self, j: int) -> bool:
        return self.usual.displays[j].kind is FeatureKind.CATEGORY

    def _code(self, i: int, j: int) -> int:
        return int(self.rows[i, len(self.usual.displays) + self.usual.code_column(j)])


def gauges_of(model: SEPModel, rows: FloatArray) -> FloatArray:
    """The gauge of every row in every ellipsoid, of shape (n, K)."""
    gauges = np.empty((len(rows), model.n_ellipsoids))
    for place, squared in tiles_of_squared_radii(model.place(rows), model.stack):
        gauges[place] = np.sqrt(squared)
    return gauges


def missing_columns(model: SEPModel, missing: BoolArray) -> list[str]:
    """The names of the columns of which features are missing; `missing` is of shape (d,)."""
    return [name_of(model.feature_names[j]) for j in np.unique(model.column_of[missing])]


def summed_by_column(values: FloatArray, known: BoolArray, column_of: IntArray) -> FloatArray:
    """Values of features, of shape (n, d), summed by column at its first feature; unknown columns are 0."""
    summed = np.zeros_like(values)
    np.add.at(summed.T, column_of, np.where(known, values, 0.0).T)
    return summed


# Columns with a smaller share of the distance are not mentioned.
LEAST_SHARE = 0.05


def separating_features(phrases: RowPhrases, i: int, known: BoolArray, runner_up: int) -> list[int]:
    """Columns that keep a row out of the runner-up's nearest ellipsoid, strongest first; empty if it lies inside."""
    ellipsoids = np.flatnonzero(phrases.model.owners == runner_up)
    if len(ellipsoids) == 0:
        return []
    nearest = int(ellipsoids[phrases.gauges[i, ellipsoids].argmin()])
    if phrases.gauges[i, nearest] <= 1.0 + phrases.model.slack:
        return []
    return _rank_columns(feature_shares(phrases.model, phrases.rows[i], nearest), known, phrases)


def unusual_features(phrases: RowPhrases, i: int, known: BoolArray) -> list[int]:
    """Columns that keep a row out of the nearest ellipsoid or, without ellipsoids, off the mean; strongest first."""
    model = phrases.model
    if model.alone is not None and (beyond := model.alone_gauges(phrases.rows[i : i + 1])[0] - 1.0).any():
        shares = np.zeros(len(model.shift))
        shares[model.alone.features] = np.minimum(beyond, FARTHEST)
        return _rank_columns(shares / shares.sum(), known, phrases)
    if model.n_ellipsoids:
        return _rank_columns(feature_shares(model, phrases.rows[i], int(phrases.nearest[i])), known, phrases)
    apart = np.minimum(np.abs(model.standardize(phrases.rows[i : i + 1])[0]), FARTHEST) * model.is_placed
    return _rank_columns(apart / (apart.sum() or 1.0), known, phrases)


def _rank_columns(shares: FloatArray, known: BoolArray, phrases: RowPhrases) -> list[int]:
    """Columns, as their first features, by the sum of the shares of their features; missing ones are left out."""
    summed = summed_by_column(shares[None], known[None], phrases.model.column_of)[0]
    order = np.argsort(-summed, kind="stable")
    return [int(j) for j in order if summed[j] >= LEAST_SHARE and known[j]]


def feature_shares(model: SEPModel, row: FloatArray, k: int) -> FloatArray:
    """The share of each feature in the squared radius of `row` in ellipsoid `k`."""
    offset = np.clip(model.place(row[None, :])[0] - model.centers[k], -FARTHEST, FARTHEST)
    offset /= np.abs(offset).max() or 1.0
    terms = np.maximum(offset * (model.roots[k].T @ (model.roots[k] @ offset)), 0.0)
    shares = np.zeros(len(model.shift))
    shares[model.placed] = terms / (terms.sum() or 1.0)
    return shares


# The named terms make up at least this share of the sum of all sizes, unless that takes more than this many.
COVERED, MOST_TERMS = 0.7, 8
# With more columns than this, fewer terms are named, to keep reasons readable.
MANY_COLUMNS, FEWER_TERMS = 20, 5
# A smaller term would be shown as zero.
LEAST_TERM = 0.005
# Up to this gauge a row is near an ellipsoid.
NEAR = 2.0


class NamedTerm(NamedTuple):
    """A term of one decision: a column, given as its first feature, or the place among groups and single cases."""

    feature: int | None
    value: float


class Group(NamedTuple):
    """An ellipsoid that counts for the place of a row, and the row's relation to it: in, near or outside."""

    ellipsoid: int
    relation: str


@dataclass(frozen=True, eq=False)
class NamedTerms:
    """The terms of decisions, summed by column, with one sum for all ellipsoids and isolated rows: the place."""

    terms: Terms
    phrases: RowPhrases

    @cached_property
    def columns(self) -> IntArray:
        """The first feature of each column."""
        return np.unique(self.terms.model.column_of)

    @cached_property
    def sizes(self) -> FloatArray:
        """The terms of all columns, and the place, of shape (n, columns + 1)."""
        known = np.ones(self.terms.features.shape, dtype=bool)
        by_column = summed_by_column(self.terms.features, known, self.terms.model.column_of)[:, self.columns]
        return np.column_stack([by_column, self.terms.ellipsoids.sum(axis=1) + self.terms.isolated])

    def named(self, i: int, is_refused: bool) -> list[NamedTerm]:
        """The terms to name for a row, the largest first."""
        sizes = self.sizes[i]
        order = np.argsort(-np.abs(sizes), kind="stable")
        so_far = np.cumsum(np.abs(sizes[order]))
        most = MOST_TERMS if len(self.columns) <= MANY_COLUMNS else FEWER_TERMS
        n_named = min(int((so_far < COVERED * so_far[-1]).sum()) + 1, most)
        best, worst = int(sizes.argmax()), int(sizes.argmin())
        chosen = set(order[:n_named].tolist()) | ({best} if sizes[best] > 0.0 else set())
        if is_refused and sizes[worst] < 0.0:
            chosen.add(worst)
        return [self._term(i, j) for j in order.tolist() if j in chosen and abs(sizes[j]) >= LEAST_TERM]

    def largest(self, i: int) -> list[NamedTerm]:
        """All terms of a row that are not too small to be shown, the largest first."""
        order = np.argsort(-np.abs(self.sizes[i]), kind="stable").tolist()
        return [self._term(i, j) for j in order if abs(self.sizes[i, j]) >= LEAST_TERM]

    def extremes(self, i: int) -> tuple[NamedTerm | None, NamedTerm | None]:
        """The largest term for the label of a row, and the largest against it, if any."""
        sizes = self.sizes[i]
        best, worst = int(sizes.argmax()), int(sizes.argmin())
        return (
            self._term(i, best) if sizes[best] >= LEAST_TERM else None,
            self._term(i, worst) if sizes[worst] <= -LEAST_TERM else None,
        )

    def _term(self, i: int, j: int) -> NamedTerm:
        feature = int(self.columns[j]) if j < len(self.columns) else None
        return NamedTerm(feature, float(self.sizes[i, j]))

    def rest(self, i: int, named: list[NamedTerm]) -> tuple[int, float]:
        """How many other columns there are, and what they and the place, if it is not named, add together."""
        n_features = sum(term.feature is not None for term in named)
        return len(self.columns) - n_features, float(self.sizes[i].sum() - sum(term.value for term in named))

    def group(self, i: int, label: int, runner_up: int) -> Group | None:
        """The ellipsoid that adds most to a row's place term, if its relation to the row explains the sign."""
        by_ellipsoid = self.terms.ellipsoids[i]
        place = float(self.sizes[i, -1])
        toward = by_ellipsoid * np.sign(place)
        if abs(float(self.terms.isolated[i])) > toward.max(initial=0.0):
            return None
        favoured, other = (label, runner_up) if place > 0.0 else (runner_up, label)
        gauges = self.phrases.gauges[i]
        inside, mostly = gauges <= 1.0 + self.phrases.model.slack, self.counts.argmax(axis=1)
        explains = np.where(inside, mostly == favoured, (mostly == other) | ((mostly == favoured) & (gauges <= NEAR)))
        if not (explains & (toward > 0.0)).any():
            return None
        k = int(np.where(explains, toward, -np.inf).argmax())
        relation = "in" if inside[k] else "near" if mostly[k] == favoured else "outside"
        return Group(k, relation)

    @cached_property
    def counts(self) -> IntArray:
        """Training rows of each class in each ellipsoid."""
        model = self.terms.model
        return model.counts_at(np.arange(model.n_ellipsoids))


def known_columns(missing: BoolArray, column_of: IntArray) -> BoolArray:
    """Which columns are known, at their first features, given which features are missing, of shape (n, d)."""
    gone = np.zeros_like(missing)
    np.logical_or.at(gone.T, column_of, missing.T)
    return ~gone


# The most values to name for the label, and against it.
MOST_FOR, MOST_AGAINST = 5, 3
# Terms below this share of the largest are not worth naming.
LEAST_NAMED = 0.1


def grounds_of(decisions: Any, words: Words) -> Grounds:
    """The reasons for a single decision, in these words; `decisions` are `SEPDecisions` on one row."""
    model = decisions.model
    missing = missing_columns(model, decisions.missing[0])
    if decisions.preparation is not None:
        categories = zip(decisions.preparation.categories, decisions.empty[0], strict=True)
        missing += [name_of(column) for column, is_empty in categories if is_empty]
    if model.usual is None or model.weights is None or len(model.classes) == 1:
        return Grounds(missing=tuple(missing))
    phrases = RowPhrases(model, model.usual, decisions.rows)
    terms = NamedTerms(decisions.terms(), phrases)
    known = known_columns(decisions.missing, model.column_of)[0]
    all_known = [term for term in terms.largest(0) if term.feature is None or known[term.feature]]
    owners = [int(np.searchsorted(model.classes, label)) for label in (decisions.label[0], terms.terms.runner_up[0])]
    sides = []
    for sign, most in ((1.0, MOST_FOR), (-1.0, MOST_AGAINST)):
        least = LEAST_NAMED * max((abs(term.value) for term in all_known), default=0.0)
        chosen = [term.feature for term in all_known if sign * term.value >= least][:most]
        sides.append(tuple(_point(phrases, j, owners if sign > 0.0 else owners[::-1], words) for j in chosen))
    in_favour, against = sides
    return Grounds(in_favour, against, tuple(missing))


def _point(phrases: RowPhrases, j: int | None, owners: list[int], words: Words) -> str:
    """A value next to what is usual for the label it favours and for the other one, where that explains it."""
    favoured, other = (words.label(phrases.model.classes[owner]) for owner in owners)
    if j is None:
        return f"overall, your values resemble earlier cases with {favoured} more than cases with {other}"
    value = words.about(phrases.value(0, j), phrases.names[j])
    if phrases.shows(0, j, *owners) <= 0:
        return value
    (usual, is_share), (rival, _) = (phrases.usual_among(0, j, owner) for owner in owners)
    if not usual or not rival or usual == rival:
        return value
    if is_share:
        return f"{value} ({usual} of similar earlier cases with {favoured} had this, and {rival} of those with {other})"
    return f"{value} (usually {usual} in similar earlier cases with {favoured}, and {rival} in those with {other})"
