"""Trust for pictures: in each ellipsoid by its counts, and over a grid of pixels."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.count_rules import judge_sets
from sepc.model.rules import judge
from sepc.model.sep_model import SEPModel
from sepc.views.planes import Plane


def trust_in_ellipsoids(model: SEPModel) -> FloatArray:
    """Trust of rows that lie in a single ellipsoid, by the counts of its training rows; of shape (K,).

    With weights, each row has its own trust, so an ellipsoid has none; counts are used for these models too.
    """
    return judge_sets(model, np.eye(model.n_ellipsoids, dtype=bool)).trust


def trust_over(
    model: SEPModel, plane: Plane, low: FloatArray, high: FloatArray, n: int = 240
) -> tuple[IntArray, FloatArray]:
    """Labels and trust over a grid of pixels, for a model of two features.

    Parameters
    ----------
    model : SEPModel
        Of two features.
    plane : Plane
        The plane of these features.
    low, high : (2,) arrays
        Opposite corners of the picture, in the plane.
    n : int
        Pixels per side.

    Returns
    -------
    label, trust : (n, n) arrays
        Labels are positions in `classes`. The first row is the lowest.
    """
    middles = (np.arange(n) + 0.5) / n
    x, y = np.meshgrid(*(low + (high - low) * middles[:, None]).T)
    pixels = np.column_stack([x.ravel(), y.ravel()])
    decisions = judge(model, plane.origin + np.linalg.solve(plane.directions, pixels.T).T, 0.0)
    label = np.searchsorted(model.classes, decisions.label)
    return label.reshape(n, n), decisions.trust.reshape(n, n)
