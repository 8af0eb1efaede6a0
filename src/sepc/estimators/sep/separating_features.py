"""Which features keep a row out of ellipsoids."""

from __future__ import annotations

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.sep.row_phrases import RowPhrases, summed_by_column
from sepc.model.membership import FARTHEST
from sepc.model.sep_model import SEPModel

# Columns with a smaller share of the distance are not mentioned.
LEAST_SHARE = 0.05


def separating_features(phrases: RowPhrases, i: int, known: BoolArray, runner_up: int) -> list[int]:
    """Columns that keep a row out of the runner-up's nearest ellipsoid, strongest first; empty if it lies inside."""
    ellipsoids = np.flatnonzero(phrases.model.owners == runner_up)
    if len(ellipsoids) == 0:
        return []
    nearest = int(ellipsoids[phrases.gauges[i, ellipsoids].argmin()])
    if phrases.gauges[i, nearest] <= 1.0 + phrases.model.slack:
        return []
    return _rank_columns(feature_shares(phrases.model, phrases.rows[i], nearest), known, phrases)


def unusual_features(phrases: RowPhrases, i: int, known: BoolArray) -> list[int]:
    """Columns that keep a row out of the nearest ellipsoid or, without ellipsoids, off the mean; strongest first."""
    if phrases.model.n_ellipsoids:
        return _rank_columns(feature_shares(phrases.model, phrases.rows[i], int(phrases.nearest[i])), known, phrases)
    model = phrases.model
    apart = np.minimum(np.abs(model.standardize(phrases.rows[i : i + 1])[0]), FARTHEST) * model.is_placed
    return _rank_columns(apart / (apart.sum() or 1.0), known, phrases)


def _rank_columns(shares: FloatArray, known: BoolArray, phrases: RowPhrases) -> list[int]:
    """Columns, as their first features, by the sum of the shares of their features; missing ones are left out."""
    summed = summed_by_column(shares[None], known[None], phrases.model.column_of)[0]
    order = np.argsort(-summed, kind="stable")
    return [int(j) for j in order if summed[j] >= LEAST_SHARE and known[j]]


def feature_shares(model: SEPModel, row: FloatArray, k: int) -> FloatArray:
    """The share of each feature in the squared radius of `row` in ellipsoid `k`.

    With correlated features, some may reduce the squared radius; their share is zero, like that of standalone features.
    """
    offset = np.clip(model.place(row[None, :])[0] - model.centers[k], -FARTHEST, FARTHEST)
    offset /= np.abs(offset).max() or 1.0
    terms = np.maximum(offset * (model.roots[k].T @ (model.roots[k] @ offset)), 0.0)
    shares = np.zeros(len(model.shift))
    shares[model.placed] = terms / (terms.sum() or 1.0)
    return shares
