"""ColumnRows: rows in the user's own columns, beside what is usual in training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import category
from sepc.columns.table import column_names, exact_column_of, is_table
from sepc.decisions.decisions import Decisions, positions_of
from sepc.estimators.partition_behind import partition_behind
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.training_summary import TrainingSummary
from sepc.wording import name_of


@dataclass(frozen=True, eq=False)
class ColumnRows:
    """Rows to compare with training.

    Attributes
    ----------
    usual : TrainingSummary
        What is usual in training.
    class_counts : (C,) array of int
        Training rows of each class.
    names : tuple of str
        The features; those that stand for categories have the name of their column.
    features : (n, d) array
        In the units of the user, with gaps filled in.
    missing : (n, d) bool array
        Which of them were gaps.
    codes : (n, Q) array of int
        The categories; one more than the last for those that training does not have, and -1 for a gap.
    unseen : (n, Q) array of str
        The names of categories that training does not have, as far as they are known; else empty.
    gap_codes : (Q,) array of int
        The category that training has for gaps; one more than the last if training had none.
    owner : (n,) array of int
        The class of each row, as a position in the classes of the model: the true label if known, else the decision;
        -1 for a label that the model does not know.
    """

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
        own = slice(max(len(self) - n, 0), None)
        # Copies, so that the other rows need not be kept.
        return self._with({name: getattr(self, name)[own].copy() for name in ROW_WISE})

    def followed_by(self, others: ColumnRows) -> ColumnRows:
        """These rows and then others."""
        return self._with({name: np.concatenate([getattr(own, name) for own in (self, others)]) for name in ROW_WISE})

    def _with(self, parts: dict[str, Any]) -> ColumnRows:
        return replace(self, **parts)


ROW_WISE = ("features", "missing", "codes", "unseen", "owner")


def column_rows(decisions: Decisions, X: Any, labels: NDArray[Any] | None = None) -> ColumnRows | None:
    """The rows behind decisions in the user's own columns; None if the model does not know what is usual.

    Parameters
    ----------
    decisions : Decisions
    X : array or DataFrame
        The rows that were decided on; a table tells the names of new categories.
    labels : array, optional
        The true labels.
    """
    partition = partition_behind(decisions)
    if partition is None or partition.model.usual is None:
        return None
    usual, d = partition.model.usual, len(partition.model.shift)
    features = usual.in_own_units(partition.features)
    codes = partition.rows[:, d:].astype(np.int64)
    empty = partition.empty if partition.empty.shape == codes.shape else np.zeros(codes.shape, dtype=bool)
    return ColumnRows(
        usual=usual,
        class_counts=partition.model.class_counts,
        names=partition.model.feature_names,
        features=partition.features if features is None else features,
        missing=partition.missing,
        codes=np.where(empty, -1, codes),
        unseen=_unseen(partition, X, np.where(empty, -1, codes)),
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
    """By the values themselves: a category may be called what gaps are called."""
    if partition.preparation is None:
        return np.array([len(own.categories) for own in usual.displays if own.categories], dtype=np.int64)
    known = [own.values for own in partition.preparation.all_categories]
    return np.array([own.index(None) if None in own else len(own) for own in known], dtype=np.int64)


def _unseen(partition: SEPDecisions, X: Any, codes: IntArray) -> NDArray[Any]:
    """The names of categories that training does not have, where the table tells them."""
    found = np.full(codes.shape, "", dtype=object)
    if partition.preparation is None or not is_table(X):
        return found
    by_name = {str(name): name for name in column_names(X)}
    for q, own in enumerate(partition.preparation.all_categories):
        which = np.flatnonzero(codes[:, q] == len(own.values))
        if len(which) and own.name in by_name:
            given = exact_column_of(X, by_name[own.name])
            if len(given) == len(codes):
                found[which, q] = [name_of(category(given[i])) for i in which]
    return found
