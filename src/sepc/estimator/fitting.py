"""From validated rows and classes to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.estimator.multiclass import Pieces, partition_classes
from sepc.partition.separate import Settings
from sepc.partition.sequence import Round
from sepc.points.protocol import PointSet
from sepc.points.signatures import Signatures
from sepc.regions.model import SEPModel
from sepc.regions.table import SignatureTable
from sepc.shapes.ellipsoid import BOUNDARY_SLACK

# A column varies if its deviation exceeds the rounding of its own values.
CONSTANT = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Standardization:
    """Where rows are moved and by what features are divided."""

    shift: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> Standardization:
        """Mean and deviation of the columns; a constant column keeps its scale."""
        # Powers of two lose no digit, and squares of what they leave neither overflow nor vanish.
        size = np.ldexp(1.0, np.frexp(np.abs(rows).max(axis=0))[1])
        mean, deviation = (rows / size).mean(axis=0), (rows / size).std(axis=0)
        constant = deviation <= CONSTANT * (np.abs(mean) + deviation)
        return cls(np.where(constant, rows[0], mean * size), np.where(constant, 1.0, deviation * size))

    @classmethod
    def none(cls, n_features: int) -> Standardization:
        """Leave rows as they are."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def apply(self, rows: FloatArray) -> FloatArray:
        """Rows in standard units."""
        return (rows - self.shift) / self.scale


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
    """Partition the classes, or a sample of `fit_rows` of them, and count all rows in what was found."""
    n_rows = sum(points.n_points for points in classes)
    chosen = classes
    if fit_rows is not None and fit_rows < n_rows:
        share = fit_rows / n_rows
        chosen = [_sampled(points, share, seed) for points in classes]
        settings = settings.for_share(share)
    pieces = partition_classes(chosen, settings, on_round, n_jobs)
    ellipsoids = tuple(found.ellipsoid for found in pieces.found)
    d = classes[0].n_features
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
        table=SignatureTable.of_classes([points.reduce(Signatures(ellipsoids)) for points in classes]),
        slack=BOUNDARY_SLACK,
        trust=trust,
        published=settings.published,
    )
    return model, pieces


def _sampled(points: PointSet, share: float, seed: int) -> PointSet:
    """A hashed sample; of a class so small that none of its rows is drawn, all rows."""
    sample = points.sample(share, seed)
    return sample if sample.n_points > 0 else points
