"""Lower bounds on the cost of reaching the ellipsoids of a label: branch and bound, with a proof for every branch."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.kernels.project import HalfSpace, Projection, Projector
from sepc.model.sep_model import SEPModel
from sepc.recourses._limits import Limits, Options


def over_all_features(model: SEPModel, center: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The center and the root of an ellipsoid as a cylinder in the space of all features."""
    if model.alone is None:
        return center, root
    n_features = len(model.shift)
    whole_center, whole_root = np.zeros(n_features), np.zeros((len(root), n_features))
    whole_center[model.placed], whole_root[:, model.placed] = center, root
    return whole_center, whole_root


# The most projections in the search for a sharper bound.
MOST_PROJECTIONS = 10
# Bounds and costs that differ by less than this share are equal.
EQUAL = 1e-9
# A number is whole if it is within this share of a whole one.
WHOLE = 1e-7


class RelaxedBox(NamedTuple):
    """A box in standardised features, the prices per unit of distance in it, and a squared cost to add."""

    low: FloatArray
    high: FloatArray
    prices: FloatArray
    squared: float


@dataclass(frozen=True, eq=False)
class Box:
    """Some of the rows within the limits: those with numbers in a range, and with some of the categories."""

    limits: Limits
    low: FloatArray
    high: FloatArray
    options: Sequence[Options]

    @classmethod
    def whole(cls, limits: Limits) -> Box:
        """All rows within the limits."""
        return cls(limits, *limits.ends, [choice.every for choice in limits.choices])

    @cached_property
    def relaxed(self) -> RelaxedBox:
        """The box of all features, with categories treated as numbers, at a cost that never exceeds theirs."""
        low, high, prices, squared = self.low.copy(), self.high.copy(), self.limits.prices.copy(), 0.0
        for options in self.options:
            part, features = options.relaxed, options.choice.features
            low[features], high[features], prices[features] = part.low, part.high, part.price
            squared += part.squared
        return RelaxedBox(low, high, prices, squared)

    def rows_at(self, places: FloatArray) -> FloatArray:
        """Rows within the limits at places in standardised features, with the first category left of each column."""
        limits = self.limits
        rows, d = limits.round_whole_numbers(self.rows_near(places)), limits.n_features
        rows[:, :d] = np.where(places == limits.start, limits.row[:d], np.clip(rows[:, :d], limits.low, limits.high))
        return limits.complete(rows)

    def rows_near(self, places: FloatArray) -> FloatArray:
        """The rows of `rows_at`, neither rounded nor clipped to the limits."""
        codes = np.array([options.codes[0] for options in self.options], dtype=np.float64)
        values = self.limits.model.shift + self.limits.model.scale * places
        return self.limits.encode_categories(np.column_stack([values, np.tile(codes, (len(places), 1))]))

    def projector(self, k: int, shrunk: float = 1.0) -> Projector:
        """A projector onto an ellipsoid within the box, or onto a shrunken one."""
        model, (low, high, prices, _) = self.limits.model, self.relaxed
        center, root = over_all_features(model, model.centers[k], model.roots[k] / (shrunk * radius_of(model)))
        linear = None if self.limits.relations is None else self.limits.relations.linear
        return Projector(center, root, low, high, prices, linear)

    def project(self, k: int) -> Projection:
        """Project the row onto an ellipsoid within the box: the nearest point of both."""
        return self.projector(k).project(self.limits.start)

    def bound(self, proof: HalfSpace) -> float:
        """A lower bound on the squared cost of rows of the box in a half-space."""
        low, high, prices, squared = self.relaxed
        return squared + proof.bound(self.limits.start, low, high, prices)

    def parts(self, place: FloatArray) -> list[Box]:
        """Split the box where a place is fractional or between categories; empty if nothing is left to split."""
        return next(self._by_categories(place), None) or next(self._by_numbers(place), [])

    def _by_categories(self, place: FloatArray) -> Iterator[list[Box]]:
        unsettled = [
            i for i, options in enumerate(self.options) if not options.is_settled(place[options.choice.features])
        ]
        if unsettled:
            i = max(unsettled, key=lambda i: len(self.options[i].codes))
            yield [self._with_options(i, part) for part in self.options[i].parts]

    def _with_options(self, i: int, options: Options) -> Box:
        return replace(self, options=[*self.options[:i], options, *self.options[i + 1 :]])

    def _by_numbers(self, place: FloatArray) -> Iterator[list[Box]]:
        model = self.limits.model
        for j in np.flatnonzero(self.limits.is_whole & (self.low < self.high)).tolist():
            value = float(model.shift[j] + model.scale[j] * place[j])
            if abs(value - round(value)) > WHOLE * max(1.0, abs(value)):
                low, high = self.low.copy(), self.high.copy()
                high[j] = (np.floor(value) - model.shift[j]) / model.scale[j]
                low[j] = (np.ceil(value) - model.shift[j]) / model.scale[j]
                yield [replace(self, high=high), replace(self, low=low)]

    def settle(self, place: FloatArray) -> Box:
        """The part of the box nearest to a place, with one category per column and one value per whole number."""
        model, whole = self.limits.model, self.limits.is_whole
        low, high = self.low.copy(), self.high.copy()
        if self.limits.relations is None:
            values = np.round(model.shift[whole] + model.scale[whole] * place[whole])
        else:
            # Rounded together, so that relations still hold.
            values = self.rows_at(place[np.newaxis])[0, : self.limits.n_features][whole]
        low[whole] = high[whole] = np.clip((values - model.shift[whole]) / model.scale[whole], low[whole], high[whole])
        return replace(
            self,
            low=low,
            high=high,
            options=[options.nearest(place[options.choice.features]) for options in self.options],
        )


@dataclass(frozen=True, eq=False)
class Leaf:
    """A box and an ellipsoid, with a proved lower bound on the cost of rows in both."""

    ellipsoid: int
    box: Box
    proof: HalfSpace
    bound: float


class Entry(NamedTuple):
    """The point of an ellipsoid that is nearest to the row, in a box with nothing left to choose but numbers."""

    ellipsoid: int
    box: Box
    place: FloatArray
    squared: float


@dataclass(frozen=True, eq=False)
class Reach:
    """The cost of reaching the ellipsoids of a label within the limits: a lower bound, and ways that were found."""

    leaves: Sequence[Leaf]
    entries: Sequence[Entry]

    @property
    def bound(self) -> float:
        """A lower bound on the squared cost of a row in an ellipsoid of the label; infinite if none can be reached."""
        return min((leaf.bound for leaf in self.leaves), default=np.inf)

    @property
    def cost(self) -> float:
        """The squared cost of the cheapest way found."""
        return min((entry.squared for entry in self.entries), default=np.inf)

    def nearest(self, n: int) -> list[int]:
        """The `n` reachable ellipsoids with the lowest bounds."""
        bounds: dict[int, float] = {}
        for leaf in self.leaves:
            bounds[leaf.ellipsoid] = min(bounds.get(leaf.ellipsoid, np.inf), leaf.bound)
        return sorted((k for k in bounds if np.isfinite(bounds[k])), key=bounds.__getitem__)[:n]


def bound_cost(limits: Limits, ellipsoids: IntArray) -> Reach:
    """Bound the cost of reaching any of some ellipsoids, by branch and bound on the cheapest box."""
    search = _BoundSearch()
    every = Box.whole(limits)
    for k, proof in zip(ellipsoids.tolist(), half_spaces(every, ellipsoids), strict=True):
        search.add(Leaf(k, every, proof, every.bound(proof)))
    search.run()
    return Reach(search.leaves + [leaf for _, _, leaf, _ in search.heap], search.entries)


class _BoundSearch:
    """Best-first search over leaves by their bounds; a projection is computed only once its leaf is the best."""

    def __init__(self) -> None:
        self.order = count()
        self.heap: list[tuple[float, int, Leaf, Projection | None]] = []
        self.leaves: list[Leaf] = []
        self.entries: list[Entry] = []
        self.best = np.inf
        self.n_left = MOST_PROJECTIONS

    def add(self, leaf: Leaf, found: Projection | None = None) -> None:
        if np.isfinite(leaf.bound):
            heapq.heappush(self.heap, (leaf.bound, next(self.order), leaf, found))
        else:
            self.leaves.append(leaf)

    def run(self) -> None:
        while self.heap and self.n_left > 0 and self.heap[0][0] < self.best * (1.0 - EQUAL):
            _, _, leaf, found = heapq.heappop(self.heap)
            if found is None:
                self._project(leaf)
            else:
                self._cut(leaf, found)

    def _project(self, leaf: Leaf) -> None:
        self.n_left -= 1
        found = leaf.box.project(leaf.ellipsoid)
        sharper = leaf.box.relaxed.squared + found.bound
        self.add(replace(leaf, proof=found.proof, bound=sharper) if sharper >= leaf.bound else leaf, found)

    def _cut(self, leaf: Leaf, found: Projection) -> None:
        parts = leaf.box.parts(found.point) if found.is_feasible else []
        settled = leaf.box.settle(found.point)
        if parts:
            self.n_left -= 1
            self._enter(leaf.ellipsoid, settled, settled.project(leaf.ellipsoid))
        else:
            self._enter(leaf.ellipsoid, settled, found)
            self.leaves.append(leaf)
        for part in parts:
            self.add(replace(leaf, box=part, proof=found.proof, bound=max(leaf.bound, part.bound(found.proof))))

    def _enter(self, k: int, box: Box, found: Projection) -> None:
        if found.is_feasible:
            squared = box.relaxed.squared + found.squared
            self.entries.append(Entry(k, box, found.point, squared))
            self.best = min(self.best, squared)


def radius_of(model: SEPModel) -> float:
    """The radius up to which a row counts as in an ellipsoid, hardly above 1."""
    return float(np.sqrt(1.0 + model.slack))


def half_spaces(box: Box, ellipsoids: IntArray) -> list[HalfSpace]:
    """A half-space around each ellipsoid, facing the row, which gives a first bound on the cost of reaching it."""
    model, (low, high, prices, _) = box.limits.model, box.relaxed
    n_features, placed, start = len(low), model.placed, box.limits.start[model.placed]
    low, high, prices = (values[placed] for values in (low, high, prices))
    roots = model.roots[ellipsoids] / radius_of(model)
    outward = np.einsum("kij,kj->ki", roots, np.clip(start, low, high) - model.centers[ellipsoids])
    gauges = np.maximum(np.linalg.norm(outward, axis=1), np.finfo(float).tiny)
    towards = np.einsum("kij,ki->kj", roots, outward / gauges[:, np.newaxis])
    free = (low < high) & (prices > 0.0)
    sizes = ((towards[:, free] / prices[free]) ** 2).sum(axis=1)
    # If no feature can move towards an ellipsoid, reaching it is free or impossible, whatever the multiplier.
    can_move = sizes > np.finfo(float).tiny
    multipliers = np.maximum(gauges - 1.0, 0.0) / np.where(can_move, sizes, 1.0)
    normals, centers = np.zeros((2, len(ellipsoids), n_features))
    normals[:, placed], centers[:, placed] = towards, model.centers[ellipsoids]
    return [HalfSpace(*parts) for parts in zip(normals, centers, multipliers.tolist(), strict=True)]
