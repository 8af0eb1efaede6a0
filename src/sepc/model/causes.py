"""Causes of abstention: the row is far from all training rows, or labels overlap there, or evidence is thin."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.kinds import Cause, Rule
from sepc.kernels.threads import single_threaded
from sepc.model.locate import as_values, pack_sets, unpack_sets
from sepc.model.membership import tiles_of_squared_radii
from sepc.model.sep_model import SEPModel

# Numbers in memory at a time: 32 MB.
BLOCK_ENTRIES = 2**22

# Placeholder for the cause of a rejected row until it is looked up.
NOT_YET = -1


@single_threaded
def look_up_causes(model: SEPModel, min_trust: float, rows: FloatArray, rule: IntArray, known: IntArray) -> IntArray:
    """Fill in the causes of rows, given in the user's own features; causes already known stay as they are."""
    cause, open_rows = known.copy(), np.flatnonzero(known == NOT_YET)
    if len(open_rows) == 0:
        return cause
    standardized = model.place(rows[open_rows])
    cause[open_rows] = causes(model, standardized, rule[open_rows] != Rule.NEAREST, min_trust)
    return cause


def causes(model: SEPModel, standardized: FloatArray, inside: BoolArray, min_trust: float) -> IntArray:
    """Why rows are not accepted, judged by the training rows within the model's reach.

    UNSEEN if there are none and the row lies in no ellipsoid. THIN if at least a share `min_trust` of them agree on a
    label, so that more rows like them would be enough. OVERLAP otherwise.

    Parameters
    ----------
    model : SEPModel
    standardized : (n, d) array
    inside : (n,) bool array
        Whether a row lies in an ellipsoid.
    min_trust : float
    """
    cause = np.empty(len(standardized), dtype=np.int64)
    n_block = max(1, BLOCK_ENTRIES // max(1, model.n_places))
    for start in range(0, len(cause), n_block):
        block = slice(start, start + n_block)
        near = _rows_within_reach(model, standardized[block])
        n_near = near.sum(axis=1)
        is_outside = (n_near == 0) & ~inside[block]
        is_thin = near.max(axis=1) >= min_trust * n_near
        cause[block] = np.where(is_outside, Cause.UNSEEN, np.where(is_thin, Cause.THIN, Cause.OVERLAP))
    return cause


def _rows_within_reach(model: SEPModel, standardized: FloatArray) -> FloatArray:
    """Count the training rows of each class within reach, of shape (n, C).

    A training row counts if all its ellipsoids are within reach: a large one may be near although the row lies in a
    small one far away. An isolated row counts if it is itself within reach.
    """
    keys = np.concatenate(
        [
            pack_sets(_within_reach(model, standardized[place], squared))
            for place, squared in tiles_of_squared_radii(standardized, model.stack)
        ]
    )
    # Many rows have the same ellipsoids within reach, so each combination is looked up once.
    _, first, which = np.unique(as_values(keys), return_index=True, return_inverse=True)
    near = model.table.inside_only(unpack_sets(keys[first], model.n_ellipsoids)).astype(np.float64)[which]
    if len(model.isolated):
        order, owners, start = model.isolated_by_owner
        beside = _isolated_within_reach(model, standardized)[:, order]
        near[:, owners] += np.add.reduceat(beside, start, axis=1, dtype=np.float64)
    return near


def _within_reach(model: SEPModel, standardized: FloatArray, squared: FloatArray) -> BoolArray:
    """Whether each ellipsoid is within reach along the line to its center, an upper bound on the distance to it."""
    outer_part = np.maximum(squared.T, 1.0)
    np.sqrt(outer_part, out=outer_part)
    np.divide(1.0, outer_part, out=outer_part)
    np.subtract(1.0, outer_part, out=outer_part)
    outer_part *= cdist(model.centers, standardized)
    return np.asarray(outer_part <= model.reach).T


def _isolated_within_reach(model: SEPModel, standardized: FloatArray) -> BoolArray:
    return np.asarray(cdist(standardized, model.isolated) <= model.reach)
