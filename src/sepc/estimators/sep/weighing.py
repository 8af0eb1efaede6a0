"""Fit the weights of a partition to labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.estimators.sep.crossing import Crossing, ellipsoid_arrays, left_out_radii
from sepc.estimators.sep.multiclass import Pieces
from sepc.estimators.sep.weighed_columns import (
    CATEGORIES,
    DEEP,
    ISOLATED,
    LINES,
    NEAR,
    STEPS,
    CategoryColumn,
    CurveColumns,
    PlaceColumns,
    weights_of,
)
from sepc.kernels.evidence import Penalties, learn_penalties
from sepc.kernels.softmax import fit_softmax
from sepc.model.membership import squared_radii
from sepc.model.sep_model import SEPModel
from sepc.model.weights import Weights, depth, isolated_nearness, nearness
from sepc.points.proportional_sample import ClassSample

# The most rows to fit weights to: a few hundred weights gain nothing from more.
WEIGHED_ROWS = 40_000

# The most rows to learn penalties from. Penalties reflect the size of weights, not the number of rows.
PENALTY_ROWS = 10_000

# The tolerance of scores, which changes no probability by more than a quarter of it.
EXACT_TO = 1e-6

# Gaussians around isolated rows are this many times as wide as the model's reach. With more isolated rows than this,
# only some have a weight, evenly spaced among all; and penalties are learned from fewer. On covertype, 500 of
# 3,379 are as good as the first 1,000.
WIDTH_IN_REACHES = 2.0
MOST_ISOLATED = 500
PENALTY_ISOLATED = 200

# A group of weights with fewer effective degrees of freedom than this is left out: its weights would be near zero.
NOTHING = 0.05


@dataclass(frozen=True, eq=False)
class Weighing:
    """Rows to fit the weights of a model to."""

    model: SEPModel
    values: FloatArray
    placed: FloatArray
    which: IntArray
    counts: FloatArray
    curves: CurveColumns

    @classmethod
    def of(
        cls,
        model: SEPModel,
        samples: Sequence[ClassSample],
        category_columns: Sequence[CategoryColumn] = (),
        weight_scale: float = 1.0,
    ) -> Self:
        """From samples of the classes, in the user's own features, followed by category codes."""
        given = np.concatenate([sample.rows for sample in samples])
        sizes = [len(sample.rows) for sample in samples]
        shares = np.repeat([sample.weight for sample in samples], sizes)
        values, codes = model.standardize(given), given[:, len(model.shift) :].astype(np.int64)
        curves = CurveColumns.of(values, codes, category_columns, _directions(model))
        counts = shares * (len(given) * weight_scale / shares.sum())
        return cls(model, values, model.place(given), np.repeat(np.arange(len(samples)), sizes), counts, curves)

    def penalties(self, crossing: Crossing) -> Penalties:
        """Learn a penalty for every group, from rows in partitions that have not seen them."""
        positions = np.flatnonzero(crossing.folds >= 0)
        if len(positions) == 0:
            return Penalties.of_prior(len(self.curves.kinds))
        positions = positions[_evenly_spaced(len(positions), PENALTY_ROWS)]
        values, folds = self.values[positions], crossing.folds[positions]
        places = PlaceColumns.none(len(positions))
        for fold, (pieces, seen) in enumerate(zip(crossing.pieces, crossing.seen_by, strict=True)):
            is_in = folds == fold
            if is_in.any():
                values[is_in] = self.model.standardize(seen.rows[positions[is_in]])
                placed = self.model.place(seen.rows[positions[is_in]])
                squared = squared_radii(placed, *ellipsoid_arrays(pieces, placed.shape[1]))
                isolated = pieces.isolated[_evenly_spaced(len(pieces.isolated), PENALTY_ISOLATED)]
                columns = PlaceColumns.of(placed, squared, isolated, self._width)
                places = places.beside(columns.within(is_in))
        curves = self.curves.of_rows(values, positions)
        # Classes without any row here are ignored.
        classes, which = np.unique(self.which[positions], return_inverse=True)
        signs, at = curves.signs(places), np.flatnonzero(classes == self._towards)
        return learn_penalties(
            curves.beside(places),
            which,
            len(classes),
            curves.groups(places),
            curves.kinds,
            weights=self.counts[positions],
            signs=signs if len(at) else None,
            signs_for=int(at[0]) if len(at) else 0,
        )

    def weights(self, pieces: Pieces, penalties: Penalties) -> Weights:
        """Fit the weights at these penalties, with gauges as if each row had been left out of the partition."""
        model, curves = self.model, self.curves
        weighed = _evenly_spaced(len(model.isolated), MOST_ISOLATED)
        isolated, width = model.isolated[weighed], self._width
        squared = squared_radii(self.placed, model.centers, model.roots)
        if penalties.n_rounds:
            kinds, is_kept = curves.kinds, penalties.n_effective >= NOTHING
            curves = curves.only(is_kept[kinds == CATEGORIES], is_kept[kinds == STEPS], is_kept[kinds == LINES])
            places = PlaceColumns.of(self.placed, left_out_radii(self.placed, pieces), isolated, width)
            near, deep, beside = (bool(is_kept[kinds == kind].all()) for kind in (NEAR, DEEP, ISOLATED))
            places = places.only(near=near, deep=deep, isolated=beside)
        else:
            places = PlaceColumns.of(self.placed, squared.copy(), isolated, width)
        roots = np.sqrt(penalties.penalties[curves.groups(places)])
        columns, n_classes = curves.beside(places).scale_columns(1.0 / roots), len(model.classes)
        solution = fit_softmax(
            columns,
            self.which,
            n_classes,
            penalty=1.0,
            weights=self.counts,
            tol=EXACT_TO,
            signs=curves.signs(places),
            signs_for=self._towards,
        )
        coefficients = solution.coefficients / roots[:, np.newaxis]
        weights = weights_of(curves, places, coefficients, solution.offsets, len(isolated), width)
        beside = isolated_nearness(self.placed, isolated, width).mean(axis=0)
        weights = _centre(weights, nearness(squared.copy()).mean(axis=0), depth(squared).mean(axis=0), beside)
        all_isolated = np.zeros((len(model.isolated), n_classes))
        all_isolated[weighed] = weights.isolated
        return replace(weights, isolated=all_isolated)

    @property
    def _towards(self) -> int:
        """The class that the directions of curves refer to."""
        return 0 if self.model.alone is None else self.model.alone.towards

    @property
    def _width(self) -> float:
        """The width of Gaussians around isolated rows; arbitrary without such rows, or if all rows are equal."""
        return (WIDTH_IN_REACHES * self.model.reach if len(self.model.isolated) else 0.0) or 1.0


def _directions(model: SEPModel) -> IntArray | None:
    """For each feature of a model, the direction of its curve, or 0; None if all are free."""
    if model.alone is None or not model.alone.directions.any():
        return None
    directions = np.zeros(len(model.shift), dtype=np.int64)
    directions[model.alone.features] = model.alone.directions
    return directions


def _evenly_spaced(n: int, n_most: int) -> IntArray:
    """At most `n_most` evenly spaced positions below `n`."""
    return np.linspace(0, n - 1, min(n, n_most)).astype(np.int64)


def _centre(weights: Weights, near: FloatArray, deep: FloatArray, isolated: FloatArray) -> Weights:
    """Centre the terms of places, given the averages of nearness and depth."""
    means = near[:, np.newaxis] * weights.near + deep[:, np.newaxis] * weights.deep
    isolated_mean = isolated @ weights.isolated
    moved = (means - weights.ellipsoid_means).sum(axis=0) + (isolated_mean - weights.isolated_mean)
    return replace(weights, offsets=weights.offsets + moved, ellipsoid_means=means, isolated_mean=isolated_mean)
