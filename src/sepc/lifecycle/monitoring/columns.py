"""Rows in the user's own columns: a summary of training, the latest rows, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import category
from sepc.columns.table import column_names, exact_column_of, is_table
from sepc.decisions.decisions import Decisions, partition_behind, positions_of
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.training_summary import TrainingSummary
from sepc.wording import name_of


@dataclass(frozen=True, eq=False)
class ColumnRows:
    """Rows to compare with training."""

    usual: TrainingSummary
    class_counts: IntArray
    names: tuple[str, ...]
    features: FloatArray
    missing: BoolArray
    codes: IntArray
    unseen: NDArray[Any]
    gap_codes: IntArray
    owner: IntArray

    def __len__(self) -> int:
        return len(self.owner)

    def last(self, n: int) -> ColumnRows:
        """The last n rows."""
        latest = slice(max(len(self) - n, 0), None)
        # Copies, so that the other rows need not be kept.
        parts: dict[str, Any] = {name: getattr(self, name)[latest].copy() for name in ROW_WISE}
        return replace(self, **parts)

    def followed_by(self, others: ColumnRows) -> ColumnRows:
        """These rows, followed by others."""
        parts: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in (self, others)]) for name in ROW_WISE
        }
        return replace(self, **parts)


ROW_WISE = ("features", "missing", "codes", "unseen", "owner")


def column_rows(decisions: Decisions, X: Any, labels: NDArray[Any] | None = None) -> ColumnRows | None:
    """The rows behind decisions in the user's own columns; None if the model has no training summary."""
    partition = partition_behind(decisions)
    if partition is None or partition.model.usual is None:
        return None
    usual, d = partition.model.usual, len(partition.model.shift)
    rows = partition.watched_rows
    features = usual.in_own_units(rows[:, :d])
    codes = rows[:, d:].astype(np.int64)
    empty = partition.empty if partition.empty.shape == codes.shape else np.zeros(codes.shape, dtype=bool)
    return ColumnRows(
        usual=usual,
        class_counts=partition.model.class_counts,
        names=partition.model.feature_names,
        features=rows[:, :d] if features is None else features,
        missing=partition.missing,
        codes=np.where(empty, -1, codes),
        unseen=_unseen_names(partition, X, np.where(empty, -1, codes)),
        gap_codes=_gap_codes(partition, usual),
        owner=_owners(partition.model.classes, partition.label if labels is None else labels),
    )


def _owners(classes: NDArray[Any], labels: NDArray[Any]) -> IntArray:
    known = np.isin(labels, classes)
    owner = np.full(len(labels), -1, dtype=np.int64)
    if known.any():
        owner[known] = positions_of(labels[known], classes)
    return owner


def _gap_codes(partition: SEPDecisions, usual: TrainingSummary) -> IntArray:
    """The codes of missing values, found by value: a category may have the same name as missing values."""
    if partition.preparation is None:
        return np.array([len(display.categories) for display in usual.displays if display.categories], dtype=np.int64)
    known = [categories.values for categories in partition.preparation.all_categories]
    return np.array([values.index(None) if None in values else len(values) for values in known], dtype=np.int64)


def _unseen_names(partition: SEPDecisions, X: Any, codes: IntArray) -> NDArray[Any]:
    """The names of unseen categories, where the table gives them."""
    found = np.full(codes.shape, "", dtype=object)
    if partition.preparation is None or not is_table(X):
        return found
    by_name = {str(name): name for name in column_names(X)}
    for q, known in enumerate(partition.preparation.all_categories):
        which = np.flatnonzero(codes[:, q] == len(known.values))
        if len(which) and known.name in by_name:
            given = exact_column_of(X, by_name[known.name])
            if len(given) == len(codes):
                found[which, q] = [name_of(category(given[i])) for i in which]
    return found


# Values that differ by less than this share of the column's size are equal: a factor undone leaves some round-off.
SAME = 1e-9
# The share of a class below its lower bound, and above its upper one, in `TrainingSummary.ranges`.
TAIL = 0.1
# A column was divided if this share of a class's tail is gone on both sides.
MOST_OF_TAIL = 0.9
# Classes with fewer new rows than this are left out.
FEWEST_OF_CLASS = 10
# The most recent rows that are kept.
MOST_ROWS = 2_000


def kolmogorov(values: FloatArray, kept: FloatArray, tolerance: float = 0.0) -> float:
    """The Kolmogorov distance of sorted values from training, as far as the training quantiles can tell.

    Examples
    --------
    >>> kept = np.linspace(0.0, 1.0, 41)
    >>> round(kolmogorov(np.linspace(0.0, 1.0, 1000), kept), 2), round(kolmogorov(np.linspace(0.5, 1.5, 1000), kept), 2)
    (0.0, 0.5)
    >>> grades = np.repeat(np.arange(1.0, 6.0), 9)[:41]
    >>> round(kolmogorov(grades + 0.001, grades), 2), round(kolmogorov(grades + 0.001, grades, tolerance=0.01), 2)
    (0.22, 0.0)
    """
    slack = SAME * max(float(np.abs(kept).max()), float(np.ptp(kept)))
    first, last = np.searchsorted(kept, kept - slack), np.searchsorted(kept, kept + slack, side="right") - 1
    n, steps = max(len(values), 1), max(len(kept) - 1, 1)
    below, up_to = (
        np.searchsorted(values, kept - slack - tolerance) / n,
        np.searchsorted(values, kept + slack + tolerance, side="right") / n,
    )
    return float(max((last / steps - up_to).max(), (below - first / steps).max(), 0.0))


def critical_distance(n_new: int, n_training: int, level: float) -> float:
    """The distance that two samples of one distribution exceed with about this probability, or less."""
    return float(np.sqrt(0.5 * np.log(2.0 / level) * (1.0 / max(n_new, 1) + 1.0 / max(n_training, 1))))


def total_variation(new: IntArray | FloatArray, training: IntArray | FloatArray) -> float:
    """Half the sum of the absolute differences of shares."""
    return float(0.5 * np.abs(new / max(new.sum(), 1) - training / max(training.sum(), 1)).sum())


def moved_within_classes(values: FloatArray, owner: IntArray, ranges: FloatArray) -> float:
    """How far values moved within the classes, from 0 to 1, by the share of rows beyond the bounds of their class."""
    moved = np.zeros(len(ranges))
    n_rows = np.bincount(owner, minlength=len(ranges))[: len(ranges)]
    for c in np.flatnonzero(n_rows >= FEWEST_OF_CLASS):
        in_class, (low, high) = values[owner == c], ranges[c]
        slack = SAME * max(abs(low), abs(high))
        beyond = max(float((in_class < low - slack).mean()), float((in_class > high + slack).mean()))
        # If all rows are nearer to the middle than nine in ten training rows, the column was divided.
        inner = TAIL - max(float((in_class <= low + slack).mean()), float((in_class >= high - slack).mean()))
        moved[c] = max((beyond - TAIL) / (1.0 - TAIL), inner / TAIL if inner > MOST_OF_TAIL * TAIL else 0.0, 0.0)
    enough = np.where(n_rows >= FEWEST_OF_CLASS, n_rows, 0)
    return float(np.average(moved, weights=enough)) if enough.any() else 0.0
