"""From validated rows and classes to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc.estimators.sep.crossing import Crossing, cross, ellipsoid_arrays, unseen
from sepc.estimators.sep.describing import MOST_ROWS, described
from sepc.estimators.sep.fitted import RowsUsed
from sepc.estimators.sep.fold_models import FoldModel
from sepc.estimators.sep.multiclass import Pieces, partition_classes
from sepc.estimators.sep.recoding import Recoder
from sepc.estimators.sep.standardization import Standardization
from sepc.estimators.sep.weighed_columns import CategoryColumn
from sepc.estimators.sep.weighing import WEIGHED_ROWS, Weighing
from sepc.kernels.evidence import Penalties
from sepc.kernels.threads import single_threaded
from sepc.model.sep_model import SEPModel
from sepc.model.signature_table import SignatureTable
from sepc.model.stacked_signatures import StackedSignatures
from sepc.model.usual import Spoken
from sepc.partition.separate import Settings
from sepc.partition.sequence import Round
from sepc.points.in_memory import ArrayPoints
from sepc.points.joint_reduction import reduce_each
from sepc.points.proportional_sample import ClassSample, sample_classes
from sepc.points.protocol import PointSet
from sepc.points.row_hash import row_hashes
from sepc.shapes.ellipsoid import BOUNDARY_SLACK

# A sample keeps at least this many rows of a class, if the class has them and an even share of `fit_rows` allows.
FEWEST_ROWS = 1_000

# The most ellipsoids of a partition, for few rows and for many.
MOST_ELLIPSOIDS = (40, 60)
FEW_ROWS, MANY_ROWS = 2_000, 10_000

# By default so many rows are partitioned for each feature, between these two: ellipsoids of many features need more
# rows. With 20, 35 and 50 features 4,000 rows cost 1 to 4 points of accuracy against 10,000; with few, next to nothing.
ROWS_A_FEATURE = 400
FEWEST_PARTITIONED, MOST_PARTITIONED = 4_000, 10_000


def most_partitioned(n_features: int) -> int:
    """The default of `fit_rows` for this many features."""
    return min(max(ROWS_A_FEATURE * n_features, FEWEST_PARTITIONED), MOST_PARTITIONED)


def most_ellipsoids(n_rows: int) -> int:
    """The default of `max_ellipsoids` for this many training rows."""
    ends = np.log([FEW_ROWS, MANY_ROWS])
    return round(float(np.exp(np.interp(np.log(n_rows), ends, np.log(MOST_ELLIPSOIDS)))))


class Fit(NamedTuple):
    """A fitted model, its partition, how many rows were used, and models for out-of-fold probabilities, if wanted."""

    model: SEPModel
    pieces: Pieces
    rows_used: RowsUsed
    fold_models: tuple[FoldModel, ...]


@single_threaded
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
    category_columns: Sequence[CategoryColumn] = (),
    spoken: Sequence[Spoken] = (),
    row_unit: float = 1.0,
    out_of_fold: bool = False,
) -> Fit:
    """Partition the classes, or a sample of `fit_rows` rows, then count all rows in the ellipsoids and weigh them.

    The columns of `classes` after the features, one for each of `category_columns`, are codes of categories; these
    count in the weights only. `spoken` says how to speak of each feature; by default they are numbers. Each row counts
    as `row_unit` rows. With `out_of_fold`, models are also fitted to parts of the weighed rows.

    The classes are in the user's own units: rounding them first could give a row another hash on another engine.
    """
    n_rows = sum(points.n_points for points in classes)
    n_partitioned = n_rows if fit_rows is None else min(fit_rows, n_rows)
    share, is_weighed = n_partitioned / n_rows, trust == "weights"
    n_drawn = max(n_partitioned if share < 1.0 else 0, WEIGHED_ROWS if is_weighed else MOST_ROWS)
    drawn = _samples(classes, n_drawn, seed)
    chosen = _fewer(drawn, n_drawn, n_partitioned, seed) if share < 1.0 else None
    partitioned = classes if chosen is None else [ArrayPoints(sample.rows) for sample in chosen]
    settings = settings.for_share(share)
    pieces = partition_classes([standard.of_set(points) for points in partitioned], settings, on_round, n_jobs)
    few = _fewer(drawn, n_drawn, WEIGHED_ROWS, seed)
    spoken = spoken or (Spoken(),) * len(names)
    common = _Common(names, standard, trust, settings.published, category_columns, spoken, row_unit)
    model = common.model(pieces, classes, labels)
    fold_models: tuple[FoldModel, ...] = ()
    if is_weighed:

        def partition(points: Sequence[ArrayPoints]) -> Pieces:
            return partition_classes([standard.of_set(own) for own in points], settings, None, n_jobs)

        recoder = common.recoder(few)
        crossing = None if chosen is None else unseen(recoder, chosen, pieces)
        if crossing is None or not crossing.is_enough:
            crossing = cross(recoder, standard.apply, partition)
        weighing = common.weighing(model, few)
        penalties = weighing.penalties(crossing)
        model = replace(model, weights=weighing.weights(pieces, penalties))
        if out_of_fold:
            crossing = crossing.halved(recoder, standard.apply)
            fold_models = tuple(
                common.fold_model(crossing, fold, recoder, [sample.weight for sample in few], labels, penalties)
                for fold in range(len(crossing.pieces))
            )
    n_weighed = sum(len(sample.rows) for sample in few) if is_weighed else 0
    rows_used = RowsUsed(n_rows, sum(points.n_points for points in partitioned), n_weighed)
    return Fit(described(model, few, row_unit, spoken), pieces, rows_used, fold_models)


@dataclass(frozen=True, eq=False)
class _Common:
    """What the models of one fit have in common."""

    names: tuple[str, ...]
    standard: Standardization
    trust: str
    published: bool
    category_columns: Sequence[CategoryColumn]
    spoken: Sequence[Spoken]
    row_unit: float

    def model(self, pieces: Pieces, classes: Sequence[PointSet], labels: NDArray[Any]) -> SEPModel:
        """A model without weights: the ellipsoids, and in one pass how many rows of each class lie in which of them."""
        standard, d = self.standard, len(self.standard.shift)
        ellipsoids = tuple(piece.ellipsoid for piece in pieces.ellipsoids)
        centers, roots = ellipsoid_arrays(pieces, d)
        signatures = standard.of_reduction(StackedSignatures.of(ellipsoids, d, BOUNDARY_SLACK))
        model = SEPModel(
            classes=labels,
            class_counts=np.array([points.n_points for points in classes], dtype=np.int64),
            feature_names=self.names,
            shift=standard.shift,
            scale=standard.scale,
            centers=centers,
            roots=roots,
            owners=pieces.owners,
            is_terminal=np.array([piece.is_terminal for piece in pieces.ellipsoids], dtype=bool),
            isolated=pieces.isolated,
            isolated_owners=pieces.isolated_owners,
            table=SignatureTable.of_classes(reduce_each(classes, signatures)),
            slack=BOUNDARY_SLACK,
            trust=self.trust,
            published=self.published,
        )
        return model if self.row_unit == 1.0 else _in_rows(model, self.row_unit)

    def weighing(self, model: SEPModel, samples: Sequence[ClassSample]) -> Weighing:
        return Weighing.of(model, samples, self.category_columns, self.row_unit)

    def recoder(self, samples: Sequence[ClassSample]) -> Recoder:
        rows = np.concatenate([sample.rows for sample in samples])
        which = np.repeat(np.arange(len(samples)), [len(sample.rows) for sample in samples])
        return Recoder(rows, which, self.category_columns, self.row_unit)

    def fold_model(
        self,
        crossing: Crossing,
        fold: int,
        recoder: Recoder,
        weights: Sequence[float],
        labels: NDArray[Any],
        penalties: Penalties,
    ) -> FoldModel:
        """A model of the rows outside of a fold; classes of which there are none are not known to it.

        `weights` has how many rows each row of a class stands for.
        """
        pieces, seen, is_in = crossing.pieces[fold], crossing.seen_by[fold], crossing.folds == fold
        known = np.unique(recoder.which[~is_in])
        samples = [ClassSample(seen.rows[~is_in & (recoder.which == k)], weights[k]) for k in known]
        model = self.model(pieces, [ArrayPoints(sample.rows) for sample in samples], labels[known])
        model = replace(model, weights=self.weighing(model, samples).weights(pieces, penalties))
        model = described(model, samples, self.row_unit, self.spoken)
        return FoldModel(model, known, row_hashes(recoder.rows[is_in], seed=0), seen.encodings, self.category_columns)


def _in_rows(model: SEPModel, unit: float) -> SEPModel:
    """The model with its counts in units of rows, rounded; but at least 1 where there are any."""
    counts = [np.maximum(np.round(own * unit), own > 0) for own in (model.class_counts, model.table.counts)]
    class_counts, table_counts = (own.astype(np.int64) for own in counts)
    return replace(model, class_counts=class_counts, table=replace(model.table, counts=table_counts))


def _samples(classes: Sequence[PointSet], n_wanted: int, seed: int) -> list[ClassSample]:
    """Sample the classes; a rare class keeps more than its share, since an ellipsoid needs enough rows."""
    n_least = min(FEWEST_ROWS, -(-n_wanted // len(classes)))
    return sample_classes(classes, n_wanted, seed, n_least)


def _fewer(samples: list[ClassSample], n_drawn: int, n_wanted: int, seed: int) -> list[ClassSample]:
    """Draw `n_wanted` rows from samples of `n_drawn` rows, which saves a pass over the data."""
    if n_wanted >= n_drawn:
        return samples
    few = _samples([ArrayPoints(sample.rows) for sample in samples], n_wanted, seed)
    return [
        ClassSample(smaller.rows, smaller.weight * sample.weight) for smaller, sample in zip(few, samples, strict=True)
    ]
