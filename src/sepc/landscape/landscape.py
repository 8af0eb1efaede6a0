"""Landscape: how the classes of a data set overlap, before any model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card, ShownAsCard, ShownOnOneLine
from sepc.columns.table import column_names, is_categorical
from sepc.errors import FlatSetWarning
from sepc.estimators.base import check_labels
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.training_set import Extent, Standardization
from sepc.kernels.enclose import describe_flat, enclose_points, flat_directions
from sepc.kernels.numeric import single_threaded
from sepc.model.counts import SignatureTable
from sepc.points.in_memory import ArrayPoints
from sepc.points.inputs import as_points, feature_names
from sepc.shapes.ellipsoid import Ellipsoid, are_disjoint, overlap_ratio
from sepc.wording import counted, json_fields, listed, percent, with_counts

# More classes than this are counted, not listed.
MOST_NAMES = 6
HEAD = ("class", "other", "rows in both", "share of class", "of other")


@dataclass(frozen=True, repr=False)
class Overlap(ShownOnOneLine):
    """How the ellipsoids of two classes overlap.

    Attributes
    ----------
    first, second : int
        The classes, as positions among the classes of the landscape.
    disjoint : bool
        Whether the two ellipsoids have no point in common.
    n_first, n_second : int
        Rows of each of the two classes that lie in both ellipsoids.
    ratio_first, ratio_second : float or None
        Volume of the smallest ellipsoid around these rows, divided by the volume of the class's ellipsoid. 0 if there
        are no more such rows than features; None if the class has no more rows than features, since its ellipsoid is
        flat.
    """

    first: int
    second: int
    disjoint: bool
    n_first: int
    n_second: int
    ratio_first: float | None
    ratio_second: float | None


def overlaps_of(
    of_class: Sequence[FloatArray], ellipsoids: Sequence[Ellipsoid], unit: FloatArray
) -> tuple[Overlap, ...]:
    """The overlap of every pair of classes, in order; `unit` is the standard deviation of each feature."""
    return tuple(_overlap(i, j, of_class, ellipsoids, unit) for i, j in combinations(range(len(of_class)), 2))


def _overlap(
    i: int, j: int, of_class: Sequence[FloatArray], ellipsoids: Sequence[Ellipsoid], unit: FloatArray
) -> Overlap:
    disjoint = are_disjoint(ellipsoids[i], ellipsoids[j])
    # The rows of a class lie in its own ellipsoid, so only the other one needs a test.
    in_both = [_inside(of_class[i], ellipsoids[j], disjoint), _inside(of_class[j], ellipsoids[i], disjoint)]
    n_first, n_second = (int(np.count_nonzero(inside)) for inside in in_both)
    shared: Ellipsoid | None = None
    if n_first + n_second > ellipsoids[i].n_features:
        rows = np.concatenate([of_class[i][in_both[0]], of_class[j][in_both[1]]])
        shared = enclose_points(ArrayPoints(rows), unit=unit).ellipsoid
    ratios = [_ratio(shared, ellipsoids[k], len(of_class[k])) for k in (i, j)]
    return Overlap(i, j, disjoint, n_first, n_second, *ratios)


def _inside(rows: FloatArray, other: Ellipsoid, disjoint: bool) -> BoolArray:
    return np.zeros(len(rows), dtype=np.bool_) if disjoint else other.contains(rows)


def _ratio(shared: Ellipsoid | None, whole: Ellipsoid, n_own: int) -> float | None:
    if n_own <= whole.n_features:
        return None
    # All these rows lie in `whole`, so only rounding can push a ratio above 1.
    return 0.0 if shared is None else min(1.0, overlap_ratio(shared, whole))


@dataclass(frozen=True, eq=False, repr=False)
class LandscapeFigures(ShownAsCard):
    """A landscape in numbers.

    Attributes
    ----------
    feature_names : tuple of str
    classes : tuple of str
        The labels as text, sorted as labels.
    n_rows : tuple of int
        Rows of each class.
    ellipsoids : tuple of Ellipsoid
        The smallest ellipsoid around all rows of each class, in the user's features.
    overlaps : tuple of Overlap
        Every pair of classes.
    n_partitioned : int
        Rows that were partitioned. `n_isolated` counts only these; all other counts and shares below refer to all rows.
    n_ellipsoids : int
        Ellipsoids of the partition.
    n_regions : int
        Combinations of ellipsoids that contain at least one row.
    n_mixed : int
        Regions that hold rows of two or more labels.
    mixed_share : float
        Share of the rows in regions that hold two or more labels.
    outvoted_share : float
        Share of all rows that lie in such a region and do not have its most common label.
    outside_share : float
        Share of the rows in no ellipsoid of the partition.
    n_isolated : int
        Partitioned rows in places with too few rows of their label for an ellipsoid.
    """

    feature_names: tuple[str, ...]
    classes: tuple[str, ...]
    n_rows: tuple[int, ...]
    ellipsoids: tuple[Ellipsoid, ...]
    overlaps: tuple[Overlap, ...]
    n_partitioned: int = 0
    n_ellipsoids: int = 0
    n_regions: int = 0
    n_mixed: int = 0
    mixed_share: float = 0.0
    outvoted_share: float = 0.0
    outside_share: float = 0.0
    n_isolated: int = 0

    @property
    def n_all(self) -> int:
        """Rows of all classes."""
        return sum(self.n_rows)

    @property
    def inside(self) -> FloatArray:
        """The share of the rows of each class that lie in the ellipsoid of each other one, and 1 of its own."""
        shares = np.eye(len(self.classes))
        for one in self.overlaps:
            shares[one.first, one.second] = one.n_first / max(self.n_rows[one.first], 1)
            shares[one.second, one.first] = one.n_second / max(self.n_rows[one.second], 1)
        return shares

    def to_dict(self) -> dict[str, Any]:
        """The figures as lists, numbers and text, ready for JSON."""
        return json_fields(self)

    def _card(self) -> Card:
        classes, features = counted(len(self.classes), "class", "classes"), counted(len(self.feature_names), "feature")
        title = f"Landscape of {counted(self.n_all, 'row')}, {classes}, {features}"
        facts = [("rows", with_counts(self.classes, self.n_rows)), *(self._partition_facts() if self.overlaps else ())]
        meeting = sorted(
            (overlap for overlap in self.overlaps if not overlap.disjoint),
            key=lambda overlap: -overlap.n_first - overlap.n_second,
        )
        rows = tuple(self._cells(overlap) for overlap in meeting)
        return Card(title, tuple(facts), HEAD, rows, "All figures: to_dict()")

    def _partition_facts(self) -> tuple[tuple[str, str], ...]:
        sample = "all rows" if self.n_partitioned == self.n_all else f"{self.n_partitioned:,} rows"
        parts = f"{counted(self.n_ellipsoids, 'ellipsoid')}, {counted(self.n_regions, 'region')}"
        mixed = f"{percent(self.mixed_share)} of rows, {percent(self.outvoted_share)} with a minority label"
        n_disjoint = sum(overlap.disjoint for overlap in self.overlaps)
        return (
            ("partition", f"{parts}, fitted on {sample}"),
            ("in mixed regions", mixed if self.n_mixed else "no row"),
            ("in no ellipsoid", f"{percent(self.outside_share)} of rows" if self.outside_share else "no row"),
            ("disjoint classes", f"{n_disjoint:,} of {counted(len(self.overlaps), 'pair')}"),
        )

    def _cells(self, overlap: Overlap) -> tuple[str, ...]:
        shares = [
            percent(n / self.n_rows[k])
            for k, n in ((overlap.first, overlap.n_first), (overlap.second, overlap.n_second))
        ]
        return (
            self.classes[overlap.first],
            self.classes[overlap.second],
            f"{overlap.n_first + overlap.n_second:,}",
            *shares,
        )


def summary_of(summary: LandscapeFigures) -> str:
    """The classes, how their ellipsoids overlap, and how many rows the partition cannot separate."""
    parts = [_classes(summary), *_flat(summary)]
    if summary.overlaps:
        parts += [_overlaps(summary), _partition(summary)]
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
        How many rows to partition, as in `SEPClassifier`. None for all rows.
    max_ellipsoids : int, default=30
        Stop each partition at this many ellipsoids; the rows left are enclosed as they are.
    random_state : int, RandomState or None, default=0
        Chooses the rows to partition.
    n_jobs : int or None, default=None
        Number of classes to partition in parallel, if there are more than two.

    Attributes
    ----------
    figures : LandscapeFigures
        Every number of the landscape, as plain data.
    partition : SEPClassifier
        Fitted to all rows, of which it partitions at most `fit_rows`.

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
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        rows, labels = _checked(X, y)
        self.partition: SEPClassifier = SEPClassifier(
            n_impure,
            trust="counts",
            max_ellipsoids=max_ellipsoids,
            fit_rows=fit_rows,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        _fit(self.partition, X, rows, labels)
        model = self.partition.model_
        self.figures: LandscapeFigures = replace(
            _overlaps_of(rows, labels, feature_names(X)),
            n_partitioned=self.partition.rows_used_.n_partitioned,
            n_ellipsoids=model.n_ellipsoids,
            n_isolated=len(model.isolated),
            **partition_figures(model.table),
        )

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
    return _overlaps_of(*_checked(X, y), feature_names(X))


def _checked(X: Any, y: ArrayLike) -> tuple[FloatArray, NDArray[Any]]:
    """The rows and their labels, if all rows are finite numbers."""
    rows, labels, names = as_points(X).rows, check_labels(y, "Landscape"), feature_names(X)
    if len(labels) != len(rows):
        raise ValueError(f"X has {len(rows):,} rows but y has {len(labels):,} labels; give one for each row.")
    if len(rows) < 2:
        raise ValueError("X has 1 row; a landscape needs at least 2.")
    points = ArrayPoints(rows)
    extent = Extent.of(points)
    extent.refuse_extremes(names)
    directions = flat_directions(extent.sized(points), extent.spread)
    if len(directions) and len(rows) > rows.shape[1]:
        message = describe_flat(directions, len(rows), names)
        warnings.warn(f"{message}; ellipsoids are given a small thickness there.", FlatSetWarning, stacklevel=3)
    return rows, labels


@single_threaded
def _overlaps_of(rows: FloatArray, labels: NDArray[Any], names: tuple[str, ...]) -> LandscapeFigures:
    unit = Standardization.of(Extent.of(ArrayPoints(rows))).scale
    classes, which, n_rows = np.unique(labels, return_inverse=True, return_counts=True)
    of_class = np.split(rows[np.argsort(which, kind="stable")], np.cumsum(n_rows)[:-1])
    ellipsoids = tuple(enclose_points(ArrayPoints(own), unit=unit).ellipsoid for own in of_class)
    overlaps = overlaps_of(of_class, ellipsoids, unit)
    return LandscapeFigures(names, tuple(map(str, classes)), tuple(n_rows.tolist()), ellipsoids, overlaps)


@single_threaded
def _fit(classifier: SEPClassifier, X: Any, rows: FloatArray, labels: NDArray[Any]) -> None:
    """Fit to all rows, with feature names if all columns have distinct ones."""
    names = column_names(X) if hasattr(X, "columns") else []
    is_named = bool(names) and len(set(names)) == len(names) and all(isinstance(name, str) for name in names)
    is_named = is_named and not any(is_categorical(X, name) for name in names)
    with warnings.catch_warnings():
        # `_checked` has already warned about all rows. Nothing is tested, so copies do no harm.
        warnings.simplefilter("ignore", FlatSetWarning)
        warnings.filterwarnings("ignore", ".*repeat an earlier one")
        classifier.set_params(force_features=names if is_named else None).fit(X if is_named else rows, labels)


def partition_figures(table: SignatureTable) -> dict[str, Any]:
    """What regions and the rows counted in them say, in the fields of `LandscapeFigures`."""
    counts, n_rows = table.counts, int(table.counts.sum())
    is_region = table.memberships.any(axis=1)
    is_mixed = is_region & (np.count_nonzero(counts, axis=1) > 1)
    n_outvoted = int((counts.sum(axis=1) - counts.max(axis=1))[is_mixed].sum())
    return {
        "n_regions": table.n_regions,
        "n_mixed": int(is_mixed.sum()),
        "mixed_share": float(counts[is_mixed].sum() / n_rows),
        "outvoted_share": n_outvoted / n_rows,
        "outside_share": float(counts[~is_region].sum() / n_rows),
    }
