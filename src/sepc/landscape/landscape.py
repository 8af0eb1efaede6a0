"""Landscape: how the classes of a data set overlap, before any model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing, check_random_state

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.columns.table import column_names, is_categorical
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.standardization import Extent, Standardization
from sepc.kernels.enclose import describe_flat, flat_directions
from sepc.kernels.threads import single_threaded
from sepc.landscape.figures import LandscapeFigures
from sepc.landscape.overlaps import class_ellipsoids, overlaps_of
from sepc.landscape.rows_by_class import RowsByClass, rows_by_class
from sepc.landscape.wording import summary_of
from sepc.model.locate import as_values, locate, unpack_sets
from sepc.model.sep_model import SEPModel
from sepc.model.signature_table import SignatureTable
from sepc.points.in_memory import ArrayPoints
from sepc.points.signatures import SignatureCounts
from sepc.wording import check_number

# A sample keeps at least this many rows of every class, or all rows of a smaller one, so that rare classes are seen.
MIN_CLASS_ROWS = 100

# Rows located at a time, to bound the memory used for rows outside all ellipsoids.
BLOCK_ROWS = 2**16


class Landscape(ShownAsCard):
    """Where the classes of a data set lie, where they overlap, and which rows a partition cannot separate.

    The ellipsoids of the classes and their overlaps use all rows. The partition is that of an `SEPClassifier` fitted on
    at most `fit_rows` rows; all rows are then counted in it. `sepc.plot.LandscapeDisplay.from_landscape` draws both.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
        Finite numbers.
    y : array of shape (n,)
        Labels of any type.
    n_impure : int or float, default=2
        How many of the partitioned rows in an ellipsoid may have another label: a count, or a share of its own rows.
    fit_rows : int or None, default=3000
        How many rows to partition, chosen by a hash of their values, in proportion to the classes but at least 100 of
        each class, or all rows of a smaller one. None for all rows.
    max_ellipsoids : int, default=30
        Stop each partition at this many ellipsoids; the rows left are enclosed as they are.
    small : float, default=0.05
        An ellipsoid of the partition with less than this share of the rows of its label is a small disjunct.
    random_state : int, RandomState or None, default=0
        Chooses the rows to partition.
    n_jobs : int or None, default=None
        Number of classes to partition in parallel, if there are more than two.

    Attributes
    ----------
    figures : LandscapeFigures
        Every number of the landscape, as plain data.
    partition : SEPClassifier
        Fitted on the partitioned rows; its own counts cover only these.

    Notes
    -----
    Shares describe these rows and this partition. Another sample gives another partition, and new rows lie outside its
    ellipsoids more often than the rows it was fitted on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import Landscape
    >>> iris = load_iris()
    >>> landscape = Landscape(iris.data, iris.target_names[iris.target])
    >>> print(landscape)
    150 rows of 3 classes: 'setosa' (50), 'versicolor' (50) and 'virginica' (50). Of 3 pairs ... 2 are disjoint. ...
    >>> landscape.figures.overlaps[2]
    Overlap(first=1, second=2, disjoint=False, n_first=3, n_second=5, ratio_first=..., ratio_second=...)
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        *,
        n_impure: int | float = 2,
        fit_rows: int | None = 3_000,
        max_ellipsoids: int = 30,
        small: float = 0.05,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        check_number("small", small, least=0, most=1)
        if fit_rows is not None:
            check_number("fit_rows", fit_rows, least=1, whole=True, instead="or None for all rows")
        rows = rows_by_class(X, y)
        if len(rows.rows) < 2:
            raise ValueError("X has 1 row; a landscape needs at least 2.")
        _warn_if_flat(rows)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        sample = rows.sample(fit_rows, MIN_CLASS_ROWS, seed)
        self.partition: SEPClassifier = SEPClassifier(
            n_impure,
            trust="counts",
            max_ellipsoids=max_ellipsoids,
            fit_rows=None,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        _fit(self.partition, X, sample)
        self.figures: LandscapeFigures = _figures(rows, sample, self.partition.model_, float(small))

    def summary(self) -> str:
        """The landscape in a few sentences."""
        return summary_of(self.figures)

    def to_dict(self) -> dict[str, Any]:
        """The figures as lists, numbers and text, ready for JSON."""
        return self.figures.to_dict()

    def __str__(self) -> str:
        return self.summary()

    def _card(self) -> Card:
        return replace(
            self.figures._card(),
            note="In words: print(landscape). As a picture: sepc.plot.LandscapeDisplay.from_landscape(landscape)",
        )


def _warn_if_flat(table: RowsByClass) -> None:
    points = ArrayPoints(table.rows)
    extent = Extent.of(points)
    extent.refuse_extremes(table.names)
    directions = flat_directions(extent.sized(points), extent.spread)
    if len(directions) and len(table.rows) > table.rows.shape[1]:
        message = describe_flat(directions, len(table.rows), table.names)
        warnings.warn(f"{message}; ellipsoids are given a small thickness there.", FlatSetWarning, stacklevel=3)


@single_threaded
def _fit(classifier: SEPClassifier, X: Any, sample: RowsByClass) -> None:
    """Fit on the sample, with feature names if all columns have distinct ones."""
    names = column_names(X) if hasattr(X, "columns") else []
    is_named = bool(names) and len(set(names)) == len(names) and all(isinstance(name, str) for name in names)
    is_named = is_named and not any(is_categorical(X, name) for name in names)
    rows = _safe_indexing(X, sample.places) if is_named else sample.rows
    with warnings.catch_warnings():
        # `_warn_if_flat` has already warned about all rows; a sample may be flat just because it is small. Nothing is
        # tested, so copies do no harm.
        warnings.simplefilter("ignore", FlatSetWarning)
        warnings.filterwarnings("ignore", ".*repeat an earlier one")
        classifier.set_params(force_features=names if is_named else None).fit(rows, sample.labels)


@single_threaded
def _figures(rows: RowsByClass, sample: RowsByClass, model: SEPModel, small: float) -> LandscapeFigures:
    unit = Standardization.of(Extent.of(ArrayPoints(rows.rows))).scale
    ellipsoids = class_ellipsoids(rows.of_class, unit)
    table = model.table if sample is rows else count_in(model, rows)
    partition = figures_of(table, model.owners, small)
    return LandscapeFigures(
        feature_names=rows.names,
        classes=tuple(map(str, rows.classes)),
        n_rows=tuple(rows.n_rows.tolist()),
        ellipsoids=ellipsoids,
        overlaps=overlaps_of(rows.of_class, ellipsoids, unit),
        n_partitioned=len(sample.rows),
        n_ellipsoids=model.n_ellipsoids,
        n_regions=partition.n_regions,
        n_mixed=partition.n_mixed,
        n_small=partition.n_small,
        small=small,
        small_share=partition.small_share,
        mixed_share=partition.mixed_share,
        outvoted_share=partition.outvoted_share,
        outside_share=partition.outside_share,
        n_isolated=len(model.isolated),
    )


@dataclass(frozen=True)
class PartitionFigures:
    """A partition in figures.

    Attributes
    ----------
    n_regions : int
        Combinations of ellipsoids that contain at least one row.
    n_mixed : int
        Regions that hold rows of two or more labels.
    mixed_share, outvoted_share : float
        Shares of all rows: those in mixed regions, and those there whose label is not the region's most common one.
    outside_share : float
        Share of the rows that lie in no ellipsoid.
    n_small : int
        Small disjuncts: ellipsoids that contain less than a given share of the rows of their label.
    small_share : float
        Share of the rows that lie in a small disjunct of their label and in no larger ellipsoid of that label.
    """

    n_regions: int
    n_mixed: int
    mixed_share: float
    outvoted_share: float
    outside_share: float
    n_small: int
    small_share: float


def count_in(model: SEPModel, table: RowsByClass) -> SignatureTable:
    """Count all rows of a table in the ellipsoids of a model, which may have been fitted on only some of them."""
    return SignatureTable.of_classes([_signatures(model, rows) for rows in table.of_class])


def _signatures(model: SEPModel, rows: FloatArray) -> SignatureCounts:
    """The combinations of ellipsoids that occur among rows, and how many rows have each."""
    blocks = (rows[start : start + BLOCK_ROWS] for start in range(0, len(rows), BLOCK_ROWS))
    keys = np.concatenate([locate(model.place(block), model.stack, model.slack).keys for block in blocks])
    _, first, counts = np.unique(as_values(keys), return_index=True, return_counts=True)
    return SignatureCounts(unpack_sets(keys[first], model.n_ellipsoids), counts)


def figures_of(table: SignatureTable, owners: IntArray, small: float) -> PartitionFigures:
    """The figures of a partition whose ellipsoids belong to the classes `owners`."""
    counts, n_rows = table.counts, int(table.counts.sum())
    is_region = table.memberships.any(axis=1)
    is_mixed = is_region & (np.count_nonzero(counts, axis=1) > 1)
    n_outvoted = int((counts.sum(axis=1) - counts.max(axis=1))[is_mixed].sum())
    is_small = _are_small(table, owners, small)
    return PartitionFigures(
        n_regions=table.n_regions,
        n_mixed=int(is_mixed.sum()),
        mixed_share=float(counts[is_mixed].sum() / n_rows),
        outvoted_share=n_outvoted / n_rows,
        outside_share=float(counts[~is_region].sum() / n_rows),
        n_small=int(is_small.sum()),
        small_share=_n_only_in_small(is_small, table, owners) / n_rows,
    )


def _are_small(table: SignatureTable, owners: IntArray, small: float) -> BoolArray:
    held = table.inside_all(np.eye(len(owners), dtype=np.bool_))
    n_of_owner = held[np.arange(len(owners)), owners]
    return np.asarray(n_of_owner < small * table.counts.sum(axis=0)[owners])


def _n_only_in_small(is_small: BoolArray, table: SignatureTable, owners: IntArray) -> int:
    """Number of rows in a small ellipsoid of their own label and in no larger one of that label."""
    n = 0
    for k in range(table.counts.shape[1]):
        members = table.memberships[:, owners == k]
        small_only = members.any(axis=1) & ~members[:, ~is_small[owners == k]].any(axis=1)
        n += int(table.counts[small_only, k].sum())
    return n
