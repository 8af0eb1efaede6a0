"""Two classes share one partition; with more, it is one class against the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sepc._typing import FloatArray, IntArray
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.training_set import Extent, TrainingSet
from sepc.kernels.enclose import describe_flat, flat_directions
from sepc.partition.sequence import NOT_COUNTED, FoundEllipsoid, Partition, Round, Settings, Stop, partition
from sepc.points.in_memory import ArrayPoints, chosen_columns
from sepc.points.protocol import PointSet


@dataclass(frozen=True, eq=False)
class Pieces:
    """The ellipsoids and isolated rows of all classes, and the partitions they come from."""

    partitions: tuple[Partition, ...]
    ellipsoids: tuple[FoundEllipsoid, ...]
    owners: IntArray
    isolated: FloatArray
    isolated_owners: IntArray


def partition_classes(
    classes: Sequence[PointSet],
    settings: Settings,
    on_round: Callable[[Round], None] | None = None,
    n_jobs: int | None = None,
) -> Pieces:
    """Partition the rows of each class from the others (row 17 of docs/explanation/differences.md)."""
    if len(classes) == 1:
        points, none = classes[0], np.empty((0, classes[0].n_features))
        owners, nobody = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
        one = FoundEllipsoid(settings.enclose(points), True, points.n_points, NOT_COUNTED, (), 0, is_terminal=True)
        return Pieces((Partition((one,), none, none, (), Stop.TOO_FEW),), (one,), owners, none, nobody)
    if len(classes) == 2:
        both = partition(classes[0], classes[1], settings, on_round)
        owners = np.array([0 if ellipsoid.is_pos else 1 for ellipsoid in both.ellipsoids], dtype=np.int64)
        isolated = np.concatenate([both.isolated_pos, both.isolated_neg])
        isolated_owners = np.repeat([0, 1], [len(both.isolated_pos), len(both.isolated_neg)])
        return Pieces((both,), both.ellipsoids, owners, isolated, isolated_owners)
    settings = replace(settings, is_one_sided=not (settings.published or isinstance(settings.n_impure, float)))
    if not all(isinstance(points, ArrayPoints) for points in classes):
        n_jobs = 1  # Open files and clients cannot be sent to other processes.
    if effective_n_jobs(n_jobs) > 1:
        on_round = None
    rest = [[*classes[:i], *classes[i + 1 :]] for i in range(len(classes))]
    others = (reduce(lambda so_far, more: so_far.union(more), points) for points in rest)
    jobs = (delayed(partition)(*sides, settings, on_round) for sides in zip(classes, others, strict=True))
    parts = tuple(Parallel(n_jobs=n_jobs)(jobs))
    kept = [[ellipsoid for ellipsoid in part.ellipsoids if ellipsoid.is_pos] for part in parts]
    return Pieces(
        partitions=parts,
        ellipsoids=tuple(ellipsoid for found in kept for ellipsoid in found),
        owners=np.repeat(np.arange(len(parts)), [len(found) for found in kept]),
        isolated=np.concatenate([part.isolated_pos for part in parts]),
        isolated_owners=np.repeat(np.arange(len(parts)), [len(part.isolated_pos) for part in parts]),
    )


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
