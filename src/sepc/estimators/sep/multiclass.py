"""Two classes share one partition; with more, it is one class against the rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from sepc._typing import FloatArray, IntArray
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.training_set import Extent, TrainingSet
from sepc.kernels.enclose import describe_flat, flat_directions
from sepc.partition.sequence import NOT_COUNTED, FoundEllipsoid, Growth, Partition, Round, Settings, Stop, grow
from sepc.points.in_memory import ArrayPoints, TransformedPoints


@dataclass(frozen=True, eq=False)
class Pieces:
    """The ellipsoids and isolated rows of all classes, and the partitions they come from."""

    partitions: tuple[Partition, ...]
    ellipsoids: tuple[FoundEllipsoid, ...]
    owners: IntArray
    isolated: FloatArray
    isolated_owners: IntArray


@dataclass(frozen=True, eq=False)
class Growing:
    """Partitions of some classes that may go on: one of two classes, or one of each class from all others."""

    classes: Sequence[ArrayPoints]
    growths: tuple[Growth, ...]

    @classmethod
    def start(cls, classes: Sequence[ArrayPoints]) -> Growing:
        """Before the first round (row 17 of docs/explanation/differences.md)."""
        if len(classes) == 1:
            return cls(classes, ())
        if len(classes) == 2:
            return cls(classes, (Growth.start(*classes),))
        rest = ([points.rows for j, points in enumerate(classes) if j != i] for i in range(len(classes)))
        sides = zip(classes, (ArrayPoints(np.concatenate(others)) for others in rest), strict=True)
        return cls(classes, tuple(Growth.start(*both) for both in sides))

    @property
    def may_go_on(self) -> bool:
        """Whether only the number of ellipsoids stopped one of them."""
        return any(growth.may_go_on for growth in self.growths)

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of all partitions."""
        return tuple(each for growth in self.growths for each in growth.rounds)

    def to(self, settings: Settings, n_jobs: int | None = None) -> Growing:
        """Go on until each partition has as many ellipsoids as the settings allow."""
        if len(self.growths) > 1:
            settings = replace(settings, is_one_sided=not (settings.published or isinstance(settings.n_impure, float)))
        jobs = (delayed(grow)(growth, settings) for growth in self.growths)
        return replace(self, growths=tuple(Parallel(n_jobs=n_jobs)(jobs)))

    def pieces(self, settings: Settings) -> Pieces:
        """The ellipsoids and isolated rows if the partitions end here."""
        parts = tuple(growth.partition(settings) for growth in self.growths)
        if len(parts) == 0:
            points, none = self.classes[0], np.empty((0, self.classes[0].n_features))
            owners, nobody = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)
            one = FoundEllipsoid(settings.enclose(points), True, points.n_points, NOT_COUNTED, (), 0, is_terminal=True)
            return Pieces((Partition((one,), none, none, (), Stop.TOO_FEW),), (one,), owners, none, nobody)
        if len(parts) == 1:
            both = parts[0]
            owners = np.array([0 if ellipsoid.is_pos else 1 for ellipsoid in both.ellipsoids], dtype=np.int64)
            isolated = np.concatenate([both.isolated_pos, both.isolated_neg])
            isolated_owners = np.repeat([0, 1], [len(both.isolated_pos), len(both.isolated_neg)])
            return Pieces(parts, both.ellipsoids, owners, isolated, isolated_owners)
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
    n_features = len(names)
    if training.placed is not None:
        rows = TransformedPoints(rows, partial(np.take, indices=training.placed, axis=1))
        extent, names = Extent.of(rows), tuple(names[j] for j in training.placed)
    directions = flat_directions(extent.sized(rows), extent.spread)
    if len(directions) and extent.spread.n > n_features:
        message = describe_flat(directions, extent.spread.n, names)
        warnings.warn(f"{message}; ellipsoids are given a small thickness there.", FlatSetWarning, stacklevel=6)
