"""From validated rows and classes to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.estimators.sep.multiclass import Pieces, partition_classes
from sepc.estimators.sep.standardization import Standardization
from sepc.estimators.sep.weighing import WEIGHED_ROWS, weigh
from sepc.model.sep_model import SEPModel
from sepc.model.signature_table import SignatureTable
from sepc.model.stacked_signatures import StackedSignatures
from sepc.partition.separate import Settings
from sepc.partition.sequence import Round
from sepc.points.in_memory import ArrayPoints
from sepc.points.joint_reduction import reduce_each
from sepc.points.proportional_sample import ClassSample, sample_classes
from sepc.points.protocol import PointSet
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
    n_partitioned = n_rows if fit_rows is None else min(fit_rows, n_rows)
    share, is_weighed = n_partitioned / n_rows, trust == "weights"
    n_drawn = max(n_partitioned if share < 1.0 else 0, WEIGHED_ROWS if is_weighed else 0)
    drawn = _samples(classes, n_drawn, seed) if n_drawn else []
    chosen = classes if share == 1.0 else [ArrayPoints(one.rows) for one in _fewer(drawn, n_drawn, n_partitioned, seed)]
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
    if is_weighed:
        model = replace(model, weights=weigh(model, _fewer(drawn, n_drawn, WEIGHED_ROWS, seed)))
    return model, pieces


def _samples(classes: Sequence[PointSet], n_wanted: int, seed: int) -> list[ClassSample]:
    """Samples of the classes; a rare class keeps more than its share, so that it has a shape."""
    n_least = min(FEWEST_ROWS, -(-n_wanted // len(classes)))
    return sample_classes(classes, n_wanted, seed, n_least)


def _fewer(samples: list[ClassSample], n_drawn: int, n_wanted: int, seed: int) -> list[ClassSample]:
    """Of samples of `n_drawn` rows, smaller ones: that spares a pass over all rows."""
    if n_wanted >= n_drawn:
        return samples
    few = _samples([ArrayPoints(sample.rows) for sample in samples], n_wanted, seed)
    return [ClassSample(one.rows, one.weight * sample.weight) for one, sample in zip(few, samples, strict=True)]
