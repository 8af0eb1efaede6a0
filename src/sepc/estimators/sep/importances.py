"""Feature importances: the mean absolute term of each column."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.columns.preparation import Preparation
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import ANYWHERE, TrainingSummary
from sepc.model.weights import Weights


def importances_of(model: SEPModel, preparation: Preparation | None) -> dict[str, float]:
    """The mean absolute term of each column used, in log-odds, over the training rows.

    With several classes, the size is the largest difference that the column makes between two of them. The distribution
    of numbers comes from the quantiles that the model stores. A date is several features, whose sizes are added.
    """
    weights, usual = model.weights, model.usual
    assert weights is not None
    assert usual is not None
    values = (usual.overall.T - model.shift) / model.scale
    sizes = np.ptp(weights.feature_terms(np.ascontiguousarray(values.T)), axis=2).mean(axis=0)
    by_column = np.bincount(model.column_of, sizes)
    all_categories = () if preparation is None else preparation.all_categories
    for q, (first, categories) in enumerate(zip(weights.category_features, all_categories, strict=False)):
        parts = np.flatnonzero(model.column_of == first)
        by_column[first] = _of_categories(model, weights, usual, categories.encodings, parts, q)
    return {model.feature_names[j]: float(by_column[j]) for j in np.unique(model.column_of)}


def _of_categories(
    model: SEPModel, weights: Weights, usual: TrainingSummary, encodings: FloatArray, parts: IntArray, q: int
) -> float:
    """The mean absolute term of categorical column `q`, which these features encode."""
    rows = np.tile(model.shift, (len(encodings), 1))
    rows[:, parts] = encodings
    terms = weights.feature_terms(np.ascontiguousarray(model.standardize(rows).T))[:, parts].sum(axis=1)
    codes = np.zeros((len(rows), len(weights.category_features)))
    codes[:, q] = np.arange(len(rows))
    terms += weights.category_terms(codes)[:, q]
    of_class = usual.ellipsoid == ANYWHERE
    counts = usual.category_counts[of_class][:, usual.categories_of(int(parts[0]))]
    return float(np.ptp(terms, axis=1) @ (model.shares @ (counts / usual.n_rows[of_class, None])))
