"""Landscape: how the classes of a data set overlap, before any model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.columns.table import column_names, is_categorical
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.training_set import Extent, Standardization
from sepc.kernels.enclose import describe_flat, flat_directions
from sepc.kernels.numeric import single_threaded
from sepc.landscape.figures import LandscapeFigures, Overlap, class_ellipsoids, overlaps_of
from sepc.model.counts import Signatures, SignatureTable
from sepc.model.sep_model import SEPModel
from sepc.points.in_memory import ArrayPoints
from sepc.points.inputs import as_points, feature_names, refuse_missing_labels
from sepc.points.reductions import Transformed
from sepc.points.row_digest import row_hashes
from sepc.wording import check_number, counted, listed, percent

# More classes than this are counted, not listed.
MOST_NAMES = 6


def summary_of(summary: LandscapeFigures) -> str:
    """The classes, how their ellipsoids overlap, and how many rows the partition cannot separate."""
    parts = [_classes(summary), *_flat(summary)]
    if summary.overlaps:
        parts += [_overlaps(summary), _partition(summary), *_small(summary)]
    return " ".join(parts)


def overlaps_in_words(summary: LandscapeFigures) -> str:
    """How the ellipsoids of the classes overlap, without the partition."""
    return " ".join([*_flat(summary), _overlaps(summary)]) if summary.overlaps else _classes(summary)


def _classes(summary: LandscapeFigures) -> str:
    n_classes = len(summary.classes)
    if n_classes == 1:
        return f"All {summary.n_all:,} rows belong to one class, {summary.classes[0]!r}: there is nothing to separate."
    text = f"{summary.n_all:,} rows of {n_classes} classes"
    if n_classes > MOST_NAMES:
        return f"{text}."
    return f"{text}: {listed([f'{c!r} ({n:,})' for c, n in zip(summary.classes, summary.n_rows, strict=True)])}."


def _flat(summary: LandscapeFigures) -> list[str]:
    d = len(summary.feature_names)
    few = [repr(c) for c, n in zip(summary.classes, summary.n_rows, strict=True) if n <= d]
    if not few:
        return []
    shown = listed(few) if len(few) <= MOST_NAMES else f"{len(few)} classes"
    is_one = len(few) == 1
    return [
        f"{shown} {'has' if is_one else 'have'} no more rows than there are features ({d}), so "
        f"{'its ellipsoid is' if is_one else 'their ellipsoids are'} flat."
    ]


def _overlaps(summary: LandscapeFigures) -> str:
    if len(summary.classes) == 2:
        return _two(summary.overlaps[0], summary)
    n_apart = sum(overlap.disjoint for overlap in summary.overlaps)
    shown = f"{n_apart:,} {'is' if n_apart == 1 else 'are'}" if n_apart else "none is"
    text = f"Of {len(summary.overlaps):,} pairs of class ellipsoids, {shown} disjoint."
    most = max(summary.overlaps, key=lambda overlap: overlap.n_first + overlap.n_second)
    if most.n_first + most.n_second == 0:
        return text if n_apart == len(summary.overlaps) else f"{text} No row lies in two of them."
    return f"{text} The pair with the most rows in both: {_rows(most, summary)}."


def _two(overlap: Overlap, summary: LandscapeFigures) -> str:
    if overlap.disjoint:
        return "Their ellipsoids are disjoint."
    if overlap.n_first + overlap.n_second == 0:
        return "Their ellipsoids overlap, but no row lies in both."
    taken = [
        f"{percent(ratio)} of the volume of {summary.classes[k]!r}"
        for k, ratio in ((overlap.first, overlap.ratio_first), (overlap.second, overlap.ratio_second))
        if ratio
    ]
    volumes = f"; the ellipsoid around these rows has {listed(taken)}" if taken else ""
    return f"Their ellipsoids overlap: {_rows(overlap, summary)} lie in both{volumes}."


def _rows(overlap: Overlap, summary: LandscapeFigures) -> str:
    counts = ((overlap.first, overlap.n_first), (overlap.second, overlap.n_second))
    texts = [f"{counted(n, 'row')} of {summary.classes[k]!r} ({percent(n / summary.n_rows[k])})" for k, n in counts]
    return listed(texts)


def _partition(summary: LandscapeFigures) -> str:
    is_sample = summary.n_partitioned < summary.n_all
    rows = f"a sample of {summary.n_partitioned:,} rows" if is_sample else "all rows"
    text = (
        f"A partition of {rows} ({counted(summary.n_ellipsoids, 'ellipsoid')}, "
        f"{counted(summary.n_regions, 'region')}) {_mixed_regions(summary)}."
    )
    if summary.n_mixed and is_sample:
        text += " Another sample may give other figures."
    if summary.outside_share:
        text += f" {percent(summary.outside_share)} of the rows lie in no ellipsoid."
    return text


def _mixed_regions(summary: LandscapeFigures) -> str:
    if summary.n_mixed == 0:
        return "has no region with more than one label"
    return (
        f"leaves {percent(summary.mixed_share)} of the rows in regions with several labels, "
        f"where {percent(summary.outvoted_share)} of all rows have a minority label"
    )


def _small(summary: LandscapeFigures) -> list[str]:
    if summary.n_small == 0:
        return []
    is_one = summary.n_small == 1
    return [
        f"{counted(summary.n_small, 'ellipsoid')} {'is a small disjunct' if is_one else 'are small disjuncts'}, with "
        f"less than {percent(summary.small)} of the rows of {'its' if is_one else 'their'} label; "
        f"{percent(summary.small_share)} of the rows lie in no larger ellipsoid of their label."
    ]


@dataclass(frozen=True, eq=False)
class RowsByClass:
    """Rows sorted by class, so that the rows of one class are a view, not a copy."""

    rows: FloatArray
    classes: NDArray[Any]
    n_rows: IntArray
    places: IntArray
    names: tuple[str, ...]

    @cached_property
    def of_class(self) -> tuple[FloatArray, ...]:
        """The rows of each class."""
        return tuple(np.split(self.rows, np.cumsum(self.n_rows)[:-1]))

    def sample(self, n: int | None, fewest: int, seed: int) -> RowsByClass:
        """Draw about `n` rows in proportion to the classes, but at least `fewest` of each, or all of a smaller one."""
        if n is None or n >= len(self.rows):
            return self
        share = n / len(self.rows)
        wanted = np.maximum((share * self.n_rows).astype(np.int64), np.minimum(self.n_rows, fewest))
        starts = np.cumsum(self.n_rows) - self.n_rows
        parts = zip(self.of_class, starts, wanted.tolist(), strict=True)
        chosen = np.concatenate([start + _smallest_hashes(rows, k, seed) for rows, start, k in parts])
        return RowsByClass(self.rows[chosen], self.classes, wanted, self.places[chosen], self.names)

    @property
    def labels(self) -> NDArray[Any]:
        """The label of every row."""
        return np.repeat(self.classes, self.n_rows)


def rows_by_class(X: Any, y: ArrayLike) -> RowsByClass:
    """Check a table of finite numbers and its labels, and sort the rows by class."""
    points, names = as_points(X), feature_names(X)
    labels = _check_labels(y)
    if len(labels) != points.n_points:
        raise ValueError(f"X has {points.n_points:,} rows but y has {len(labels):,} labels; give one for each row.")
    classes, which = np.unique(labels, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return RowsByClass(points.rows[order], classes, np.bincount(which), order, names)


def _check_labels(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("Landscape needs the label of every row; y is None.")
    labels = np.asarray(column_or_1d(y, warn=True))
    refuse_missing_labels(labels)
    kinds = sorted({type(label).__name__ for label in labels.tolist()}) if labels.dtype.kind == "O" else []
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(f"y mixes labels of types {', '.join(kinds)}, which cannot be sorted; convert them to one.")
    check_classification_targets(labels)
    return labels


def _smallest_hashes(rows: FloatArray, n: int, seed: int) -> IntArray:
    if n >= len(rows):
        return np.arange(len(rows))
    return np.sort(np.argpartition(row_hashes(rows, seed), n - 1)[:n])


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
        rows = _checked_rows(X, y)
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


def class_overlaps(X: Any, y: ArrayLike) -> LandscapeFigures:
    """The ellipsoids of the classes and their overlaps, without a partition; its figures are left at zero."""
    return _class_figures(_checked_rows(X, y))


def _checked_rows(X: Any, y: ArrayLike) -> RowsByClass:
    table = rows_by_class(X, y)
    if len(table.rows) < 2:
        raise ValueError("X has 1 row; a landscape needs at least 2.")
    points = ArrayPoints(table.rows)
    extent = Extent.of(points)
    extent.refuse_extremes(table.names)
    directions = flat_directions(extent.sized(points), extent.spread)
    if len(directions) and len(table.rows) > table.rows.shape[1]:
        message = describe_flat(directions, len(table.rows), table.names)
        warnings.warn(f"{message}; ellipsoids are given a small thickness there.", FlatSetWarning, stacklevel=3)
    return table


@single_threaded
def _fit(classifier: SEPClassifier, X: Any, sample: RowsByClass) -> None:
    """Fit on the sample, with feature names if all columns have distinct ones."""
    names = column_names(X) if hasattr(X, "columns") else []
    is_named = bool(names) and len(set(names)) == len(names) and all(isinstance(name, str) for name in names)
    is_named = is_named and not any(is_categorical(X, name) for name in names)
    rows = _safe_indexing(X, sample.places) if is_named else sample.rows
    with warnings.catch_warnings():
        # `_checked_rows` has already warned about all rows; a sample may be flat just because it is small. Nothing is
        # tested, so copies do no harm.
        warnings.simplefilter("ignore", FlatSetWarning)
        warnings.filterwarnings("ignore", ".*repeat an earlier one")
        classifier.set_params(force_features=names if is_named else None).fit(rows, sample.labels)


@single_threaded
def _class_figures(rows: RowsByClass) -> LandscapeFigures:
    unit = Standardization.of(Extent.of(ArrayPoints(rows.rows))).scale
    ellipsoids = class_ellipsoids(rows.of_class, unit)
    return LandscapeFigures(
        feature_names=rows.names,
        classes=tuple(map(str, rows.classes)),
        n_rows=tuple(rows.n_rows.tolist()),
        ellipsoids=ellipsoids,
        overlaps=overlaps_of(rows.of_class, ellipsoids, unit),
    )


@single_threaded
def _figures(rows: RowsByClass, sample: RowsByClass, model: SEPModel, small: float) -> LandscapeFigures:
    table = model.table if sample is rows else count_in(model, rows)
    partition = figures_of(table, model.owners, small)
    return replace(
        _class_figures(rows),
        n_partitioned=len(sample.rows),
        n_ellipsoids=model.n_ellipsoids,
        n_isolated=len(model.isolated),
        small=small,
        **vars(partition),
    )


@dataclass(frozen=True)
class PartitionFigures:
    """A partition in figures."""

    n_regions: int
    n_mixed: int
    mixed_share: float
    outvoted_share: float
    outside_share: float
    n_small: int
    small_share: float


def count_in(model: SEPModel, table: RowsByClass) -> SignatureTable:
    """Count all rows of a table in the ellipsoids of a model, which may have been fitted on only some of them."""
    counting = Transformed(Signatures(model.stack, model.slack), model.place)
    return SignatureTable.of_classes([ArrayPoints(rows).reduce(counting) for rows in table.of_class])


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
