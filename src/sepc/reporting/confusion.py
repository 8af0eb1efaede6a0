"""The confusion matrix, and the pairs of labels confused most often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.decisions.decisions import positions_of
from sepc.wording import name_of

# Pairs listed.
N_PAIRS = 12
# With more classes than this there is no matrix, only the pairs.
MOST_CLASSES = 40
# The row for all true labels that are not classes of the model.
UNKNOWN = "other labels"

Matrix: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ConfusedPair:
    """Two labels that are confused with each other.

    `n_forth` rows of `first` were predicted as `second`, `n_back` the other way round; `n_accepted` of both were
    accepted.
    """

    first: str
    second: str
    n_forth: int
    n_back: int
    n_accepted: int

    @property
    def n_rows(self) -> int:
        """All rows of either label that were predicted as the other."""
        return self.n_forth + self.n_back


@dataclass(frozen=True)
class Confusion:
    """Rows by true and predicted label.

    Attributes
    ----------
    classes : tuple of str
        The predicted labels, one for each column.
    truths : tuple of str
        The true labels, one for each row; the last may stand for all labels that the model does not know.
    counts, accepted : tuple of tuples of int
        All rows, and the accepted ones; empty with more than 40 classes.
    pairs : tuple of ConfusedPair
        Those confused most, of `n_pairs`.
    n_pairs : int
    """

    classes: tuple[str, ...]
    truths: tuple[str, ...]
    counts: Matrix
    accepted: Matrix
    pairs: tuple[ConfusedPair, ...]
    n_pairs: int


def confusion_of(label: NDArray[Any], accepted: BoolArray, y: NDArray[Any], classes: NDArray[Any]) -> Confusion:
    """Count rows by true and predicted label."""
    given, true = positions_of(label, classes), _positions(y, classes)
    names = tuple(map(name_of, classes))
    truths = (*names, UNKNOWN) if (true == len(classes)).any() else names
    pairs = _pairs(given, true, accepted, names)
    every, is_small = np.ones(len(label), dtype=bool), len(classes) <= MOST_CLASSES

    def matrix(rows: BoolArray) -> Matrix:
        return _matrix(given[rows], true[rows], len(truths), len(names)) if is_small else ()

    return Confusion(names, truths, matrix(every), matrix(accepted), pairs[:N_PAIRS], len(pairs))


def _positions(y: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """The position of each true label among the classes; one past the last if it is not among them."""
    known = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([known.get(label, len(classes)) for label in y.tolist()], dtype=np.int64)


def _matrix(given: IntArray, true: IntArray, n_truths: int, n_classes: int) -> Matrix:
    counts = np.bincount(true * n_classes + given, minlength=n_truths * n_classes)
    return tuple(map(tuple, counts.reshape(n_truths, n_classes).tolist()))


def _pairs(given: IntArray, true: IntArray, accepted: BoolArray, names: tuple[str, ...]) -> tuple[ConfusedPair, ...]:
    """Every pair of known labels that is confused, the most frequent first."""
    wrong = (given != true) & (true < len(names))
    found: dict[tuple[int, int], list[int]] = {}
    for one, other, taken in zip(true[wrong].tolist(), given[wrong].tolist(), accepted[wrong].tolist(), strict=True):
        pair = found.setdefault((min(one, other), max(one, other)), [0, 0, 0])
        pair[one > other] += 1
        pair[2] += taken
    pairs = [ConfusedPair(names[i], names[j], *numbers) for (i, j), numbers in sorted(found.items())]
    return tuple(sorted(pairs, key=lambda pair: (-pair.n_rows, -pair.n_accepted)))
