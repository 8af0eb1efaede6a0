"""Rows with gaps: what the missing numbers may be, by the kinds of training rows that the known ones fit.

A few completions of each row are drawn from a mixture of normal distributions of scores, given what is known of the
row. Models with weights know these distributions; otherwise each ellipsoid is taken as a normal distribution with its
center and shape, weighted by its training rows, and each isolated row as a narrow one around it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.mixture import N_DRAWS, Pattern
from sepc.model.row_kinds import RowKinds
from sepc.model.scores import Scores
from sepc.model.sep_model import SEPModel


def kinds_of(model: SEPModel) -> RowKinds:
    """The kinds of training rows of a model; without weights, one for each ellipsoid and each isolated row."""
    if model.row_kinds is not None:
        return model.row_kinds
    d = len(model.shift)
    inside = np.linalg.inv((d + 2.0) * np.einsum("kij,kil->kjl", model.roots, model.roots))
    around = np.repeat(np.eye(d)[None] * max(model.reach, 1e-9) ** 2, len(model.isolated), axis=0)
    return RowKinds(
        Scores.standardized(model.shift, model.scale),
        np.concatenate([model.centers, model.isolated]),
        np.concatenate([inside, around]),
        model.counts_at(np.arange(model.n_places)).astype(np.float64),
    )


def completed(model: SEPModel, rows: FloatArray, n_draws: int = N_DRAWS) -> Iterator[tuple[IntArray, FloatArray]]:
    """For each set of features that rows lack: positions of the rows, and their completions, of shape (n, n_draws, d).

    Rows are in the user's own features, with NaN for gaps.
    """
    kinds, d = kinds_of(model), len(model.shift)
    gaps = np.isnan(rows[:, :d])
    patterns, which = np.unique(gaps, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(patterns)))
    for missing, where in zip(patterns, np.split(order, ends[:-1]), strict=True):
        if not missing.any():
            continue
        drawn = Pattern.of(kinds.mixture, kinds.scores.of(rows[where]), missing).draws(n_draws)
        complete = np.repeat(rows[where][:, None, :], n_draws, axis=1)
        features = np.flatnonzero(missing)
        complete[:, :, features] = kinds.scores.values(drawn, features)
        yield where, complete
