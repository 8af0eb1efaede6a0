"""Planes in which the labels of rows are well apart, by the scatter between and within them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from sepc._typing import FloatArray
from sepc.model.sep_model import SEPModel
from sepc.views.planes import Plane
from sepc.wording import listed, name_of

# Added to the variance within labels, as a share of the whole, so that constant features divide by no zero.
LEAST_WITHIN = 1e-6
# Features named on an axis that combines several.
N_NAMED = 2


def most_separating_pair(rows: FloatArray, labels: NDArray[Any]) -> tuple[int, int]:
    """Positions of the two features in which the labels are farthest apart, the better one first.

    That is, with the largest sum of squared distances between the means of labels, in units of the scatter within.

    Examples
    --------
    >>> rows = np.array([[0.0, 5.0, 0.0], [1.0, 5.1, 0.1], [0.2, 4.9, 3.0], [0.8, 5.0, 3.1]])
    >>> most_separating_pair(rows, np.array(["a", "a", "b", "b"]))[0]
    2
    """
    between, within = _scatters(rows, labels)
    alone = np.diag(between) / np.diag(within)
    own, spread = np.diag(between), np.diag(within)
    # The trace of `inverse(within) @ between` for every pair of features, written out.
    crossed = np.outer(spread, own) + np.outer(own, spread) - 2.0 * within * between
    separation = np.triu(crossed / np.maximum(np.outer(spread, spread) - within**2, np.finfo(float).tiny), 1)
    pair = np.unravel_index(separation.argmax(), separation.shape)
    first, second = sorted(map(int, pair), key=lambda j: -alone[j])
    return first, second


def separating_plane(model: SEPModel, rows: FloatArray, labels: NDArray[Any]) -> Plane | None:
    """The two directions in which the labels of rows are farthest apart; None if there are fewer than three labels."""
    if len(np.unique(labels)) < 3:
        return None
    between, within = _scatters(model.standardize(rows), labels)
    directions = eigh(between, within)[1][:, :-3:-1].T
    directions = directions * np.sign(directions[np.arange(2), np.abs(directions).argmax(axis=1)])[:, np.newaxis]
    names = [
        listed(name_of(model.feature_names[j]) for j in np.argsort(-np.abs(direction), kind="stable")[:N_NAMED])
        for direction in directions
    ]
    return Plane(
        origin=rows.mean(axis=0),
        directions=directions / model.scale,
        names=(f"what separates the labels best: {names[0]} above all", f"second best: {names[1]} above all"),
    )


def _scatters(rows: FloatArray, labels: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """The covariance between the means of labels, and the one within labels."""
    centered = rows - rows.mean(axis=0)
    values, which, counts = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(which, column) for column in centered.T], axis=1) / counts[:, np.newaxis]
    inner = centered - means[which]
    total = centered.var(axis=0)
    ridge = LEAST_WITHIN * np.where(total > 0.0, total, 1.0)
    return (means.T * counts) @ means / len(rows), inner.T @ inner / len(rows) + np.diag(ridge)
