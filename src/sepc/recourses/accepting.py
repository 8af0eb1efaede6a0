"""A lower bound on the cost of acceptance, from the curves that a model adds up.

The log-odds of a label against another one are a sum: a curve for each feature, and terms of ellipsoids and isolated
rows. Within a given cost, each curve can gain only so much, and the terms are bounded by how far gauges and distances
can change. If all of it together is not enough for acceptance, acceptance costs more. A feature with a monotone curve
gains in one direction only, and if it is the only one that may change, its bound is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.weights import LINE_END, Weights, depth, nearness
from sepc.recourses._limits import Choice, Limits
from sepc.recourses.bounds import over_all_features, radius_of

# Prices of the squared cost in log-odds that are tried; any of them gives a valid bound.
PRICES = np.concatenate([[0.0], np.geomspace(1e-2, 1e2, 33)])
# Halvings of the range in which the bound is sought.
HALVINGS = 24
# Log-odds that differ by less than this differ by rounding only.
ROUNDING = 1e-7


def bound_acceptance(limits: Limits, owner: int, ellipsoids: IntArray, min_trust: float) -> float:
    """A lower bound on the cost of rows within the limits and in one of the ellipsoids that have enough trust."""
    if min_trust >= 1.0:
        return 0.0
    needed = max(float(np.log(min_trust) - np.log1p(-min_trust)) if min_trust > 0.0 else 0.0, 0.0) - ROUNDING
    others = [other for other in range(len(limits.model.classes)) if other != owner]
    return max((LogOddsBound(limits, owner, other, ellipsoids).least_cost(needed) for other in others), default=0.0)


@dataclass(frozen=True, eq=False)
class LogOddsBound:
    """The log-odds of a class against another one, and what they can be within a cost."""

    limits: Limits
    owner: int
    other: int
    ellipsoids: IntArray

    def least_cost(self, needed: float) -> float:
        """A cost below which the log-odds cannot be as high as needed; 0 if none is known."""
        low, high = 0.0, self._farthest
        if self.log_odds_within(high) < needed:
            return high
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.log_odds_within(middle) < needed else (low, middle)
        return low

    def log_odds_within(self, cost: float) -> float:
        """An upper bound on the log-odds of rows in an ellipsoid within a cost; minus infinity if there are none."""
        terms = self._most_of_ellipsoids(cost) + self._most_of_isolated(cost)
        return self._constant + self._pieces.most_within(cost) + terms

    @cached_property
    def _farthest(self) -> float:
        """A cost that no row within the limits exceeds."""
        limits, (low, high) = self.limits, self.limits.ends
        ways = limits.prices * np.maximum(np.abs(low - limits.start), np.abs(high - limits.start))
        return float(np.sqrt((ways**2).sum() + sum(choice.price**2 for choice in limits.choices)))

    @property
    def _weights(self) -> Weights:
        assert self.limits.model.weights is not None
        return self.limits.model.weights

    def _between(self, coefficients: FloatArray) -> FloatArray:
        """The difference of coefficients, of shape (..., C), between the two classes."""
        return np.asarray(coefficients[..., self.owner] - coefficients[..., self.other])

    @property
    def _constant(self) -> float:
        weights = self._weights
        means = weights.ellipsoid_means.sum(axis=0) + weights.isolated_mean
        return float(self._between(weights.offsets - means))

    @cached_property
    def _pieces(self) -> _Pieces:
        limits = self.limits
        is_number = np.ones(limits.n_features, dtype=bool)
        for choice in limits.choices:
            is_number[choice.features] = False
        numbers = [self._of_number(j) for j in np.flatnonzero(is_number).tolist()]
        parts = [*numbers, *map(self._of_choice, limits.choices)]
        lengths = np.array([part.shape[1] for part in parts])
        return _Pieces(np.cumsum(lengths) - lengths, *np.concatenate(parts, axis=1))

    def _of_number(self, j: int) -> FloatArray:
        """The pieces of the curve of a number, in the order of the fields of `_Pieces`."""
        limits, (knots, levels) = self.limits, self._weights.curves[j]
        low, high = limits.ends[0][j], limits.ends[1][j]
        ends = np.unique(np.clip(np.concatenate([[low, high, -LINE_END, LINE_END], knots]), low, high))
        # The last piece is the upper end alone, where the curve may step.
        left, right = ends, np.append(ends[1:], ends[-1])
        slope, level = float(self._between(self._weights.lines[j])), self._between(levels.T)
        is_sloped = (left >= -LINE_END) & (right <= LINE_END)
        start = level[np.searchsorted(knots, left, side="right")] + slope * np.clip(left, -LINE_END, LINE_END)
        price, own = np.full(len(ends), limits.prices[j]), np.full(len(ends), limits.start[j])
        return np.array([left, right, start, np.where(is_sloped, slope, 0.0), price, own, np.zeros(len(ends))])

    def _of_choice(self, choice: Choice) -> FloatArray:
        """The categories of a column as pieces that are points, in the order of the fields of `_Pieces`."""
        codes, weights = choice.allowed, self._weights
        row = np.tile(self.limits.row[self.limits.n_features :], (len(codes), 1))
        row[:, choice.column] = codes
        terms = weights.category_terms(row)[:, choice.column]
        for i, j in enumerate(range(choice.features.start, choice.features.stop)):
            (knots, levels), places = weights.curves[j], choice.places[codes, i]
            terms = terms + np.clip(places, -LINE_END, LINE_END)[:, np.newaxis] * weights.lines[j]
            terms = terms + levels.T[np.searchsorted(knots, places, side="right")]
        none = np.zeros(len(codes))
        paid = np.where(codes == choice.current, 0.0, choice.price**2)
        return np.array([none, none, self._between(terms), none, none, none, paid])

    def _most_of_ellipsoids(self, cost: float) -> float:
        """The largest sum of the terms of ellipsoids, in rows that lie in one of the label's ellipsoids."""
        gauges, moved = self._gauges.values, self._gauges.moved(cost)
        least, most = np.maximum(gauges - moved, 0.0), gauges + moved
        own, radius = self.ellipsoids, radius_of(self.limits.model)
        terms = self._most_between(least, most, np.arange(len(gauges)))
        inside = self._most_between(least[own], np.minimum(most[own], radius), own)
        gained = np.where(least[own] <= radius, inside - terms[own], -np.inf)
        return float(terms.sum() + gained.max(initial=-np.inf))

    def _most_between(self, least: FloatArray, most: FloatArray, which: IntArray) -> FloatArray:
        """The largest term of each ellipsoid with a gauge in a range; nearness falls with it, depth rises."""
        near, deep = self._between(self._weights.near)[which], self._between(self._weights.deep)[which]
        near = np.maximum(near * nearness(least**2), near * nearness(most**2))
        return np.asarray(near + np.maximum(deep * depth(least**2), deep * depth(most**2)))

    def _most_of_isolated(self, cost: float) -> float:
        """The largest sum of the terms of isolated rows."""
        distances, moved, width = self._distances.values, self._distances.moved(cost), self._weights.width
        near, far = (
            np.exp(-0.5 * (np.maximum(ends, 0.0) / width) ** 2) for ends in (distances - moved, distances + moved)
        )
        coefficients = self._between(self._weights.isolated)
        return float(np.maximum(coefficients * near, coefficients * far).sum())

    @cached_property
    def _gauges(self) -> _Distances:
        model = self.limits.model
        wholes = [over_all_features(model, *own) for own in zip(model.centers, model.roots, strict=True)]
        return _Distances.of(self.limits, [center for center, _ in wholes], [root for _, root in wholes])

    @cached_property
    def _distances(self) -> _Distances:
        model = self.limits.model
        same = np.eye(self.limits.n_features)[model.placed]
        whole = np.zeros((len(model.isolated), self.limits.n_features))
        whole[:, model.placed] = model.isolated
        apart = _Distances.of(self.limits, [self.limits.start], [same])
        return replace(apart, values=np.linalg.norm((whole - self.limits.start) @ same.T, axis=1))


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Curves as straight pieces, feature by feature."""

    first: IntArray
    left: FloatArray
    right: FloatArray
    level: FloatArray
    slope: FloatArray
    price: FloatArray
    start: FloatArray
    paid: FloatArray

    def most_within(self, cost: float) -> float:
        """An upper bound on the sum of all curves within a cost; minus infinity if a feature has no piece there."""
        way = np.where(self.price > 0.0, cost / np.where(self.price > 0.0, self.price, 1.0), np.inf)
        left = np.maximum(self.left, self.start - way)
        right = np.minimum(self.right, self.start + way)
        # A piece does not include its right end, where the next one begins.
        is_near = (left <= right) & ((left < self.right) | (self.left == self.right)) & (self.paid <= cost**2)
        # A line less a parabola is highest at its vertex, or at the end next to it.
        with np.errstate(divide="ignore", invalid="ignore"):
            vertex = self.start + self.slope / (2.0 * PRICES[:, np.newaxis] * self.price**2)
        place = np.clip(np.where(self.slope == 0.0, self.start, vertex), left, np.maximum(left, right))
        squared = self.paid + (self.price * (place - self.start)) ** 2
        gained = self.level + self.slope * (place - self.left) - PRICES[:, np.newaxis] * squared
        most = np.maximum.reduceat(np.where(is_near, gained, -np.inf), self.first, axis=1).sum(axis=1)
        return float((most + PRICES * cost**2).min())


@dataclass(frozen=True, eq=False)
class _Distances:
    """Distances from a row, and how much they can change within a cost."""

    values: FloatArray
    by_numbers: FloatArray
    by_choices: FloatArray
    prices: FloatArray

    @classmethod
    def of(cls, limits: Limits, centers: Sequence[FloatArray], roots: Sequence[FloatArray]) -> _Distances:
        """The norms of ``root @ (row - center)``."""
        low, high = limits.ends
        numbers = np.flatnonzero((limits.prices > 0.0) & ((low != limits.start) | (high != limits.start)))
        pairs = list(zip(centers, roots, strict=True))
        return cls(
            np.array([np.linalg.norm(root @ (limits.start - center)) for center, root in pairs]),
            np.array([_norm(root[:, numbers] / limits.prices[numbers]) for root in roots]),
            np.array([[_farthest_category(root, choice) for root in roots] for choice in limits.choices]),
            np.array([choice.price for choice in limits.choices]),
        )

    def moved(self, cost: float) -> FloatArray:
        """The most that each distance changes within a cost."""
        affordable = np.flatnonzero(self.prices <= cost)
        return np.asarray(cost * self.by_numbers + sum(self.by_choices[i] for i in affordable))


def _norm(matrix: FloatArray) -> float:
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0


def _farthest_category(root: FloatArray, choice: Choice) -> float:
    """The most that a norm changes with the category of a column."""
    apart = choice.places[choice.allowed] - choice.places[choice.current]
    return float(np.linalg.norm(apart @ root[:, choice.features].T, axis=1).max())
