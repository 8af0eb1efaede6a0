"""Which features keep a row out of ellipsoids."""

from __future__ import annotations

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.sep.row_phrases import RowPhrases, summed_by_column
from sepc.model.membership import FARTHEST
from sepc.model.sep_model import SEPModel

# Features with a smaller share of the distance are not worth a word.
LEAST_SHARE = 0.05


def separating(told: RowPhrases, i: int, known: BoolArray, runner_up: int) -> list[int]:
    """Columns that keep a row out of the nearest ellipsoid of the runner-up, the strongest first; none if it is in."""
    own = np.flatnonzero(told.model.owners == runner_up)
    if len(own) == 0:
        return []
    nearest = int(own[told.gauges[i, own].argmin()])
    if told.gauges[i, nearest] <= 1.0 + told.model.slack:
        return []
    return _ranked(feature_shares(told.model, told.rows[i], nearest), known, told)


def unusual(told: RowPhrases, i: int, known: BoolArray) -> list[int]:
    """Columns that keep a row out of the nearest ellipsoid, or off the mean without any, the strongest first."""
    if told.model.n_ellipsoids:
        return _ranked(feature_shares(told.model, told.rows[i], int(told.nearest[i])), known, told)
    apart = np.minimum(np.abs(told.model.standardize(told.rows[i : i + 1])[0]), FARTHEST)
    return _ranked(apart / (apart.sum() or 1.0), known, told)


def _ranked(shares: FloatArray, known: BoolArray, told: RowPhrases) -> list[int]:
    """Columns, as their first features, by the sum of the shares of their features; missing ones are left out."""
    summed = summed_by_column(shares[None], known[None], told.column_of)[0]
    order = np.argsort(-summed, kind="stable")
    return [int(j) for j in order if summed[j] >= LEAST_SHARE and known[j]]


def feature_shares(model: SEPModel, row: FloatArray, k: int) -> FloatArray:
    """The share of each feature in the squared radius of `row` in ellipsoid `k`.

    With correlated features, some may reduce the squared radius; their share is zero.
    """
    offset = np.clip(model.standardize(row[None, :])[0] - model.centers[k], -FARTHEST, FARTHEST)
    offset /= np.abs(offset).max() or 1.0
    terms = np.maximum(offset * (model.roots[k].T @ (model.roots[k] @ offset)), 0.0)
    return np.asarray(terms / (terms.sum() or 1.0))
