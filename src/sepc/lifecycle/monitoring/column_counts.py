"""Counts by column that no mean shows: rows without a known value, and rows with a round one."""

from __future__ import annotations

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.lifecycle.column_changes.column_rows import ColumnRows
from sepc.lifecycle.column_changes.number_guesses import OFF_GRID, ROUND_OFF, grid_steps
from sepc.lifecycle.monitoring.tally import UNKNOWN
from sepc.model.training_summary import FeatureKind, TrainingSummary


def column_counts(rows: ColumnRows | None) -> IntArray:
    """For each feature, rows without a known value and rows with a round one, of shape (2, d).

    An unseen category does not count as a known value. Round values are multiples of the finest step that few training
    values are multiples of. Empty if the model has no training summary.
    """
    if rows is None:
        return UNKNOWN
    gaps, steps = np.zeros(rows.features.shape, dtype=bool), _steps(rows.usual)
    for j, display in enumerate(rows.usual.displays):
        if display.kind is FeatureKind.CATEGORY:
            codes = rows.codes[:, rows.usual.code_column(j)]
            gaps[:, j] = (codes < 0) | (codes == len(display.categories))
        elif display.kind is not FeatureKind.PART:
            gaps[:, j] = rows.missing[:, j]
    return np.array([gaps.sum(axis=0), (~gaps & _is_round(rows.features, steps)).sum(axis=0)], dtype=np.int64)


def _is_round(features: FloatArray, steps: FloatArray) -> BoolArray:
    # Huge values overflow, and are then not round.
    with np.errstate(over="ignore", invalid="ignore"):
        multiples = features / steps
        return np.asarray(np.abs(multiples - np.round(multiples)) < ROUND_OFF)


def _steps(usual: TrainingSummary) -> FloatArray:
    """For each feature the finest step that few values of training are multiples of; NaN if there is none."""
    steps = np.full(len(usual.displays), np.nan)
    for j, display in enumerate(usual.displays):
        if display.kind is FeatureKind.NUMBER:
            kept = np.unique(usual.overall[j])
            fine = [
                step
                for step in grid_steps(usual.overall[j])
                if _is_round(kept, np.array(step)).mean() <= 1.0 - OFF_GRID
            ]
            steps[j] = min(fine, default=np.nan)
    return steps
