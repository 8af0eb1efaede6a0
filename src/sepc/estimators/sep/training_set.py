"""A training set: its rows as point sets, standardised, in all and by class, and how much each class counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.preparation import Preparation, feature_displays
from sepc.columns.training_rows import TrainingRows
from sepc.estimators.given_rows import is_lazy
from sepc.estimators.sep.weighed_columns import CategoryColumn
from sepc.kernels.numeric import RANGE_TO, power_of_two, refuse_unworkable, width
from sepc.model.sep_model import SEPModel
from sepc.model.standalone import Standalone
from sepc.model.training_summary import FeatureDisplay
from sepc.points.blocks import LabelledBlocks
from sepc.points.in_memory import ArrayPoints, ClassArrays, TransformedPoints
from sepc.points.reductions import ColumnRange, JointReduction, Moments, PointSet, Spread
from sepc.wording import MOST_NAMES, check_number, listed, shown

# A column is constant if its deviation is at most this share of its values, the size of rounding errors.
CONSTANT = 8.0 * float(np.finfo(np.float64).eps)

# Squares of numbers with binary exponents up to this, and their sums, neither overflow nor underflow.
SAFE_EXPONENT = 400

# Features with smaller deviations have lost digits, and the reciprocal of their deviation may overflow.
SMALLEST_DEVIATION = float(np.finfo(np.float64).tiny)

# Without standardisation, a feature with a smaller range, in the common unit of all, is lost to rounding.
SMALLEST_SHARE = 1e-250


@dataclass(frozen=True, eq=False)
class Extent:
    """Range of every column, and moments of the rows.

    Attributes
    ----------
    lowest, highest : (d,) arrays
    size : (d,) array
        Powers of two; 1 unless the squares of a column's values would leave the range of doubles.
    spread : Spread
        Of the columns divided by `size`.
    """

    lowest: FloatArray
    highest: FloatArray
    size: FloatArray
    spread: Spread

    @classmethod
    def of(cls, points: PointSet) -> Extent:
        """Measure a set of rows in one pass, or two if values are extremely large or small."""
        (lowest, highest), spread = points.reduce(JointReduction((ColumnRange(), Moments())))
        size = _size_of(np.maximum(np.abs(lowest), np.abs(highest)))
        extent = cls(lowest, highest, size, spread)
        return extent if (size == 1.0).all() else replace(extent, spread=extent.sized(points).reduce(Moments()))

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of every column, divided by `size`."""
        return np.asarray(np.sqrt(np.diagonal(self.spread.scatter) / self.spread.n))

    @property
    def is_constant(self) -> BoolArray:
        """Which columns vary by no more than the rounding of their values."""
        deviation = self.deviation
        return np.asarray(deviation <= CONSTANT * (np.abs(self.spread.mean) + deviation))

    def sized(self, points: PointSet) -> PointSet:
        """The rows divided by `size`."""
        return points if (self.size == 1.0).all() else TransformedPoints(points, partial(_divided, by=self.size))

    def refuse_extremes(self, names: Sequence[str]) -> None:
        """Raise for a column whose range is too large for double precision, or so near zero that digits are lost."""
        is_tiny = ~self.is_constant & (self.deviation * self.size < SMALLEST_DEVIATION)
        refuse_unworkable(self.lowest, self.highest, is_tiny | (self.width > RANGE_TO), names)

    @property
    def width(self) -> FloatArray:
        """The range (highest - lowest) of every column."""
        return width(self.lowest, self.highest)


def _divided(rows: FloatArray, by: FloatArray) -> FloatArray:
    return np.asarray(rows / by)


def _first_columns(rows: FloatArray, n: int) -> FloatArray:
    return rows[:, :n]


def _size_of(values: FloatArray) -> FloatArray:
    """The nearest powers of two for extreme values, and 1 for all others."""
    is_safe = np.abs(np.frexp(values)[1]) <= SAFE_EXPONENT
    return np.where(is_safe, 1.0, power_of_two(values))


@dataclass(frozen=True, eq=False)
class Standardization:
    """The standardisation ``(x - shift) / scale``."""

    shift: FloatArray
    scale: FloatArray
    placed: IntArray | None = None

    @classmethod
    def of(cls, extent: Extent) -> Standardization:
        """From mean and standard deviation; a constant column is only shifted."""
        constant = extent.is_constant
        shift = np.where(constant, extent.lowest, extent.spread.mean * extent.size)
        return cls(shift, np.where(constant, 1.0, extent.deviation * extent.size))

    @classmethod
    def none(cls, extent: Extent, names: Sequence[str]) -> Standardization:
        """Leave rows unchanged; if they are extremely large or small, divide all columns by one power of two."""
        largest = np.where(extent.is_constant, 0.0, np.maximum(np.abs(extent.lowest), np.abs(extent.highest)))
        unit = float(_size_of(largest.max(keepdims=True))[0])
        lost = ~extent.is_constant & (extent.width / unit < SMALLEST_SHARE)
        if lost.any():
            small, large = names[int(lost.argmax())], names[int(largest.argmax())]
            raise ValueError(
                f"Feature {small!r} varies by {extent.width[lost][0]:.3g} and {large!r} reaches {largest.max():.3g}; "
                "without standardisation double precision cannot compare them. Bring them to similar units first."
            )
        return cls(np.zeros_like(largest), np.full_like(largest, unit))

    @property
    def n_placed(self) -> int:
        """The number of features that ellipsoids are made of."""
        return len(self.shift) if self.placed is None else len(self.placed)

    def apply(self, rows: FloatArray) -> FloatArray:
        """The features of rows in standard units."""
        moved = rows[:, : len(self.shift)] - self.shift
        moved /= self.scale
        return np.asarray(moved)

    def place(self, rows: FloatArray) -> FloatArray:
        """The placed features of rows in standard units."""
        moved = self.apply(rows)
        return moved if self.placed is None else np.ascontiguousarray(moved[:, self.placed])


BALANCED = "balanced"


@dataclass(frozen=True, eq=False)
class GivenColumns:
    """The given columns: how many, their names if any, and how they become features."""

    n: int
    names: tuple[str, ...] | None = None
    preparation: Preparation | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, which may be more or fewer than the columns."""
        if self.preparation is not None:
            return self.preparation.feature_names
        return tuple(f"x{j}" for j in range(self.n)) if self.names is None else self.names

    @property
    def n_values(self) -> int:
        """Columns of the rows: features, and a code for each categorical column."""
        return len(self.feature_names) + (0 if self.preparation is None else self.preparation.n_codes)

    @property
    def displays(self) -> tuple[FeatureDisplay, ...]:
        """How each feature is displayed."""
        return (FeatureDisplay(),) * self.n if self.preparation is None else feature_displays(self.preparation)

    @property
    def of_categories(self) -> tuple[CategoryColumn, ...]:
        """The categorical columns, whose codes follow the features."""
        if self.preparation is None:
            return ()
        each = zip(self.preparation.category_features.tolist(), self.preparation.categories.values(), strict=True)
        return tuple(
            CategoryColumn(first, categories.encodings.shape[1], len(categories.values)) for first, categories in each
        )


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table in memory, repeated by weight, with NaN for missing values."""

    rows: FloatArray
    labels: NDArray[Any]
    positions: IntArray
    n_table: int

    @cached_property
    def has_gaps(self) -> bool:
        """Whether numbers are missing."""
        return bool(np.isnan(self.rows).any())

    def of_table(self, found: FloatArray) -> FloatArray:
        """Map results for these rows back to the rows of the table; NaN for rows of weight zero."""
        of_table = np.full((self.n_table, *found.shape[1:]), np.nan)
        of_table[self.positions] = found
        return of_table


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows in the user's own units, without missing values, wherever they are stored."""

    rows: PointSet
    classes: ClassArrays | LabelledBlocks
    labels: NDArray[Any]
    columns: GivenColumns
    weight_scale: float = 1.0
    table: TableRows | None = None
    digest: str = ""
    alone: Standalone | None = None

    @property
    def placed(self) -> IntArray | None:
        """The features that ellipsoids are made of; None if all are."""
        every = np.arange(len(self.columns.feature_names))
        return None if self.alone is None else np.setdiff1d(every, self.alone.features)

    @cached_property
    def extent(self) -> Extent:
        """Range and moments of the rows, computed in one pass."""
        return Extent.of(self.rows)

    def gathered(self) -> ClassArrays:
        """The rows of each class, in memory."""
        return self.classes if isinstance(self.classes, ClassArrays) else self.classes.gathered()

    @classmethod
    def of_arrays(cls, rows: FloatArray, y: NDArray[Any], columns: GivenColumns) -> TrainingSet:
        """Rows in memory; category codes may follow the features."""
        labels, which = np.unique(y, return_inverse=True)
        classes = ClassArrays(tuple(ArrayPoints(rows[which == k]) for k in range(len(labels))))
        return cls(ArrayPoints(rows[:, : len(columns.feature_names)]), classes, labels, columns)

    @classmethod
    def of_collection(cls, X: Any, y: Any, encoder: TrainingRows | None = None) -> TrainingSet:
        """Rows on a Dask cluster, or in Parquet files if `X` is a path; they stay where they are."""
        blocks, names = engine_of(X).labelled_blocks(X, y, encoder)
        if encoder is None:
            return cls(blocks, blocks, blocks.labels, GivenColumns(blocks.n_columns, names))
        columns = GivenColumns(len(encoder.preparation.columns), names, encoder.preparation)
        features = TransformedPoints(blocks, partial(_first_columns, n=len(encoder.feature_names)))
        return cls(features, blocks, blocks.labels, columns)


def is_collection(X: Any) -> bool:
    """Whether `X` is a Dask collection or a path to Parquet files, whose rows are not loaded into memory."""
    return is_lazy(X) or isinstance(X, str | PathLike)


def engine_of(X: Any) -> Any:
    """The module that reads a Dask collection, or Parquet files if `X` is a path."""
    if is_lazy(X):
        from sepc.points import engines

        return engines
    from sepc.points import streams

    return streams


def check_class_weight(class_weight: Any) -> None:
    """Raise unless this is None, "balanced", or a mapping of labels to positive numbers."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight is {class_weight!r}; it must be 'balanced', a mapping or None.")
    for label, weight in class_weight.items():
        check_number(f"class_weight of {shown(label)}", weight, above=0)


def with_class_weights(model: SEPModel, class_weight: Any) -> SEPModel:
    """Adjust the class priors of a model: weight 2 makes a class twice as frequent, relative to the others."""
    weights = weights_of_classes(class_weight, model.classes, model.class_counts)
    if model.weights is not None:
        logs = np.log(weights)
        offsets = model.weights.offsets + (logs - logs.mean())
        kinds = model.row_kinds
        if kinds is not None:
            kinds = replace(kinds, class_rows=kinds.class_rows * weights)
        return replace(model, weights=replace(model.weights, offsets=offsets), row_kinds=kinds)
    counts = model.table.counts
    weighted = np.maximum(np.round(counts * weights), counts > 0).astype(np.int64)
    return replace(model, class_counts=weighted.sum(axis=0), table=replace(model.table, counts=weighted))


def weights_of_classes(class_weight: Any, classes: NDArray[Any], counts: NDArray[Any]) -> FloatArray:
    """The weight of each class, given the number of its rows."""
    if isinstance(class_weight, str):
        return np.asarray(counts.sum() / (len(counts) * counts))
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        names = listed(map(shown, classes), MOST_NAMES)
        raise ValueError(f"class_weight names {listed(map(shown, unknown))}; the classes are {names}.")
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
