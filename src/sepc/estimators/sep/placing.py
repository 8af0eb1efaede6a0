"""Which features ellipsoids are made of, if there are many: the numbers that a cheap sum of curves finds useful."""

from __future__ import annotations

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimators.sep.training_set import Standardization, TrainingSet
from sepc.estimators.sep.weighed_columns import CurveColumns, PlaceColumns, weights_of
from sepc.kernels.evidence import PRIOR_PENALTY
from sepc.kernels.softmax import fit_softmax
from sepc.model.standalone import Standalone
from sepc.points.proportional_sample import sample_classes

# Up to this many features, ellipsoids are made of all of them; of more, at most this many are chosen. In many
# dimensions ellipsoids take long and hold few rows, and zeros and ones or noise only empty them.
MOST_PLACED = 20
# If fewer numbers are useful, the most useful of the other features are added, up to this many.
FEWEST_PLACED = 5
# Rows on which features are compared, and how many features the sum has curves of: the best ones, taken singly.
COMPARED_ROWS, MOST_CURVES = 2_000, 40
# The tolerance of scores, and the bins of a single feature.
ROUGHLY, N_BINS = 0.1, 8
# A feature is useful if its curve varies by at least this share of the one that varies most.
USEFUL = 0.05


def standalone_of_many(training: TrainingSet, seed: int) -> Standalone | None:
    """The standalone features of a training set: those named and, of many features, all that ellipsoids do without."""
    named, labels = training.alone, training.labels
    directions = {} if named is None else dict(zip(named.features.tolist(), named.directions.tolist(), strict=True))
    every = np.arange(len(training.columns.feature_names))
    free = np.setdiff1d(every, list(directions))
    if len(free) <= MOST_PLACED or len(labels) == 1:
        return named
    placed = free[_chosen(training, free, seed)]
    unplaced = dict.fromkeys(np.setdiff1d(free, placed).tolist(), 0)
    return Standalone.of(unplaced | directions, min(1, len(labels) - 1) if named is None else named.towards)


def _chosen(training: TrainingSet, free: IntArray, seed: int) -> IntArray:
    """The positions, among some features, of those that ellipsoids are made of."""
    n_least = -(-COMPARED_ROWS // (2 * len(training.labels)))
    samples = sample_classes(training.classes, COMPARED_ROWS, seed, n_least)
    which = np.repeat(np.arange(len(samples)), [len(sample.rows) for sample in samples])
    shares = np.repeat([sample.weight for sample in samples], np.bincount(which))
    rows = np.concatenate([sample.rows for sample in samples])
    values = Standardization.of(training.extent).apply(rows)[:, free]
    shares *= len(shares) / shares.sum()
    best = np.argsort(-_single_uses(values, which, shares), kind="stable")[:MOST_CURVES]
    uses = np.zeros(len(free))
    uses[best] = _uses_in_sum(values[:, best], which, shares)
    is_number = _are_numbers(training, values, free)
    useful = np.flatnonzero(is_number & (uses >= USEFUL * uses.max()))
    chosen = useful[np.argsort(-uses[useful], kind="stable")][:MOST_PLACED]
    others = np.setdiff1d(np.argsort(-uses, kind="stable")[: FEWEST_PLACED + len(chosen)], chosen)
    missing = max(FEWEST_PLACED - len(chosen), 0)
    return np.concatenate([chosen, others[np.argsort(-uses[others], kind="stable")][:missing]])


def _are_numbers(training: TrainingSet, values: FloatArray, free: IntArray) -> BoolArray:
    """Which features are neither made of categories nor zeros and ones."""
    encoded = [column.feature + k for column in training.columns.of_categories for k in range(column.n_features)]
    has_levels = [len(np.unique(column)) > 2 for column in values.T]
    return np.array(has_levels) & ~np.isin(free, encoded)


def _single_uses(values: FloatArray, which: IntArray, shares: FloatArray) -> FloatArray:
    """How far the classes of rows differ between bins of each feature: chi-squared, beyond that of noise."""
    expected = np.bincount(which, shares) / shares.sum()
    n_classes, uses = len(expected), np.zeros(values.shape[1])
    ends = np.quantile(values, np.arange(1, N_BINS) / N_BINS, axis=0, method="higher")
    for j, column in enumerate(values.T):
        edges = np.unique(ends[:, j])
        edges = edges[edges > column.min()] if edges[-1] > column.min() else column.max(keepdims=True)
        places = np.searchsorted(edges, column, side="right")
        counts = np.bincount(places * n_classes + which, shares, (len(edges) + 1) * n_classes).reshape(-1, n_classes)
        of_bins = counts.sum(axis=1, keepdims=True) * expected
        uses[j] = ((counts - of_bins) ** 2 / np.maximum(of_bins, 1e-9)).sum() - len(edges) * (n_classes - 1)
    return uses


def _uses_in_sum(values: FloatArray, which: IntArray, shares: FloatArray) -> FloatArray:
    """How much the curve of each feature varies in a sum of curves that is fitted with one penalty."""
    curves = CurveColumns.of(values, np.empty((len(values), 0), dtype=np.int64), ())
    none, n_classes = PlaceColumns.none(len(values)), int(which.max()) + 1
    fit = fit_softmax(curves.beside(none), which, n_classes, penalty=PRIOR_PENALTY, weights=shares, tol=ROUGHLY)
    terms = weights_of(curves, none, fit.coefficients, fit.offsets, 0, 1.0).feature_terms(values.T)
    return np.asarray(terms.std(axis=0).max(axis=1))
