"""From a training set to a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from sepc._typing import FloatArray, IntArray
from sepc.estimators.sep._constraints import check_constraints
from sepc.estimators.sep.crossing import (
    ENOUGH_UNSEEN,
    N_FOLDS,
    NOT_USED,
    Crossing,
    FoldModel,
    Recoded,
    Recoder,
    classes_outside,
    ellipsoid_arrays,
    folds_of_rows,
    unseen_folds,
)
from sepc.estimators.sep.fitted import RowsUsed
from sepc.estimators.sep.growing import JUDGED_ROWS, LeftOut, grow_while_it_pays
from sepc.estimators.sep.multiclass import Growing, Pieces
from sepc.estimators.sep.training_set import GivenColumns, Standardization, TrainingSet, check_class_weight
from sepc.estimators.sep.weighed_columns import N_OF_PLACES
from sepc.estimators.sep.weighing import WEIGHED_ROWS, Weighing
from sepc.kernels.evidence import Penalties
from sepc.kernels.numeric import single_threaded
from sepc.model.counts import SignatureCounts, Signatures, SignatureTable
from sepc.model.imputation import ImputationMixture, NormalScores
from sepc.model.membership import squared_radii
from sepc.model.provenance import Provenance
from sepc.model.sep_model import TRUSTS, SEPModel
from sepc.model.standalone import Standalone
from sepc.model.training_summary import SeenRows, given_columns, summarise_rows
from sepc.partition.sequence import NOT_COUNTED, FoundEllipsoid, Round, Settings
from sepc.points.in_memory import ArrayPoints, ClassArrays
from sepc.points.proportional_sample import ClassSample, RowsByClass, sample_classes
from sepc.points.reductions import JointReduction, Reduction, Transformed
from sepc.points.row_digest import RowDigest, add_sums, as_text, row_hashes
from sepc.shapes.ellipsoid import BOUNDARY_SLACK
from sepc.wording import check_number

# A component of the mixture has at least this many rows per feature. Its covariance is shrunk towards that of its
# class, and that of a class towards that of all classes, each with the weight of this many rows per feature.
OWN_ROWS_A_FEATURE = 1.0
# Added to all variances. Less than the thickness of ellipsoids around flat sets, so that completions lie in them.
RIDGE = 1e-9
# More rows than this, in total or of each of many classes, add little.
MOST_ROWS, CLASS_ROWS = 5_000, 500
# With more features than this, a model would consist mostly of covariances.
MOST_FEATURES = 256


def summarise_training(
    model: SEPModel, samples: Sequence[ClassSample], training: TrainingSet, settings: FitSettings
) -> SEPModel:
    """Add to a model a summary of its rows, hashes of some of them and, with weights, the imputation mixture."""
    drawn, displays = np.concatenate([sample.rows for sample in samples]), training.columns.displays
    seen = SeenRows.of(drawn, displays) if settings.keep_rows else SeenRows.none()
    # Every n-th row of each sample; samples are in the order of their hashes.
    most = max(MOST_ROWS // len(samples), CLASS_ROWS)
    few = [sample.rows[:: -(-len(sample.rows) // most)] for sample in samples]
    samples = [
        ClassSample(rows, own.weight * len(own.rows) / len(rows)) for rows, own in zip(few, samples, strict=True)
    ]
    rows = np.concatenate([sample.rows for sample in samples])
    classes = np.repeat(np.arange(len(samples)), [len(sample.rows) for sample in samples])
    shares = np.array([sample.weight for sample in samples])
    squared = squared_radii(model.place(rows), model.centers, model.roots)
    usual = summarise_rows(rows, classes, shares[classes], squared <= 1.0 + model.slack, displays)
    kinds = None
    if model.weights is not None and len(model.shift) <= MOST_FEATURES:
        kinds = _row_kinds(model, rows[:, : len(model.shift)], classes, shares, squared, training.weight_scale)
    return replace(model, usual=usual, seen_rows=seen, row_kinds=kinds)


def _row_kinds(
    model: SEPModel, rows: FloatArray, classes: IntArray, shares: FloatArray, squared: FloatArray, weight_scale: float
) -> ImputationMixture:
    """The imputation mixture, given the weight of a row of each class and the squared radii in all ellipsoids."""
    scores = NormalScores.fit(rows, shares[classes], model.shift, model.scale)
    kind = _kinds(model, classes, squared, weight_scale)
    owners, n_rows = np.full(kind.max() + 1, -1), np.bincount(kind) * weight_scale
    owners[kind] = classes
    class_rows = np.zeros((len(n_rows), len(shares)))
    class_rows[np.arange(len(n_rows)), owners] = n_rows * shares[owners]
    centers, covariances = _distributions(scores.of(rows), kind, owners, shares, weight_scale)
    return ImputationMixture(scores, centers, covariances, class_rows)


def _kinds(model: SEPModel, classes: IntArray, squared: FloatArray, weight_scale: float) -> IntArray:
    """The component of each row: its deepest ellipsoid if that has its class and enough rows, else its class."""
    n_classes, kind = len(model.classes), classes.copy()
    if model.n_ellipsoids:
        deepest = squared.argmin(axis=1)
        is_inside = squared.min(axis=1) <= 1.0 + model.slack
        is_own = is_inside & (model.owners[deepest] == classes)
        n_own = np.bincount(deepest[is_own], minlength=model.n_ellipsoids)
        has_enough = n_own * weight_scale >= OWN_ROWS_A_FEATURE * len(model.shift)
        is_own &= has_enough[deepest]
        kind[is_own] = n_classes + deepest[is_own]
    return np.asarray(np.unique(kind, return_inverse=True)[1].ravel())


def _distributions(
    scores: FloatArray, kind: IntArray, owners: IntArray, shares: FloatArray, weight_scale: float
) -> tuple[FloatArray, FloatArray]:
    """Means and covariances of the components."""
    d, n_classes = scores.shape[1], len(shares)
    by_kind = [scores[kind == g] for g in range(len(owners))]
    centers = np.array([members.mean(axis=0) for members in by_kind])
    apart = [members - center for members, center in zip(by_kind, centers, strict=True)]
    scatters = np.array([0.5 * (products + products.T) for products in (each.T @ each for each in apart)])
    scatters *= weight_scale
    n_rows, pull = np.bincount(kind) * weight_scale, OWN_ROWS_A_FEATURE * d
    everyone = np.average(scatters / n_rows[:, None, None], axis=0, weights=n_rows * shares[owners])
    covariances = np.empty_like(scatters)
    for c in range(n_classes):
        kinds = np.flatnonzero(owners == c)
        of_class = (scatters[kinds].sum(axis=0) + pull * everyone) / (n_rows[kinds].sum() + pull)
        covariances[kinds] = (scatters[kinds] + pull * of_class) / (n_rows[kinds] + pull)[:, None, None]
    return centers, covariances + RIDGE * np.eye(d)


# An ellipsoid around fewer distinct rows would tell too much about each of them.
FEWEST_ENCLOSED = 5


def without_isolated(pieces: Pieces, settings: Settings, n_classes: int) -> Pieces:
    """The ellipsoids without the isolated rows; a class that has no ellipsoid gets one around its isolated rows."""
    found, owners = list(pieces.ellipsoids), pieces.owners.tolist()
    for owner in sorted(set(range(n_classes)) - set(owners)):
        rows = pieces.isolated[pieces.isolated_owners == owner]
        if len(np.unique(rows, axis=0)) >= FEWEST_ENCLOSED:
            enclosure = settings.enclose(ArrayPoints(rows))
            found.append(FoundEllipsoid(enclosure, owner == 0, len(rows), NOT_COUNTED, (), 0, is_terminal=True))
            owners.append(owner)
    none: FloatArray = np.empty((0, pieces.isolated.shape[1]))
    nobody: IntArray = np.empty(0, dtype=np.int64)
    return replace(
        pieces,
        ellipsoids=tuple(found),
        owners=np.array(owners, dtype=np.int64),
        isolated=none,
        isolated_owners=nobody,
    )


# A sample keeps at least this many rows of a class, if the class has them and an equal share of `fit_rows` allows it.
FEWEST_ROWS = 1_000

# The most ellipsoids of a partition, for few rows and for many.
MOST_ELLIPSOIDS = (40, 60)
FEW_ROWS, MANY_ROWS = 2_000, 10_000
# The most of each class if there are more than two, each with a partition of its own, and of all classes together.
MOST_OF_A_CLASS, MOST_OF_ALL = 15, 400

# By default this many rows per feature are partitioned, between these bounds: ellipsoids of many features need more
# rows. With 20, 35 and 50 features, 4,000 rows lose 1 to 4 points of accuracy against 10,000; with few, next to none.
PARTITIONED_ROWS_A_FEATURE = 400
FEWEST_PARTITIONED, MOST_PARTITIONED = 4_000, 10_000

# After this many rounds, the remaining rows are enclosed as they are.
MOST_ROUNDS = 1_000

# Beside standalone features, at most one round for this many rows, but at least a few rounds. The features left may
# separate little, and rounds then go on over fewer and fewer rows: without a limit, haberman takes 2.3 times as long.
ROWS_A_ROUND, FEWEST_ROUNDS = 25, 4

# How far ellipsoids may be from the smallest ones, and cuts from those through the nearest points: exact to rounding
# where the paper is followed to the letter; else looser, which takes two thirds of the time and is as accurate.
EXACT, ELLIPSOID_TOL, CUT_TOL = 1e-10, 1e-6, 1e-2

TOO_FEW = (
    "keep_rows is False, but there are too few rows for any ellipsoid, so that the model would consist of training "
    "rows. Fit to more rows or fewer columns, or set keep_rows=True."
)


def most_partitioned(n_features: int) -> int:
    """The default of `fit_rows` for this many features."""
    return min(max(PARTITIONED_ROWS_A_FEATURE * n_features, FEWEST_PARTITIONED), MOST_PARTITIONED)


def most_ellipsoids(n_rows: int, n_classes: int) -> int:
    """The default of `max_ellipsoids` for this many training rows and classes."""
    if n_classes > 2:
        return max(1, min(MOST_OF_A_CLASS, MOST_OF_ALL // n_classes))
    ends = np.log([FEW_ROWS, MANY_ROWS])
    return round(float(np.exp(np.interp(np.log(n_rows), ends, np.log(MOST_ELLIPSOIDS)))))


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit learned beside its model: how many ellipsoids pay, penalties, and the standalone features.

    A fit to most of the same rows, as in cross-validation, can do with it, which saves it two of three partitions.
    """

    max_ellipsoids: int
    penalties: Penalties
    alone: Standalone | None
    n_features: int
    labels: NDArray[Any]

    def is_for(self, columns: GivenColumns) -> bool:
        """Whether there are as many features and categorical columns."""
        n_groups = 2 * self.n_features + len(columns.of_categories) + N_OF_PLACES
        return len(columns.feature_names) == self.n_features and len(self.penalties.penalties) == n_groups


@dataclass(frozen=True, eq=False, kw_only=True)
class FitSettings:
    """The parameters of an `SEPClassifier`, checked, with the columns that `max_features` kept."""

    n_impure: int | float
    trust: str
    min_trust: float
    max_ellipsoids: int | None
    fit_rows: int | str | None
    categorical_features: Any
    force_features: Collection[Any] | None
    monotone: Any
    monotone_for: Any
    features_alone: Collection[Any] | None
    max_features: int | None
    class_weight: Any
    keep_rows: bool
    out_of_fold: bool
    n_jobs: int | None
    random_state: Any
    who: str
    kept: Collection[str] | None = None
    learned: Learned | None = None

    def __post_init__(self) -> None:
        check_number("n_impure", self.n_impure, least=0, instead="a number of rows (int) or a share (float)")
        if not isinstance(self.n_impure, Integral) and self.n_impure >= 1:
            raise ValueError(f"n_impure is {self.n_impure!r}; as a float it is a share, so it must be below 1.")
        if self.trust not in TRUSTS:
            raise ValueError(f"trust is {self.trust!r}; it must be one of {', '.join(map(repr, TRUSTS))}.")
        check_number("min_trust", self.min_trust, least=0, most=1)
        if self.max_ellipsoids is not None:
            check_number("max_ellipsoids", self.max_ellipsoids, least=1, whole=True, instead="or None")
        if self.fit_rows is not None and not (isinstance(self.fit_rows, str) and self.fit_rows == "auto"):
            check_number("fit_rows", self.fit_rows, least=1, whole=True, instead="'auto', or None for all rows")
        for name in ("keep_rows", "out_of_fold"):
            if isinstance(given := getattr(self, name), str):
                raise ValueError(f"{name} is the text {given!r}; it must be True or False.")
        for name, instead in (("categorical_features", "from_dtype"), ("force_features", None)):
            given = getattr(self, name)
            if given not in (instead, None) if isinstance(given, str) else not isinstance(given, Iterable | None):
                raise ValueError(f"{name} is {given!r}; it must be a list of columns, or {instead!r}.")
        check_class_weight(self.class_weight)
        check_constraints(self.monotone, self.features_alone, self.trust)
        if self.max_features is not None:
            check_number("max_features", self.max_features, least=1, whole=True, instead="or None for all columns")
            if self.trust != "weights":
                raise ValueError("max_features needs trust='weights': columns are compared by their terms in log-odds.")
        if self.out_of_fold and self.trust != "weights":
            raise ValueError("out_of_fold needs trust='weights'; other kinds of trust are not fitted to rows.")

    @property
    def is_published(self) -> bool:
        """Whether to follow the paper to the letter."""
        return self.trust == "published"

    @property
    def categories(self) -> Collection[Any]:
        """The columns that are said to hold categories."""
        named = self.categorical_features
        return () if named is None or isinstance(named, str) else named

    def seed(self) -> int:
        """A seed, the same each time unless `random_state` is None or a RandomState."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def n_partitioned(self, n_rows: int, n_features: int) -> int:
        """How many rows to partition."""
        most = most_partitioned(n_features) if isinstance(self.fit_rows, str) else self.fit_rows
        return n_rows if most is None else min(int(most), n_rows)


class Fit(NamedTuple):
    """A fitted model, its partition, how many rows were used, models for out-of-fold probabilities, and its origin."""

    model: SEPModel
    learned: Learned | None
    pieces: Pieces
    rows_used: RowsUsed
    fold_models: tuple[FoldModel, ...]
    provenance: Provenance


@single_threaded
def fit_model(training: TrainingSet, settings: FitSettings, on_round: Callable[[Round], None] | None = None) -> Fit:
    """Partition the classes, or a sample of their rows, count all rows in the ellipsoids, and fit the weights."""
    n_rows = sum(training.classes.sizes)
    standard = by_deviation = Standardization.of(training.extent)
    if settings.is_published:
        standard = Standardization.none(training.extent, training.columns.feature_names)
    unit, max_rounds = by_deviation.scale / standard.scale, MOST_ROUNDS
    if training.placed is not None:
        standard, unit = replace(standard, placed=training.placed), unit[training.placed]
        max_rounds = min(MOST_ROUNDS, max(n_rows // ROWS_A_ROUND, FEWEST_ROUNDS))
    n_partitioned = settings.n_partitioned(n_rows, standard.n_placed)
    partitioning = Settings(
        n_impure=int(settings.n_impure) if isinstance(settings.n_impure, Integral) else float(settings.n_impure),
        published=settings.is_published,
        max_rounds=max_rounds,
        max_ellipsoids=settings.max_ellipsoids or most_ellipsoids(n_rows, len(training.labels)),
        unit=unit,
        tol=EXACT if settings.is_published else ELLIPSOID_TOL,
        cut_tol=0.0 if settings.is_published else CUT_TOL,
    ).for_share(n_partitioned / n_rows)
    fitting, seed = _Fitting(training, settings, standard, partitioning), settings.seed()
    is_sampled, is_weighed = n_partitioned < n_rows, settings.trust == "weights"
    n_drawn = max(n_partitioned if is_sampled else 0, WEIGHED_ROWS if is_weighed else MOST_ROWS)
    drawn = _samples(training.classes, n_drawn, seed)
    chosen = _draw_fewer(drawn, n_drawn, n_partitioned, seed) if is_sampled else None
    partitioned = training.gathered() if chosen is None else _arrays(chosen)
    few = _draw_fewer(drawn, n_drawn, WEIGHED_ROWS, seed)
    recoder = _recoder(few, training) if is_weighed else None
    growing, crossing, learned = fitting.start(partitioned.arrays), None, settings.learned
    if learned is not None and not learned.is_for(training.columns):
        learned = None
    if recoder is None:
        growing = fitting.grow(growing, partitioning)
    elif learned is not None:
        growing = fitting.grow(growing, replace(partitioning, max_ellipsoids=learned.max_ellipsoids))
    else:
        growing, crossing, n_most = fitting.grow_and_cross(growing, recoder, few, chosen)
    pieces = fitting.pieces(growing)
    if on_round is not None:
        for each in growing.rounds:
            on_round(each)
    if not pieces.ellipsoids and not settings.keep_rows:
        raise ValueError(TOO_FEW)
    model, digest = fitting.model_and_digest(pieces)
    fold_models: tuple[FoldModel, ...] = ()
    if recoder is not None:
        weighing = Weighing.of(model, few, recoder.category_columns, recoder.unit)
        if crossing is not None:
            learned = Learned(n_most, weighing.penalties(crossing), training.alone, len(model.shift), training.labels)
        assert learned is not None
        penalties = learned.penalties
        model = replace(model, weights=weighing.weights(pieces, penalties))
        if crossing is not None and settings.out_of_fold and training.table is not None and not training.table.has_gaps:
            halves, shares = crossing.with_two_folds(recoder, standard.apply), [sample.weight for sample in few]
            each_fold = range(len(halves.pieces))
            fold_models = tuple(fitting.fold_model(halves, fold, recoder, shares, penalties) for fold in each_fold)
    n_weighed = sum(len(sample.rows) for sample in few) if is_weighed else 0
    rows_used = RowsUsed(n_rows, sum(partitioned.sizes), n_weighed)
    provenance = Provenance.now(digest if settings.keep_rows else "", n_rows)
    model = summarise_training(model, few, training, settings)
    return Fit(model, learned, pieces, rows_used, fold_models, provenance)


@dataclass(frozen=True, eq=False)
class _Fitting:
    """What the models of one fit have in common."""

    training: TrainingSet
    settings: FitSettings
    standard: Standardization
    partitioning: Settings

    def start(self, classes: Sequence[ArrayPoints]) -> Growing:
        """Partitions of the rows of the classes, in standard units, before the first round."""
        return Growing.start([ArrayPoints(self.standard.place(of_class.rows)) for of_class in classes])

    def grow(self, growing: Growing, partitioning: Settings) -> Growing:
        """Go on with partitions until they have as many ellipsoids as they may."""
        return growing.to(partitioning, self.settings.n_jobs)

    def pieces(self, growing: Growing) -> Pieces:
        """The ellipsoids around the rows, and the isolated rows if they may be kept."""
        pieces = growing.pieces(self.partitioning)
        if self.settings.keep_rows:
            return pieces
        return without_isolated(pieces, self.partitioning, len(growing.classes))

    def grow_and_cross(
        self, growing: Growing, recoder: Recoder, few: Sequence[ClassSample], chosen: Sequence[ClassSample] | None
    ) -> tuple[Growing, Crossing, int]:
        """Partitions with as many ellipsoids as pay, partitions with rows that they have not seen, and how many pay."""
        folds, parts, seen_by = np.full(len(recoder.rows), NOT_USED), [growing], [Recoded(recoder.rows, ())]
        if chosen is not None:
            folds = unseen_folds(recoder, chosen)
        is_own = bool(np.mean(folds != NOT_USED) >= ENOUGH_UNSEEN)
        if not is_own:
            folds = folds_of_rows(recoder, self.standard.apply)
            left_out = [folds == fold for fold in range(N_FOLDS) if (folds == fold).any()]
            seen_by = [recoder.without(is_left_out) for is_left_out in left_out]
            each = zip(seen_by, left_out, strict=True)
            parts = [self.start(classes_outside(recoder, seen, is_left_out)) for seen, is_left_out in each]
        most = self.partitioning
        if self.settings.max_ellipsoids is not None or not parts:
            parts = [self.grow(part, most) for part in parts]
        else:
            weights = np.repeat([sample.weight for sample in few], [len(sample.rows) for sample in few])
            judged = [
                LeftOut.of(
                    self.standard.place(seen.rows[folds == fold]),
                    recoder.which[folds == fold],
                    weights[folds == fold],
                    JUDGED_ROWS // len(parts),
                )
                for fold, seen in enumerate(seen_by)
            ]
            parts, size = grow_while_it_pays(parts, judged, most, self.grow, self.pieces)
            most = replace(most, max_ellipsoids=size)
        crossing = Crossing(folds, tuple(self.pieces(part) for part in parts), tuple(seen_by))
        return parts[0] if is_own else self.grow(growing, most), crossing, most.max_ellipsoids

    def signatures(self, pieces: Pieces) -> Reduction[Any, SignatureCounts]:
        """Counts rows in the ellipsoids."""
        ellipsoids = [piece.ellipsoid for piece in pieces.ellipsoids]
        counting = Signatures.of(ellipsoids, self.standard.n_placed, BOUNDARY_SLACK)
        return Transformed(counting, self.standard.place)

    def model_and_digest(self, pieces: Pieces) -> tuple[SEPModel, str]:
        """A model of all training rows, without weights, and the digest of these rows, in one pass."""
        training, signatures = self.training, self.signatures(pieces)
        classes, every, digest = training.classes, range(len(training.labels)), training.digest
        if digest:
            tables = classes.reduce_each(dict.fromkeys(every, signatures))
        else:
            given = given_columns(training.columns.displays, training.columns.n_values)
            digests = (RowDigest(label, given) for label in training.labels)
            both = classes.reduce_each({k: JointReduction((signatures, own)) for k, own in enumerate(digests)})
            tables = {k: both[k][0] for k in every}
            digest = as_text(add_sums(both[k][1] for k in every))
        return self.model(pieces, classes.sizes, training.labels, [tables[k] for k in every]), digest

    def model(
        self,
        pieces: Pieces,
        sizes: Sequence[int],
        labels: NDArray[Any],
        tables: Sequence[SignatureCounts],
    ) -> SEPModel:
        """A model without weights: the ellipsoids, and how many rows of each class lie in them."""
        standard, weight_scale = self.standard, self.training.weight_scale
        centers, roots = ellipsoid_arrays(pieces, standard.n_placed)
        model = SEPModel(
            classes=labels,
            class_counts=np.array(sizes, dtype=np.int64),
            feature_names=self.training.columns.feature_names,
            shift=standard.shift,
            scale=standard.scale,
            centers=centers,
            roots=roots,
            owners=pieces.owners,
            is_terminal=np.array([piece.is_terminal for piece in pieces.ellipsoids], dtype=bool),
            isolated=pieces.isolated,
            isolated_owners=pieces.isolated_owners,
            table=SignatureTable.of_classes(tables),
            slack=BOUNDARY_SLACK,
            trust=self.settings.trust,
            alone=self._standalone(labels),
        )
        return model if weight_scale == 1.0 else _in_rows(model, weight_scale)

    def _standalone(self, labels: NDArray[Any]) -> Standalone | None:
        """The standalone features of a model of these classes, with the range of all rows."""
        alone, extent = self.training.alone, self.training.extent
        if alone is None:
            return None
        low, high = ((end - self.standard.shift) / self.standard.scale for end in (extent.lowest, extent.highest))
        return alone.among(self.training.labels, labels).with_range(low, high)

    def fold_model(
        self, crossing: Crossing, fold: int, recoder: Recoder, shares: Sequence[float], penalties: Penalties
    ) -> FoldModel:
        """A model of the rows outside of a fold; it has only the classes of these rows."""
        pieces, seen, is_in = crossing.pieces[fold], crossing.seen_by[fold], crossing.folds == fold
        known = np.unique(recoder.which[~is_in])
        samples = [ClassSample(seen.rows[~is_in & (recoder.which == k)], shares[k]) for k in known]
        classes, signatures = _arrays(samples), self.signatures(pieces)
        tables = [points.reduce(signatures) for points in classes.arrays]
        model = self.model(pieces, classes.sizes, self.training.labels[known], tables)
        weighing = Weighing.of(model, samples, recoder.category_columns, recoder.unit)
        model = replace(model, weights=weighing.weights(pieces, penalties))
        model = summarise_training(model, samples, self.training, self.settings)
        unseen = row_hashes(recoder.rows[is_in], seed=0)
        return FoldModel(model, known, unseen, seen.encodings, recoder.category_columns)


def _recoder(samples: Sequence[ClassSample], training: TrainingSet) -> Recoder:
    """The rows of samples of the classes, whose categories can be encoded without the labels of some rows."""
    which = np.repeat(np.arange(len(samples)), [len(sample.rows) for sample in samples])
    rows = np.concatenate([sample.rows for sample in samples])
    return Recoder(rows, which, training.columns.of_categories, training.weight_scale)


def _in_rows(model: SEPModel, unit: float) -> SEPModel:
    """The model with its counts in units of rows, rounded so that they add up; at least 1 where there are any."""
    table_counts = np.column_stack([_round_counts(counts * unit) for counts in model.table.counts.T])
    table = replace(model.table, counts=table_counts)
    return replace(model, class_counts=table_counts.sum(axis=0), table=table)


def _round_counts(shares: FloatArray) -> IntArray:
    """Round to whole numbers, at least 1 where positive, that add up to the rounded sum if possible."""
    counts = np.maximum(np.floor(shares), shares > 0).astype(np.int64)
    n_left = max(round(float(shares.sum())) - int(counts.sum()), 0)
    counts[np.argsort(counts - shares, kind="stable")[:n_left]] += 1
    return counts


def _arrays(samples: Sequence[ClassSample]) -> ClassArrays:
    return ClassArrays(tuple(ArrayPoints(sample.rows) for sample in samples))


def _samples(classes: RowsByClass, n_wanted: int, seed: int) -> list[ClassSample]:
    """Sample the classes; a rare class keeps more than its share, since an ellipsoid needs enough rows."""
    n_least = min(FEWEST_ROWS, -(-n_wanted // len(classes.sizes)))
    return sample_classes(classes, n_wanted, seed, n_least)


def _draw_fewer(samples: list[ClassSample], n_drawn: int, n_wanted: int, seed: int) -> list[ClassSample]:
    """Draw `n_wanted` rows from samples of `n_drawn` rows, which saves a pass over the data."""
    if n_wanted >= n_drawn:
        return samples
    few = _samples(_arrays(samples), n_wanted, seed)
    return [
        ClassSample(smaller.rows, smaller.weight * sample.weight) for smaller, sample in zip(few, samples, strict=True)
    ]
