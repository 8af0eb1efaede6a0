"""Feature importances: the mean absolute term of each column."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray
from sepc.columns.preparation import Preparation, origin_of
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
    names = model.feature_names
    if preparation is None:
        return dict(zip(names, sizes.tolist(), strict=True))
    importances = dict.fromkeys((origin_of(name) for name in names), 0.0)
    for name, size in zip(names, sizes.tolist(), strict=True):
        importances[origin_of(name)] += size
    for q, feature in enumerate(preparation.category_features.tolist()):
        column = origin_of(names[feature])
        encodings = preparation.categories[column].encodings
        parts = [j for j, name in enumerate(names) if origin_of(name) == column]
        importances[column] = _of_categories(model, weights, usual, encodings, parts, q)
    return importances


def _of_categories(
    model: SEPModel, weights: Weights, usual: TrainingSummary, encodings: FloatArray, parts: list[int], q: int
) -> float:
    """The mean absolute term of categorical column `q`, which these features encode."""
    rows = np.tile(model.shift, (len(encodings), 1))
    rows[:, parts] = encodings
    terms = weights.feature_terms(np.ascontiguousarray(model.standardize(rows).T))[:, parts].sum(axis=1)
    codes = np.zeros((len(rows), len(weights.category_features)))
    codes[:, q] = np.arange(len(rows))
    terms += weights.category_terms(codes)[:, q]
    of_class = usual.ellipsoid == ANYWHERE
    counts = usual.category_counts[of_class][:, usual.categories_of(parts[0])]
    return float(np.ptp(terms, axis=1) @ (model.shares @ (counts / usual.n_rows[of_class, None])))
