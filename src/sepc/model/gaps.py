"""Whether a label is certain: bounds on the scores over all ways to impute the missing values of a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from scipy.spatial.distance import cdist

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.completion import draw_completions
from sepc.model.imputation import N_DRAWS
from sepc.model.rules import judge_with_gaps
from sepc.model.sep_model import SEPModel
from sepc.model.weights import LINE_END, Weights, depth, isolated_nearness, nearness


@dataclass(frozen=True, eq=False)
class EmptyCategory:
    """A categorical column that is missing in a row."""

    positions: IntArray
    fillings: FloatArray

    @classmethod
    def of(cls, feature: int, code: int, encodings: FloatArray, codes: IntArray) -> EmptyCategory:
        """The column whose features begin at position `feature`, with its code at position `code`."""
        positions = np.append(np.arange(feature, feature + encodings.shape[1]), code)
        return cls(positions, np.column_stack([encodings, codes]))

    @property
    def feature(self) -> int:
        """Its first feature, which has the name of the column."""
        return int(self.positions[0])

    def likely(self, model: SEPModel, probabilities: FloatArray) -> FloatArray:
        """`N_DRAWS` fillings, in proportion to the frequency of their categories in the likely classes."""
        if model.usual is None:
            shares = np.ones(len(self.fillings))
        else:
            counts = model.usual.category_counts[: len(probabilities), model.usual.categories_of(self.feature)]
            n_rows = counts[:, self.fillings[:, -1].astype(np.int64)] + 1.0
            shares = probabilities @ (n_rows / n_rows.sum(axis=1, keepdims=True))
        middles = (np.arange(N_DRAWS) + 0.5) / N_DRAWS * shares.sum()
        return np.asarray(self.fillings[np.searchsorted(np.cumsum(shares)[:-1], middles, side="right")])


def n_ways(empty: Sequence[EmptyCategory]) -> int:
    """How many combinations of categories could take the place of the missing ones."""
    return prod(len(column.fillings) for column in empty)


def fill_in(row: FloatArray, empty: Sequence[EmptyCategory]) -> Iterator[FloatArray]:
    """The row with every combination of categories in place of the missing ones."""
    for chosen in product(*(column.fillings for column in empty)):
        complete = row.copy()
        for column, filling in zip(empty, chosen, strict=True):
            complete[column.positions] = filling
        yield complete


# The known features cut a section out of an ellipsoid, which is enclosed in a box along its axes. Over a box every term
# of the score is bounded: a shape function by its values over the feature's range, an ellipsoid's term by how near and
# how deep a row of the box can lie, isolated rows by how near they can be. Where the sum of bounds leaves the label on
# top, the box is settled; others are halved until none is left, a row with another label is found, or there are too
# many boxes or rounds. If categories are missing, all of this is done for every combination of them.


# The most boxes examined in each ellipsoid at a time, and how often they are halved.
MOST_BOXES = 512
MOST_ROUNDS = 30
# The most combinations of categories tried in place of missing ones.
MOST_WAYS = 1_000
# A lead in the scores that rounding cannot reverse.
LEAST_LEAD = 1e-9


@dataclass(frozen=True, eq=False)
class EllipsoidSection:
    """A section of an ellipsoid: the known features are fixed at the values of a row."""

    missing: BoolArray
    center: FloatArray
    root: FloatArray


def sections_of(model: SEPModel, row: FloatArray) -> dict[int, EllipsoidSection]:
    """The ellipsoids that a row with missing values (NaN) may lie in, and the section of each that the row allows."""
    standardized, sections = model.place(row[None])[0], {}
    missing = np.isnan(standardized)
    for k in range(model.n_ellipsoids):
        form = model.roots[k].T @ model.roots[k]
        inverse = np.linalg.inv(form[np.ix_(missing, missing)])
        apart = (standardized - model.centers[k])[~missing]
        pull = form[np.ix_(missing, ~missing)] @ apart
        least = apart @ form[np.ix_(~missing, ~missing)] @ apart - pull @ inverse @ pull
        room = 1.0 + model.slack - least
        if room >= 0.0:
            center = standardized.copy()
            center[missing] = model.centers[k][missing] - inverse @ pull
            values, vectors = np.linalg.eigh(0.5 * (inverse + inverse.T))
            sections[k] = EllipsoidSection(missing, center, vectors * np.sqrt(np.maximum(values, 0.0) * room))
    return sections


def possible_ellipsoids(model: SEPModel, row: FloatArray, empty: Sequence[EmptyCategory] = ()) -> IntArray:
    """The ellipsoids that a row with missing values may lie in; all, if too many categories are possible."""
    if n_ways(empty) > MOST_WAYS:
        return np.arange(model.n_ellipsoids)
    found = {k for complete in fill_in(row, empty) for k in sections_of(model, complete)}
    return np.array(sorted(found), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SectionBoxes:
    """Boxes in the coordinates of a section, where the section is the unit ball."""

    middles: FloatArray
    halves: FloatArray

    @property
    def reach(self) -> FloatArray:
        """How far a point of both box and ball can be from the middle of the box, of shape (B,)."""
        from_origin = np.linalg.norm(self.middles, axis=1)
        return np.asarray(np.minimum(np.linalg.norm(self.halves, axis=1), 1.0 + from_origin))

    def spread(self, matrices: FloatArray) -> FloatArray:
        """Bounds on ``|M @ offset|`` for offsets from a middle, of shape (B, N), given N matrices of m columns each."""
        by_axis = self.halves @ np.linalg.norm(matrices, axis=-2).T
        by_reach = self.reach[:, None] * np.linalg.norm(matrices, ord=2, axis=(-2, -1))
        return np.asarray(np.minimum(by_axis, by_reach))

    def points(self) -> SectionBoxes:
        """The middles that lie in the ball, as boxes of width zero."""
        middles = self.middles[np.linalg.norm(self.middles, axis=1) <= 1.0]
        return SectionBoxes(middles, np.zeros_like(middles))

    def split(self, lengths: FloatArray) -> SectionBoxes:
        """Cut each box across its longest side, given the lengths of the axes; drop those that miss the ball."""
        each, side = np.arange(len(self.halves)), (self.halves * lengths).argmax(axis=1)
        halves, step = self.halves.copy(), np.zeros_like(self.halves)
        halves[each, side] *= 0.5
        step[each, side] = halves[each, side]
        middles = np.concatenate([self.middles - step, self.middles + step])
        halves = np.concatenate([halves, halves])
        meets = (np.maximum(np.abs(middles) - halves, 0.0) ** 2).sum(axis=1) <= 1.0
        return SectionBoxes(middles[meets], halves[meets])


def is_certain(model: SEPModel, row: FloatArray, label: int, empty: Sequence[EmptyCategory] = ()) -> bool:
    """Whether a row keeps this label, a position among the classes, however it is completed within ellipsoids."""
    if model.weights is None or n_ways(empty) > MOST_WAYS:
        return False
    is_like_training = False
    for complete in fill_in(row, empty):
        sections = list(sections_of(model, complete).values())
        is_like_training = is_like_training or len(sections) > 0
        sections = sections or _point_section(model, complete)
        if not sections or not _is_ahead_in(model, model.weights, sections, complete, label):
            return False
    return is_like_training


def _point_section(model: SEPModel, row: FloatArray) -> list[EllipsoidSection]:
    """A row without missing numbers as a section of one point, wherever it lies; for any other row, an empty list."""
    standardized = model.place(row[None])[0]
    missing = np.isnan(standardized)
    return [] if missing.any() else [EllipsoidSection(missing, standardized, np.empty((0, 0)))]


def _is_ahead_in(
    model: SEPModel, weights: Weights, sections: list[EllipsoidSection], row: FloatArray, label: int
) -> bool:
    """Whether a label is ahead of all others wherever in these sections a row may lie."""
    codes = row[len(model.shift) :]
    others = [other for other in range(len(model.classes)) if other != label]
    beside = [_least_alone(model, weights, row, label, other) for other in others]
    return all(
        _is_ahead(Lead.of(model, weights, section, codes, label, other, alone))
        for section in sections
        for other, alone in zip(others, beside, strict=True)
    )


def _least_alone(model: SEPModel, weights: Weights, row: FloatArray, label: int, other: int) -> float:
    """The least that standalone features add to the lead of a label; those that are missing may have any value."""
    if model.alone is None:
        return 0.0
    least, standardized = 0.0, model.standardize(row[None])[0]
    for j in model.alone.features.tolist():
        knots, levels = weights.curves[j]
        slope, steps = weights.lines[j, label] - weights.lines[j, other], levels[label] - levels[other]
        if np.isnan(standardized[j]):
            least += float(steps.min() - abs(slope) * LINE_END)
        else:
            value = float(np.clip(standardized[j], -LINE_END, LINE_END))
            least += float(slope * value + steps[np.searchsorted(knots, standardized[j], side="right")])
    return least


def _is_ahead(lead: Lead) -> bool:
    m = lead.section.root.shape[1]
    boxes, lengths = SectionBoxes(np.zeros((1, m)), np.ones((1, m))), np.linalg.norm(lead.section.root, axis=0)
    for _ in range(MOST_ROUNDS):
        is_open = lead.least(boxes) <= LEAST_LEAD
        boxes = SectionBoxes(boxes.middles[is_open], boxes.halves[is_open])
        if not is_open.any():
            return True
        if (lead.least(boxes.points()) <= LEAST_LEAD).any() or 2 * len(boxes.middles) > MOST_BOXES:
            return False
        boxes = boxes.split(lengths)
    return False


@dataclass(frozen=True, eq=False)
class Lead:
    """The score of a label minus that of another, in a section."""

    model: SEPModel
    weights: Weights
    section: EllipsoidSection
    constant: float
    label: int
    other: int
    apart: FloatArray
    turned: FloatArray

    @classmethod
    def of(
        cls,
        model: SEPModel,
        weights: Weights,
        section: EllipsoidSection,
        codes: FloatArray,
        label: int,
        other: int,
        alone: float,
    ) -> Lead:
        """Compute what all boxes have in common; standalone features add at least `alone`."""
        placed_weights = model.placed_weights
        assert placed_weights is not None
        by_class = weights.offsets - weights.ellipsoid_means.sum(axis=0) - weights.isolated_mean
        by_class = by_class + weights.category_terms(codes[None])[0].sum(axis=0)
        by_class = by_class + placed_weights.feature_terms(section.center[:, None])[0][~section.missing].sum(axis=0)
        apart = np.einsum("kij,kj->ki", model.roots, section.center - model.centers)
        turned = model.roots[:, :, section.missing] @ section.root
        constant = float(by_class[label] - by_class[other]) + alone
        return cls(model, placed_weights, section, constant, label, other, apart, turned)

    def least(self, boxes: SectionBoxes) -> FloatArray:
        """Lower bounds, one for each box; at points, the lead itself."""
        return np.asarray(
            self.constant + self._of_curves(boxes) + self._of_ellipsoids(boxes) + self._of_isolated(boxes)
        )

    def _of_curves(self, boxes: SectionBoxes) -> FloatArray:
        root, least = self.section.root, np.zeros(len(boxes.middles))
        middles = self.section.center[self.section.missing] + boxes.middles @ root.T
        reach = boxes.spread(root[:, None, :])
        for j, low, high in zip(
            np.flatnonzero(self.section.missing), (middles - reach).T, (middles + reach).T, strict=True
        ):
            knots, levels = self.weights.curves[j]
            slope = self.weights.lines[j, self.label] - self.weights.lines[j, self.other]
            least += _least(slope, np.clip(low, -LINE_END, LINE_END), np.clip(high, -LINE_END, LINE_END))
            first, last = (np.searchsorted(knots, end, side="right") for end in (low, high))
            least += _least_between(levels[self.label] - levels[self.other], first, last)
        return least

    def _of_ellipsoids(self, boxes: SectionBoxes) -> FloatArray:
        at_middle = np.linalg.norm(self.apart + np.einsum("kim,bm->bki", self.turned, boxes.middles), axis=2)
        spread = boxes.spread(self.turned)
        low, high = np.maximum(at_middle - spread, 0.0) ** 2, (at_middle + spread) ** 2
        near, deep = (table[:, self.label] - table[:, self.other] for table in (self.weights.near, self.weights.deep))
        terms = _least(near, nearness(high), nearness(low)) + _least(deep, depth(low), depth(high))
        return np.asarray(terms.sum(axis=1))

    def _of_isolated(self, boxes: SectionBoxes) -> FloatArray:
        coefficients = self.weights.isolated[:, self.label] - self.weights.isolated[:, self.other]
        if len(coefficients) == 0:
            return np.zeros(len(boxes.middles))
        rows = np.repeat(self.section.center[None], len(boxes.middles), axis=0)
        rows[:, self.section.missing] += boxes.middles @ self.section.root.T
        distance = cdist(rows, self.model.isolated)
        spread = boxes.spread(self.section.root[None])
        bells = (
            _bell(distance + spread, self.weights.width),
            _bell(np.maximum(distance - spread, 0), self.weights.width),
        )
        return np.asarray(_least(coefficients, *bells).sum(axis=1))


def _least(coefficients: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The least product of coefficients with anything between two bounds."""
    return np.asarray(np.minimum(coefficients * low, coefficients * high))


def _least_between(levels: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """The least of the levels from each first position to each last one."""
    upto = np.array(
        [np.minimum.accumulate(np.concatenate([np.full(i, np.inf), levels[i:]])) for i in range(len(levels))]
    )
    return np.asarray(upto[first, last])


def _bell(distance: FloatArray, width: float) -> FloatArray:
    flat = isolated_nearness(distance.reshape(-1, 1), np.zeros((1, 1)), width)
    return np.asarray(flat.reshape(distance.shape))


def value_of_information(
    model: SEPModel, row: FloatArray, known: Sequence[tuple[IntArray, FloatArray]], min_trust: float
) -> list[tuple[float, float]]:
    """For each set of values that may become known: the share of draws accepted with them, and the mean trust."""
    completed_rows = np.repeat(row[None, None], len(known), axis=0).repeat(N_DRAWS, axis=1)
    for completed_row, (positions, values) in zip(completed_rows, known, strict=True):
        completed_row[:, positions] = values
    judged = judge_with_gaps(model, completed_rows.reshape(-1, len(row)), min_trust)[1]
    accepted, trust = (values.reshape(len(known), -1).mean(axis=1) for values in (judged["accepted"], judged["trust"]))
    return list(zip(accepted.tolist(), trust.tolist(), strict=True))


def likely_values(model: SEPModel, row: FloatArray, groups: Sequence[IntArray]) -> list[tuple[IntArray, FloatArray]]:
    """For each group of missing features, their positions and values in the completions of a row."""
    if not groups:
        return []
    ((_, completions),) = draw_completions(model, row[None])
    return [(group, completions[0][:, group]) for group in groups]
