"""Constant and collinear features, along which ellipsoids have no extent of their own."""

from __future__ import annotations

import warnings

import numpy as np

from sepc.errors import FlatSetWarning
from sepc.estimators.sep.standardization import Extent
from sepc.estimators.sep.training_set import TrainingSet
from sepc.kernels.enclose import describe_flat, flat_directions
from sepc.points.chosen_columns import chosen_columns


def warn_if_flat(training: TrainingSet) -> None:
    """Warn of constant or collinear features among those that ellipsoids are made of."""
    rows, extent, names = training.rows, training.extent, training.columns.feature_names
    if training.alone is not None:
        placed = np.setdiff1d(np.arange(len(names)), training.alone.features)
        rows, names = chosen_columns(rows, placed), tuple(names[j] for j in placed)
        extent = Extent.of(rows)
    directions = flat_directions(extent.sized(rows), extent.spread)
    if len(directions) and rows.n_points > rows.n_features:
        message = describe_flat(directions, rows.n_points, names)
        warnings.warn(f"{message}; ellipsoids are given a small thickness there.", FlatSetWarning, stacklevel=6)
