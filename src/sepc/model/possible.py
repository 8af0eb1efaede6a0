"""The ellipsoids that a row with gaps may lie in.

Fixing the known features cuts an ellipsoid along them: what is left is an ellipsoid in the missing features, or
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.sep_model import SEPModel


@dataclass(frozen=True, eq=False)
class Cut:
    """An ellipsoid cut along the known features of a row.

    Attributes
    ----------
    missing : (d,) bool array
    center : (d,) array
        The row, with the center of the cut in place of the gaps.
    root : (m, m) array
        The cut holds ``center + root @ u`` for all u of length at most 1.
    """

    missing: BoolArray
    center: FloatArray
    root: FloatArray


def cuts_of(model: SEPModel, row: FloatArray) -> dict[int, Cut]:
    """The ellipsoids that a row with gaps, which are NaN, may lie in, each cut along what is known of the row."""
    missing, cuts = np.isnan(row[: len(model.shift)]), {}
    standardized = model.standardize(row[None])[0]
    for k in range(model.n_ellipsoids):
        form = model.roots[k].T @ model.roots[k]
        inverse = np.linalg.inv(form[np.ix_(missing, missing)])
        apart = (standardized - model.centers[k])[~missing]
        pull = form[np.ix_(missing, ~missing)] @ apart
        least = apart @ form[np.ix_(~missing, ~missing)] @ apart - pull @ inverse @ pull
        room = 1.0 + model.slack - least
        if room >= 0.0:
            center = standardized.copy()
            center[missing] = model.centers[k][missing] - inverse @ pull
            values, vectors = np.linalg.eigh(0.5 * (inverse + inverse.T))
            cuts[k] = Cut(missing, center, vectors * np.sqrt(np.maximum(values, 0.0) * room))
    return cuts


def possible_ellipsoids(model: SEPModel, row: FloatArray) -> IntArray:
    """The ellipsoids that a row with gaps may lie in."""
    return np.array(list(cuts_of(model, row)), dtype=np.int64)
