"""Summarise training rows: what is usual among them, and the mixture that missing values are imputed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.imputation_mixture import ImputationMixture
from sepc.model.membership import squared_radii
from sepc.model.normal_scores import NormalScores
from sepc.model.seen_rows import SeenRows
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import FeatureDisplay, summarise_rows
from sepc.points.proportional_sample import ClassSample

# A component of the mixture has at least this many rows per feature. Its covariance is shrunk towards that of its
# class, and that of a class towards that of all classes, each with the weight of this many rows per feature.
ROWS_A_FEATURE = 1.0
# Added to all variances. Less than the thickness of ellipsoids around flat sets, so that completions lie in them.
RIDGE = 1e-9
# More rows than this, in total or of each of many classes, add little.
MOST_ROWS, CLASS_ROWS = 5_000, 500
# With more features than this, a model would consist mostly of covariances.
MOST_FEATURES = 256


def summarise_training(
    model: SEPModel,
    samples: Sequence[ClassSample],
    weight_scale: float,
    displays: Sequence[FeatureDisplay],
    *,
    keep_hashes: bool = True,
) -> SEPModel:
    """Add to a model a summary of its training rows, hashes of some of them and, with weights, the imputation mixture.

    Samples of the classes are in the user's own features, followed by category codes. Each row counts as
    `weight_scale` rows. Without `keep_hashes`, no row is hashed.
    """
    drawn = np.concatenate([sample.rows for sample in samples])
    seen = SeenRows.of(drawn, displays) if keep_hashes else SeenRows.none()
    samples = _thin_out(samples)
    rows = np.concatenate([sample.rows for sample in samples])
    classes = np.repeat(np.arange(len(samples)), [len(sample.rows) for sample in samples])
    shares = np.array([sample.weight for sample in samples])
    squared = squared_radii(model.place(rows), model.centers, model.roots)
    usual = summarise_rows(rows, classes, shares[classes], squared <= 1.0 + model.slack, displays)
    kinds = None
    if model.weights is not None and len(model.shift) <= MOST_FEATURES:
        kinds = _row_kinds(model, rows[:, : len(model.shift)], classes, shares, squared, weight_scale)
    return replace(model, usual=usual, seen_rows=seen, row_kinds=kinds)


def _row_kinds(
    model: SEPModel, rows: FloatArray, classes: IntArray, shares: FloatArray, squared: FloatArray, weight_scale: float
) -> ImputationMixture:
    """The imputation mixture, given the weight of a row of each class and the squared radii in all ellipsoids."""
    scores = NormalScores.fit(rows, shares[classes], model.shift, model.scale)
    kind = _kinds(model, classes, squared, weight_scale)
    owners, n_rows = np.full(kind.max() + 1, -1), np.bincount(kind) * weight_scale
    owners[kind] = classes
    class_rows = np.zeros((len(n_rows), len(shares)))
    class_rows[np.arange(len(n_rows)), owners] = n_rows * shares[owners]
    centers, covariances = _distributions(scores.of(rows), kind, owners, shares, weight_scale)
    return ImputationMixture(scores, centers, covariances, class_rows)


def _thin_out(samples: Sequence[ClassSample]) -> list[ClassSample]:
    """Every n-th row of each sample; samples are in the order of their hashes."""
    most = max(MOST_ROWS // len(samples), CLASS_ROWS)
    few = [sample.rows[:: -(-len(sample.rows) // most)] for sample in samples]
    return [
        ClassSample(rows, sample.weight * len(sample.rows) / len(rows))
        for rows, sample in zip(few, samples, strict=True)
    ]


def _kinds(model: SEPModel, classes: IntArray, squared: FloatArray, weight_scale: float) -> IntArray:
    """The component of each row: its deepest ellipsoid if that has its class and enough rows, else its class."""
    n_classes, kind = len(model.classes), classes.copy()
    if model.n_ellipsoids:
        deepest = squared.argmin(axis=1)
        is_inside = squared.min(axis=1) <= 1.0 + model.slack
        is_own = is_inside & (model.owners[deepest] == classes)
        n_own = np.bincount(deepest[is_own], minlength=model.n_ellipsoids)
        has_enough = n_own * weight_scale >= ROWS_A_FEATURE * len(model.shift)
        is_own &= has_enough[deepest]
        kind[is_own] = n_classes + deepest[is_own]
    return np.asarray(np.unique(kind, return_inverse=True)[1].ravel())


def _distributions(
    scores: FloatArray, kind: IntArray, owners: IntArray, shares: FloatArray, weight_scale: float
) -> tuple[FloatArray, FloatArray]:
    """Means and covariances of the components."""
    d, n_classes = scores.shape[1], len(shares)
    by_kind = [scores[kind == g] for g in range(len(owners))]
    centers = np.array([members.mean(axis=0) for members in by_kind])
    scatters = np.array([_scatter(members - center) for members, center in zip(by_kind, centers, strict=True)])
    scatters *= weight_scale
    n_rows, pull = np.bincount(kind) * weight_scale, ROWS_A_FEATURE * d
    everyone = np.average(scatters / n_rows[:, None, None], axis=0, weights=n_rows * shares[owners])
    covariances = np.empty_like(scatters)
    for c in range(n_classes):
        kinds = np.flatnonzero(owners == c)
        of_class = (scatters[kinds].sum(axis=0) + pull * everyone) / (n_rows[kinds].sum() + pull)
        covariances[kinds] = (scatters[kinds] + pull * of_class) / (n_rows[kinds] + pull)[:, None, None]
    return centers, covariances + RIDGE * np.eye(d)


def _scatter(apart: FloatArray) -> FloatArray:
    """Sums of products, symmetric to the last bit."""
    products = apart.T @ apart
    return np.asarray(0.5 * (products + products.T))
