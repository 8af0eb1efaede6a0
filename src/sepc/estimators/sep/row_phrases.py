"""Values of rows in words, next to what is usual for the training cases most like them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.membership import FARTHEST, tiles_of_squared_radii
from sepc.model.names import feature_name, value_in_words
from sepc.model.sep_model import SEPModel
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
