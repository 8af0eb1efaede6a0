"""Two classes share one partition; with more, it is one class against the rest."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from sepc._typing import FloatArray, IntArray
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.training_set import Extent, TrainingSet
from sepc.kernels.enclose import describe_flat, flat_directions
from sepc.partition.sequence import NOT_COUNTED, FoundEllipsoid, Partition, Round, Settings, Stop, partition
from sepc.points.in_memory import ArrayPoints, TransformedPoints


@dataclass(frozen=True, eq=False)
class Pieces:
    """The ellipsoids and isolated rows of all classes, and the partitions they come from."""

    partitions: tuple[Partition, ...]
    ellipsoids: tuple[FoundEllipsoid, ...]
    owners: IntArray
    isolated: FloatArray
    isolated_owners: IntArray


def partition_classes(
    classes: Sequence[ArrayPoints],
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
    if effective_n_jobs(n_jobs) > 1:
        on_round = None
    rest = ([points.rows for j, points in enumerate(classes) if j != i] for i in range(len(classes)))
    sides = zip(classes, (ArrayPoints(np.concatenate(others)) for others in rest), strict=True)
    parts = tuple(Parallel(n_jobs=n_jobs)(delayed(partition)(*both, settings, on_round) for both in sides))
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
    if training.placed is not None:
        rows = TransformedPoints(rows, partial(np.take, indices=training.placed, axis=1))
        extent, names = Extent.of(rows), tuple(names[j] for j in training.placed)
    directions = flat_directions(extent.sized(rows), extent.spread)
    if len(directions) and extent.spread.n > len(names):
        message = describe_flat(directions, extent.spread.n, names)
        warnings.warn(f"{message}; ellipsoids are given a small thickness there.", FlatSetWarning, stacklevel=6)
