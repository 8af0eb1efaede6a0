"""How far the counts in an ellipsoid are to be trusted, and the labels a model gives over a picture."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.rules import judge, judge_sets
from sepc.model.sep_model import SEPModel
from sepc.views.planes import Plane


def trust_in_ellipsoids(model: SEPModel) -> FloatArray:
    """Trust of a row that lies in one ellipsoid alone, by the counts of the training rows there; of shape (K,).

    Weights trust rows of one ellipsoid differently, each by its own values, so that they have no one trust to tell.
    """
    return judge_sets(model, np.eye(model.n_ellipsoids, dtype=bool)).trust


def trust_over(
    model: SEPModel, plane: Plane, low: FloatArray, high: FloatArray, n: int = 240
) -> tuple[IntArray, FloatArray]:
    """Label, as a position in `classes`, and trust over a picture of a model of two features.

    Parameters
    ----------
    model : SEPModel
        Of two features.
    plane : Plane
        Those features.
    low, high : (2,) arrays
        Opposite corners of the picture, in the plane.
    n : int
        Pixels a side.

    Returns
    -------
    label, trust : (n, n) arrays
        The first row is the lowest.
    """
    middles = (np.arange(n) + 0.5) / n
    x, y = np.meshgrid(*(low + (high - low) * middles[:, None]).T)
    pixels = np.column_stack([x.ravel(), y.ravel()])
    decisions = judge(model, plane.origin + np.linalg.solve(plane.directions, pixels.T).T, 0.0)
    label = np.searchsorted(model.classes, decisions.label)
    return label.reshape(n, n), decisions.trust.reshape(n, n)
