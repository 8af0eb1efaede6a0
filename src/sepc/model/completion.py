"""Multiple imputation: likely values of missing numbers, given the known ones.

A few completions of each row are drawn from a mixture of normal distributions of scores, given what is known of the
row. Models with weights store these distributions. Without weights, each ellipsoid is taken as a normal distribution
with its center and shape, weighted by its training rows, and each isolated row as a narrow one around it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.imputation import N_DRAWS, ImputationMixture, NormalScores, Pattern
from sepc.model.sep_model import SEPModel

# Rows with missing values that are completed at once.
BLOCK_ROWS = 2_000
# At most this many numbers in the covariances of isolated rows, 32 MB; beyond that, some rows are left out.
MOST_CELLS = 2**22


def imputation_mixture(model: SEPModel) -> ImputationMixture:
    """The mixture that a model imputes from; without weights, a component for each ellipsoid and each isolated row."""
    if model.row_kinds is not None:
        return model.row_kinds
    d = len(model.placed)
    inside = np.linalg.inv((d + 2.0) * np.einsum("kij,kil->kjl", model.roots, model.roots))
    n_isolated = min(len(model.isolated), max(1, MOST_CELLS // d**2))
    isolated = np.linspace(0, len(model.isolated) - 1, n_isolated).astype(np.int64)
    around = np.repeat(np.eye(d)[None] * max(model.reach, 1e-9) ** 2, n_isolated, axis=0)
    centers, covariances = np.concatenate([model.centers, model.isolated[isolated]]), np.concatenate([inside, around])
    if model.alone is not None:
        # Ellipsoids say nothing of standalone features: they vary as in all training rows.
        placed_only, n_features = covariances, len(model.shift)
        centers, covariances = model.with_alone(centers), np.tile(np.eye(n_features), (len(centers), 1, 1))
        covariances[np.ix_(np.arange(len(centers)), model.placed, model.placed)] = placed_only
    return ImputationMixture(
        NormalScores.standardized(model.shift, model.scale),
        centers,
        covariances,
        model.counts_at(np.append(np.arange(model.n_ellipsoids), model.n_ellipsoids + isolated)).astype(np.float64),
    )


def draw_completions(
    model: SEPModel, rows: FloatArray, n_draws: int = N_DRAWS
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Draw completions of the rows with missing values; yields positions of rows and arrays (n, n_draws, width)."""
    gaps = np.isnan(rows[:, : len(model.shift)])
    lacking = np.flatnonzero(gaps.any(axis=1))
    if len(lacking) == 0:
        return
    kinds = imputation_mixture(model)
    unknown = gaps if model.alone is None else gaps | ~model.is_placed
    patterns, which = np.unique(unknown[lacking], axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    for start in range(0, len(lacking), BLOCK_ROWS):
        block = order[start : start + BLOCK_ROWS]
        where = lacking[block]
        yield where, _completions(kinds, rows[where], gaps[where], patterns, which.ravel()[block], n_draws)


def _completions(
    kinds: ImputationMixture, rows: FloatArray, gaps: BoolArray, patterns: BoolArray, which: IntArray, n_draws: int
) -> FloatArray:
    """Completions of rows that are sorted by pattern of missing features; `which` holds the pattern of each row."""
    known = kinds.scores.of(rows)
    drawn = np.empty((len(rows), n_draws, gaps.shape[1]))
    present, starts = np.unique(which, return_index=True)
    for i, first, last in zip(present, starts, [*starts[1:], len(rows)], strict=True):
        pattern = Pattern.of(kinds.mixture, known[first:last], patterns[i])
        drawn[first:last, :, patterns[i]] = pattern.draws(n_draws)
    complete = np.repeat(rows[:, None, :], n_draws, axis=1)
    for j in np.flatnonzero(gaps.any(axis=0)):
        lacks = gaps[:, j]
        complete[lacks, :, j] = kinds.scores.values(drawn[lacks, :, j], int(j))
    return complete
