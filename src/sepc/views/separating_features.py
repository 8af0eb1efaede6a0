"""Which features tell classes apart best, as far as their ellipsoids say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.shapes.ellipsoid import Ellipsoid


def half_widths(ellipsoid: Ellipsoid) -> FloatArray:
    """How far an ellipsoid reaches from its centre along every feature, of shape (d,)."""
    return np.asarray(np.linalg.norm(ellipsoid.inverse_root, axis=1))


def features_apart(ellipsoids: Sequence[Ellipsoid]) -> IntArray:
    """Positions of the features, the one in which the ellipsoids differ most first.

    For two ellipsoids, the distance of their centres along the feature is divided by the sum of their half widths: 0 if
    the centres agree, 1 if the ellipsoids just touch there. The mean over all pairs counts; ties keep their order.

    Examples
    --------
    >>> left, right = Ellipsoid(np.array([0.0, 0.0]), np.eye(2)), Ellipsoid(np.array([0.1, 3.0]), np.eye(2))
    >>> features_apart([left, right])
    array([1, 0])
    """
    widths = [half_widths(one) for one in ellipsoids]
    apart = np.zeros(ellipsoids[0].n_features)
    for i, j in combinations(range(len(ellipsoids)), 2):
        apart += np.abs(ellipsoids[i].center - ellipsoids[j].center) / (widths[i] + widths[j])
    return np.argsort(-apart, kind="stable")
