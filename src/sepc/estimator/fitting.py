"""From validated rows and classes to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.estimator.multiclass import Pieces, partition_classes
from sepc.estimator.standard import Standardization
from sepc.estimator.weighing import WEIGHED_ROWS, weigh
from sepc.partition.separate import Settings
from sepc.partition.sequence import Round
from sepc.points.in_memory import ArrayPoints
from sepc.points.proportional_sample import ClassSample, sample_classes
from sepc.points.protocol import PointSet
from sepc.points.together import reduce_each
from sepc.regions.counting import StackedSignatures
from sepc.regions.model import SEPModel
from sepc.regions.table import SignatureTable
from sepc.shapes.ellipsoid import BOUNDARY_SLACK

# Rows that a sample keeps of a class at least, if the class has them and an even share of `fit_rows` allows.
FEWEST_ROWS = 1_000


def fit_model(
    classes: Sequence[PointSet],
    labels: NDArray[Any],
    names: tuple[str, ...],
    standard: Standardization,
    settings: Settings,
    trust: str,
    fit_rows: int | None,
    seed: int,
    n_jobs: int | None,
    on_round: Callable[[Round], None] | None,
) -> tuple[SEPModel, Pieces]:
    """Partition the classes, or a sample of `fit_rows` of them, and count all rows in what was found.

    The classes are in the user's own units: rows have the same hash on every engine as long as nobody rounded them.
    """
    n_rows = sum(points.n_points for points in classes)
    share = 1.0 if fit_rows is None else min(1.0, fit_rows / n_rows)
    weighed = _samples(classes, max(WEIGHED_ROWS, fit_rows or 0), seed) if trust == "weights" else None
    chosen = classes if fit_rows is None or share == 1.0 else _points(classes, weighed, fit_rows, seed)
    settings = settings.for_share(share)
    pieces = partition_classes([standard.of_set(points) for points in chosen], settings, on_round, n_jobs)
    ellipsoids = tuple(found.ellipsoid for found in pieces.found)
    d = classes[0].n_features
    signatures = standard.of_reduction(StackedSignatures.of(ellipsoids, d, BOUNDARY_SLACK))
    model = SEPModel(
        classes=labels,
        class_counts=np.array([points.n_points for points in classes], dtype=np.int64),
        feature_names=names,
        shift=standard.shift,
        scale=standard.scale,
        centers=np.array([one.center for one in ellipsoids]).reshape(-1, d),
        roots=np.array([one.root for one in ellipsoids]).reshape(-1, d, d),
        owners=pieces.owners,
        is_terminal=np.array([found.is_terminal for found in pieces.found], dtype=bool),
        isolated=pieces.isolated,
        isolated_owners=pieces.isolated_owners,
        table=SignatureTable.of_classes(reduce_each(classes, signatures)),
        slack=BOUNDARY_SLACK,
        trust=trust,
        published=settings.published,
    )
    return model if weighed is None else replace(model, weights=weigh(model, weighed)), pieces


def _samples(classes: Sequence[PointSet], n_wanted: int, seed: int) -> list[ClassSample]:
    """Samples of the classes; a rare class keeps more than its share, so that it has a shape."""
    n_least = min(FEWEST_ROWS, -(-n_wanted // len(classes)))
    return sample_classes(classes, n_wanted, seed, n_least)


def _points(classes: Sequence[PointSet], larger: list[ClassSample] | None, n_wanted: int, seed: int) -> list[PointSet]:
    """Samples to partition, in memory; of a larger sample, if there is one, which spares a pass."""
    sets = classes if larger is None else [ArrayPoints(sample.rows) for sample in larger]
    return [ArrayPoints(sample.rows) for sample in _samples(sets, n_wanted, seed)]
