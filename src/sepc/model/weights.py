"""Weights: an additive logistic model (a GAM) of features, ellipsoids and isolated rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.model.membership import FARTHEST, slabwise, whole_slabs
from sepc.records import counts, floats, ints, number, record, size_in_bytes
from sepc.wording import counted

# Levels per row in a block of features: with a tile of rows, 1 MB.
BLOCK_LEVELS = 256


@dataclass(frozen=True, eq=False)
class StepCurves:
    """The curves of features that have about equally many knots, as one search tree for each."""

    features: IntArray
    tree: tuple[FloatArray, ...]
    levels: FloatArray

    @classmethod
    def of(cls, features: IntArray, knots: list[FloatArray], levels: list[FloatArray]) -> StepCurves:
        """The curves with these knots, of shapes (s,), and levels, of shapes (s + 1, C), where s is similar for all."""
        depth = max(len(of_feature).bit_length() for of_feature in knots)
        every = np.full((len(knots), 2**depth - 1), np.nan)
        after = np.zeros((len(knots), 2**depth, levels[0].shape[1]))
        for own_knots, own_levels, all_knots, all_levels in zip(knots, levels, every, after, strict=True):
            all_knots[: len(own_knots)] = own_knots
            all_levels[: len(own_levels)] = own_levels
        strides = [2 ** (depth - i) for i in range(depth)]
        tree = tuple(np.ascontiguousarray(every[:, stride // 2 - 1 :: stride]).ravel() for stride in strides)
        return cls(features, tree, after.reshape(-1, after.shape[2]))

    def put(self, columns: FloatArray, out: FloatArray) -> None:
        """Write the levels of the curves at `columns`, of shape (d, n), into `out`, of shape (d, n, C)."""
        if len(self.features) == len(columns):
            np.take(self.levels, self._places(columns), axis=0, out=out, mode="clip")
        else:
            out[self.features] = self.levels.take(self._places(columns[self.features]), axis=0)

    def _places(self, columns: FloatArray) -> IntArray:
        """The positions in `levels` of columns of values, of shape (m, n)."""
        place = np.arange(len(columns))[:, np.newaxis]
        for knots in self.tree:
            place = 2 * place + (knots.take(place) <= columns)
        return np.broadcast_to(place, columns.shape)


@dataclass(frozen=True, eq=False)
class CurveBlock:
    """The curves of some adjacent features, in groups whose trees are equally deep."""

    features: slice
    groups: tuple[StepCurves, ...]

    def add_to(self, scores: FloatArray, columns: FloatArray) -> FloatArray:
        """Scores of shape (n, C) with the curves at columns of shape (d, n) added one after the other."""
        of_block = columns[self.features]
        terms = np.empty((len(of_block) + 1, *scores.shape))
        terms[0] = scores
        for group in self.groups:
            group.put(of_block, out=terms[1:])
        return np.asarray(np.add.reduce(terms, axis=0))


def curve_blocks(n_knots: IntArray, knots: FloatArray, levels: FloatArray) -> tuple[CurveBlock, ...]:
    """Curves in blocks of features, so small that the levels at a tile of rows take little memory."""
    ends = np.cumsum(n_knots)
    own_knots = np.split(knots, ends[:-1])
    own_levels = np.split(levels, ends[:-1] + np.arange(1, len(n_knots)))
    step = max(1, BLOCK_LEVELS // levels.shape[1])
    blocks = (slice(start, start + step) for start in range(0, len(n_knots), step))
    return tuple(CurveBlock(block, _group_by_depth(own_knots[block], own_levels[block])) for block in blocks)


def _group_by_depth(knots: list[FloatArray], levels: list[FloatArray]) -> tuple[StepCurves, ...]:
    depths = np.array([len(of_feature).bit_length() for of_feature in knots])
    groups = [np.flatnonzero(depths == depth) for depth in np.unique(depths)]
    return tuple(
        StepCurves.of(features, [knots[j] for j in features], [levels[j] for j in features]) for features in groups
    )


# Every class has a score, a sum of terms that can be read one by one: a shape function (curve) for each feature, a term
# for each ellipsoid (how near it is, and how deep the row lies in it), and one term for all isolated rows together. The
# softmax of the scores gives the probabilities, which fade towards equal ones far from the training rows.


# Features are clipped at this many deviations, so that no feature decides alone, however far out a row lies.
LINE_END = 8.0
# The rate of exponential decay of nearness outside an ellipsoid, per unit of the squared gauge.
NEARNESS_DECAY = 0.75
# Added to the squared gauge before taking its logarithm, so that the center is not infinitely deep.
DEPTH_FLOOR = 0.3
# Squared gauges are clipped here before taking logarithms, far beyond where anything is near.
FARTHEST_SQUARED = 1e6
# Isolated rows compared at once: with a tile of rows, 16 MB.
BLOCK_ISOLATED = 4096
# Probabilities start to fade at this many times the size of the nearest ellipsoid, with this power of the gauge.
FADING_BEGINS = 2.0
FADING_POWER = 4
# Products and sums of numbers up to this size do not overflow; weights are never larger.
MOST_WEIGHT = 1e100
# A narrower Gaussian would cover nothing but its own row.
NARROWEST = 1e-100


def nearness(squared: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """The nearness of ellipsoids, from squared gauges: 1 inside, falling to 0 outside."""
    near = np.asarray(np.subtract(squared, 1.0, out=out))
    np.maximum(near, 0.0, out=near)
    np.multiply(near, -NEARNESS_DECAY, out=near)
    return np.asarray(np.exp(near, out=near))


def depth(squared: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """How deep rows lie in ellipsoids, from squared gauges; smaller is deeper."""
    deep = np.asarray(np.minimum(squared, FARTHEST_SQUARED, out=out))
    np.add(deep, DEPTH_FLOOR, out=deep)
    return np.asarray(np.log(deep, out=deep))


def isolated_nearness(rows: FloatArray, isolated: FloatArray, width: float) -> FloatArray:
    """How near isolated rows are, of shape (n, J): a Gaussian of this width around each."""
    if len(isolated) == 0:
        return np.empty((len(rows), 0))
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(-0.5 * (cdist(rows, isolated) / width) ** 2))


def fading(gauge: FloatArray) -> FloatArray:
    """The share of the probabilities that is left at each gauge; the rest is spread equally over the classes."""
    return np.asarray((FADING_BEGINS / np.maximum(gauge, FADING_BEGINS)) ** FADING_POWER)


def fade(probabilities: FloatArray, gauge: FloatArray) -> FloatArray:
    """Probabilities of shape (n, C), shrunk towards equal ones where the gauge is large."""
    left = fading(gauge)[:, np.newaxis]
    return np.asarray(left * probabilities + (1.0 - left) / probabilities.shape[1])


@record
class Weights(ShownAsCard):
    """The weights of a fitted model: what each feature, ellipsoid and isolated row adds to the score of each class.

    All terms are in standardised features. Every term averages to zero over the rows that the weights were fitted to.

    Attributes
    ----------
    offsets : (C,) array
        The average score of each class.
    lines : (d, C) array
        Slopes of the features, which are clipped to eight deviations on either side.
    n_knots : (d,) array
        Number of knots in the curve of each feature.
    knots : (S,) array
        Where the curves step, feature by feature, in ascending order; a step includes its knot.
    levels : (S + d, C) array
        Added to the lines: for each feature the level below its first knot, then that starting at each knot.
    near, deep : (K, C) arrays
        Coefficients of the nearness to each ellipsoid and of the depth in it.
    ellipsoid_means : (K, C) array
        Subtracted from the sum of the two.
    isolated : (J, C) array
        Coefficients of the nearness to each isolated row.
    isolated_mean : (C,) array
        Subtracted from their sum.
    width : float
        Width of the Gaussian around an isolated row.
    category_features : (Q,) array
        The feature that each categorical column belongs to.
    n_categories : (Q,) array
        How many categories each of these columns has.
    category_levels : (sum of n_categories, C) array
        What each category adds, column by column; one not seen in training adds nothing.
    """

    offsets: FloatArray = floats("C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    lines: FloatArray = floats("d", "C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    n_knots: IntArray = counts("d")
    knots: FloatArray = floats("S", low=-FARTHEST, high=FARTHEST)
    levels: FloatArray = floats("S+d", "C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    near: FloatArray = floats("K", "C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    deep: FloatArray = floats("K", "C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    ellipsoid_means: FloatArray = floats("K", "C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    isolated: FloatArray = floats("J", "C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    isolated_mean: FloatArray = floats("C", low=-MOST_WEIGHT, high=MOST_WEIGHT)
    width: float = number(NARROWEST)
    category_features: IntArray = ints("Q", below="d")
    n_categories: IntArray = counts("Q")
    category_levels: FloatArray = floats("A", "C", low=-MOST_WEIGHT, high=MOST_WEIGHT)

    def flaw(self) -> str | None:
        """What is wrong with the knots or categories, if anything."""
        if int(self.n_knots.sum()) != len(self.knots):
            return "has a number of knots that does not match its features"
        first = np.zeros(len(self.knots), dtype=bool)
        first[np.cumsum(self.n_knots[:-1])[self.n_knots[1:] > 0]] = True
        if (np.diff(self.knots) <= 0.0)[~first[1:]].any():
            return "has knots that do not ascend within a feature"
        is_empty = (self.n_categories < 1).any()
        if (
            is_empty
            or self.n_categories.sum() != len(self.category_levels)
            or (np.diff(self.category_features) <= 0).any()
        ):
            return "has levels that do not match its categories"
        return None

    @property
    def n_bytes(self) -> int:
        """Size of all arrays together."""
        return size_in_bytes(self)

    @property
    def matters(self) -> BoolArray:
        """Which features have any weight, of shape (d,); fitting shrinks the curves of the others to zero."""
        matters = (self.n_knots > 0) | self.lines.any(axis=1)
        ends = np.cumsum(self.n_categories)
        for j, n, end in zip(self.category_features.tolist(), self.n_categories, ends, strict=True):
            matters[j] |= self.category_levels[end - n : end].any()
        return np.asarray(matters)

    @cached_property
    def curves(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """Knots and levels, of shapes (s,) and (C, s + 1), of each feature."""
        ends = np.cumsum(self.n_knots)
        return tuple(
            (self.knots[end - n : end], np.ascontiguousarray(self.levels[end - n + j : end + j + 1].T))
            for j, (n, end) in enumerate(zip(self.n_knots.tolist(), ends.tolist(), strict=True))
        )

    def of_features(self, features: IntArray) -> Weights:
        """The same weights with the curves of these features only, and without those of categories."""
        curves, n_classes = [self.curves[j] for j in features.tolist()], len(self.offsets)
        return replace(
            self,
            lines=self.lines[features],
            n_knots=self.n_knots[features],
            knots=np.concatenate([np.empty(0), *(knots for knots, _ in curves)]),
            levels=np.concatenate([np.empty((0, n_classes)), *(levels.T for _, levels in curves)]),
            category_features=np.empty(0, dtype=np.int64),
            n_categories=np.empty(0, dtype=np.int64),
            category_levels=np.empty((0, n_classes)),
        )

    @cached_property
    def _coefficients(self) -> FloatArray:
        """Coefficients of lines, nearness, depth and isolated rows side by side, of shape (C, d + 2 K + J)."""
        return np.ascontiguousarray(np.concatenate([self.lines, self.near, self.deep, self.isolated]).T)

    @cached_property
    def _curve_blocks(self) -> tuple[CurveBlock, ...]:
        return curve_blocks(self.n_knots, self.knots, self.levels)

    @cached_property
    def _constant(self) -> FloatArray:
        return np.asarray(self.offsets - self.ellipsoid_means.sum(axis=0) - self.isolated_mean)

    def scores(self, columns: FloatArray, squares: FloatArray, isolated: FloatArray) -> FloatArray:
        """Scores of the classes, of shape (C, n).

        Parameters
        ----------
        columns : (d, n) array
            The rows, standardised, as columns.
        squares : (K, n) array
            Their squared gauges in the ellipsoids.
        isolated : (J, d) array
            The isolated rows.
        """
        (d, n), K = columns.shape, len(squares)
        values = np.empty((d + 2 * K + min(len(isolated), BLOCK_ISOLATED), whole_slabs(n)))
        values[:, n:] = 0.0
        np.minimum(columns, LINE_END, out=values[:d, :n])
        np.maximum(values[:d, :n], -LINE_END, out=values[:d, :n])
        nearness(squares, out=values[d : d + K, :n])
        depth(squares, out=values[d + K : d + 2 * K, :n])
        values[d + 2 * K :, :n] = isolated_nearness(columns.T, isolated[:BLOCK_ISOLATED], self.width).T
        scores = slabwise(self._coefficients[:, : len(values)], values)
        for start in range(BLOCK_ISOLATED, len(isolated), BLOCK_ISOLATED):
            block = slice(start, start + BLOCK_ISOLATED)
            near = values[: len(isolated[block])]
            near[:, :n] = isolated_nearness(columns.T, isolated[block], self.width).T
            scores += slabwise(self._coefficients[:, d + 2 * K :][:, block], near)
        scores += self._constant[:, np.newaxis]
        by_row = np.ascontiguousarray(scores[:, :n].T)
        for curves in self._curve_blocks:
            by_row = curves.add_to(by_row, columns)
        return by_row.T

    def category_terms(self, codes: FloatArray) -> FloatArray:
        """What each category adds to the scores, of shape (n, Q, C), given the codes as an (n, Q) array."""
        n_classes = len(self.offsets)
        levels = np.concatenate([self.category_levels, np.zeros((1, n_classes))])
        starts = np.cumsum(self.n_categories) - self.n_categories
        which = codes.astype(np.int64)
        return levels[np.where(which < self.n_categories, which + starts, len(levels) - 1)]

    def feature_terms(self, columns: FloatArray) -> FloatArray:
        """What each feature adds to the scores, of shape (n, d, C), without what categories add."""
        terms = np.clip(columns, -LINE_END, LINE_END).T[:, :, np.newaxis] * self.lines
        for j, ((knots, levels), column) in enumerate(zip(self.curves, columns, strict=True)):
            terms[:, j] += levels.T[np.searchsorted(knots, column, side="right")]
        return np.asarray(terms)

    def ellipsoid_terms(self, squares: FloatArray) -> FloatArray:
        """What each ellipsoid adds to the scores, of shape (n, K, C)."""
        near, deep = nearness(squares).T[:, :, np.newaxis], depth(squares).T[:, :, np.newaxis]
        return np.asarray(near * self.near + deep * self.deep - self.ellipsoid_means)

    def isolated_terms(self, columns: FloatArray, isolated: FloatArray) -> FloatArray:
        """What all isolated rows together add to the scores, of shape (n, C)."""
        n = columns.shape[1]
        terms = np.tile(-self.isolated_mean[:, np.newaxis], n)
        for start in range(0, len(isolated), BLOCK_ISOLATED):
            block = slice(start, start + BLOCK_ISOLATED)
            near = np.empty((len(isolated[block]), whole_slabs(n)))
            near[:, n:] = 0.0
            near[:, :n] = isolated_nearness(columns.T, isolated[block], self.width).T
            terms += slabwise(self.isolated[block].T, near)[:, :n]
        return terms.T

    def _card(self) -> Card:
        (d, n_classes), n_curved = self.lines.shape, int((self.n_knots > 0).sum())
        n_used = int(self.matters.sum())
        features = f"{d:,}" if n_used == d else f"{n_used:,} of {d:,} matter"
        facts = [
            ("features", f"{features}, {n_curved:,} with a curve ({counted(len(self.knots), 'step')} in all)"),
            ("ellipsoids", f"{len(self.near):,}"),
            ("size", f"{self.n_bytes:,} bytes"),
        ]
        if len(self.isolated):
            facts.insert(2, ("isolated rows", f"{len(self.isolated):,}"))
        return Card(
            f"Weights of {counted(n_classes, 'class', 'classes')}",
            tuple(facts),
            note="WeightsDisplay of sepc.plot draws them.",
        )
