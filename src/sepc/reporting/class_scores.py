"""Recall and precision of every class, among all rows and among the accepted ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.wording import name_of


@dataclass(frozen=True)
class Score:
    """How well a class is found among some rows.

    Attributes
    ----------
    n_true, n_predicted, n_right : int
        Rows of the class, rows predicted as it, and rows that are both.
    recall, precision : float or None
        The share of the class's rows that are predicted as it, and the share of the rows predicted as it that belong
        to it; None if there are no such rows.
    """

    n_true: int
    n_predicted: int
    n_right: int
    recall: float | None
    precision: float | None

    @classmethod
    def count(cls, of_class: BoolArray, predicted: BoolArray, among: BoolArray) -> Score:
        """The score among some of the rows."""
        n_true, n_predicted = int((of_class & among).sum()), int((predicted & among).sum())
        n_right = int((of_class & predicted & among).sum())
        return cls(n_true, n_predicted, n_right, _share(n_right, n_true), _share(n_right, n_predicted))


@dataclass(frozen=True)
class ClassScore:
    """The scores of a class: among all rows, and among the accepted."""

    name: str
    all_rows: Score
    accepted: Score

    @property
    def weakest(self) -> float:
        """The smaller of recall and precision over all rows, to sort by; 1 if there is neither."""
        return min((value for value in (self.all_rows.recall, self.all_rows.precision) if value is not None), default=1)


def class_scores(
    label: NDArray[Any], accepted: BoolArray, y: NDArray[Any], classes: NDArray[Any]
) -> tuple[ClassScore, ...]:
    """The scores of every class, in the order of the classes."""
    every = np.ones(len(label), dtype=bool)
    scores = []
    for cls in classes:
        of_class, predicted = np.asarray(y == cls), np.asarray(label == cls)
        both = (Score.count(of_class, predicted, among) for among in (every, accepted))
        scores.append(ClassScore(name_of(cls), *both))
    return tuple(scores)


def _share(n_some: int, n: int) -> float | None:
    return n_some / n if n else None
