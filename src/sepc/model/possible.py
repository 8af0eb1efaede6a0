"""What is certain about a row with gaps: the ellipsoids it may lie in, and whether any of them can change its label.

Fixing the known features cuts an ellipsoid along them: what is left is an ellipsoid in the missing features, or
nothing. Over each of these, every term of the score is bounded: a curve by its values between the ends of the feature's
range, an ellipsoid's term by how near and how deep a row of the cut can lie, isolated rows by how near they can be. If
the sums of these bounds leave one label on top, no way to fill the gaps changes it, as long as the row lies in an
ellipsoid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.sep_model import SEPModel
from sepc.model.weights import LINE_END, Weights, depth, isolated_nearness, nearness


@dataclass(frozen=True, eq=False)
class Cut:
    """An ellipsoid cut along the known features of a row.

    Attributes
    ----------
    missing : (d,) bool array
    center : (d,) array
        The row, with the center of the cut in place of the gaps.
    root : (m, m) array
        The cut holds ``center + root @ u`` for all u of length at most 1.
    """

    missing: BoolArray
    center: FloatArray
    root: FloatArray

    @property
    def reach(self) -> FloatArray:
        """How far the cut runs to either side of its center, of shape (m,)."""
        return np.asarray(np.sqrt((self.root**2).sum(axis=1)))


def cuts_of(model: SEPModel, row: FloatArray) -> dict[int, Cut]:
    """The ellipsoids that a row with gaps, which are NaN, may lie in, each cut along what is known of the row."""
    missing, cuts = np.isnan(row[: len(model.shift)]), {}
    standardized = model.standardize(row[None])[0]
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
            cuts[k] = Cut(missing, center, vectors * np.sqrt(np.maximum(values, 0.0) * room))
    return cuts


def is_certain(model: SEPModel, row: FloatArray, label: int) -> bool:
    """Whether a row keeps this label, a position among the classes, however its gaps are filled within ellipsoids."""
    weights, cuts = model.weights, cuts_of(model, row)
    if weights is None or not cuts:
        return False
    codes = row[len(model.shift) :]
    return all(_is_best(model, weights, cut, codes, label) for cut in cuts.values())


def _is_best(model: SEPModel, weights: Weights, cut: Cut, codes: FloatArray, label: int) -> bool:
    others = [other for other in range(len(model.classes)) if other != label]
    return all(_least_lead(model, weights, cut, codes, label, other) > 0.0 for other in others)


def _least_lead(model: SEPModel, weights: Weights, cut: Cut, codes: FloatArray, label: int, other: int) -> float:
    """A lower bound on the score of a label minus that of another, anywhere in a cut."""
    lead = float(weights.offsets[label] - weights.offsets[other])
    lead += float(
        (weights.category_terms(codes[None])[0, :, label] - weights.category_terms(codes[None])[0, :, other]).sum()
    )
    low, high = _range(cut)
    for j, (knots, levels) in enumerate(weights.curves):
        slope = float(weights.lines[j, label] - weights.lines[j, other])
        ends = slope * np.clip([low[j], high[j]], -LINE_END, LINE_END)
        first, last = np.searchsorted(knots, [low[j], high[j]], side="right")
        lead += float(ends.min() + (levels[label] - levels[other])[first : last + 1].min())
    squared = _squared_range(model, cut)
    near, deep = (table[:, label] - table[:, other] for table in (weights.near, weights.deep))
    lead += float(_least(near, nearness(squared[1]), nearness(squared[0])).sum())
    lead += float(_least(deep, depth(squared[0]), depth(squared[1])).sum())
    lead -= float((weights.ellipsoid_means[:, label] - weights.ellipsoid_means[:, other]).sum())
    return lead + _least_of_isolated(model, weights, cut, label, other)


def _range(cut: Cut) -> tuple[FloatArray, FloatArray]:
    reach = np.zeros(len(cut.center))
    reach[cut.missing] = cut.reach
    return cut.center - reach, cut.center + reach


def _least(coefficients: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The least product of coefficients with anything between two bounds."""
    return np.asarray(np.minimum(coefficients * low, coefficients * high))


def _squared_range(model: SEPModel, cut: Cut) -> tuple[FloatArray, FloatArray]:
    """Bounds on the squared radius in every ellipsoid, anywhere in a cut."""
    at_center = np.linalg.norm(np.einsum("kij,kj->ki", model.roots, cut.center - model.centers), axis=1)
    spread = np.linalg.norm(model.roots[:, :, cut.missing] @ cut.root, ord=2, axis=(1, 2))
    return np.maximum(at_center - spread, 0.0) ** 2, (at_center + spread) ** 2


def _least_of_isolated(model: SEPModel, weights: Weights, cut: Cut, label: int, other: int) -> float:
    coefficients = weights.isolated[:, label] - weights.isolated[:, other]
    mean = float(weights.isolated_mean[label] - weights.isolated_mean[other])
    if len(coefficients) == 0:
        return -mean
    distance = np.linalg.norm(model.isolated - cut.center, axis=1)
    spread = float(np.linalg.norm(cut.root, ord=2))
    bounds = (_bell(distance + spread, weights.width), _bell(np.maximum(distance - spread, 0.0), weights.width))
    return float(_least(coefficients, *bounds).sum()) - mean


def _bell(distance: FloatArray, width: float) -> FloatArray:
    return isolated_nearness(distance[:, None], np.zeros((1, 1)), width)[:, 0]


def possible_ellipsoids(model: SEPModel, row: FloatArray) -> IntArray:
    """The ellipsoids that a row with gaps may lie in."""
    return np.array(list(cuts_of(model, row)), dtype=np.int64)
