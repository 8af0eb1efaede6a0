"""Rows whose label is probably wrong, by out-of-fold probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import frame_of
from sepc.points.inputs import refuse_missing_labels
from sepc.wording import counted, decimal, name_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Suspects(ShownAsCard):
    """Rows that are probably mislabelled, the most suspicious first.

    Attributes
    ----------
    rows : (k,) array of int
        Positions in the table.
    given, likely : (k,) arrays
        The label that each row has, and the one that models fitted on other rows expect.
    probability : (k,) array
        The probability of the likely label.
    n_judged : int
        How many rows were judged at all.
    """

    rows: IntArray
    given: NDArray[Any]
    likely: NDArray[Any]
    probability: FloatArray
    n_judged: int

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def title(self) -> str:
        """How many labels may be wrong."""
        return f"{counted(len(self), 'label')} of {self.n_judged:,} may be wrong"

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame, in the same order."""
        return frame_of(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The columns of the DataFrame by name."""
        return {
            "row": self.rows,
            "given": self.given,
            "likely": self.likely,
            "probability": self.probability,
        }

    def _card(self) -> Card:
        cells = zip(self.rows.tolist(), self.given, self.likely, self.probability.tolist(), strict=True)
        rows = tuple((f"{row:,}", name_of(given), name_of(likely), decimal(p)) for row, given, likely, p in cells)
        head = ("row", "given", "likely", "probability") if rows else ()
        return Card(self.title, (), head, rows, "As a DataFrame: to_frame()" if rows else "")


def suspects(model: Any, y: ArrayLike) -> Suspects:
    """Training rows that are probably mislabelled, by out-of-fold probabilities.

    Parameters
    ----------
    model : SEPClassifier
        Fitted with ``out_of_fold=True``.
    y : array of shape (n,)
        The labels that it was fitted to.

    Returns
    -------
    Suspects
        Rows, given and likely labels, the most suspicious first; ``to_frame()`` makes a DataFrame.

    Raises
    ------
    ValueError
        If the model has no out-of-fold probabilities, or `y` is not what it was fitted to.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 120]] = 1
    >>> found = suspects(SEPClassifier(out_of_fold=True).fit(X, y), y)
    >>> [int(row) for row in found.rows[:2]], [int(label) for label in found.likely[:2]]
    ([120, 3], [2, 0])
    """
    if not hasattr(model, "out_of_fold_"):
        advice = "fit an SEPClassifier(out_of_fold=True) to the same rows, and give suspects that one."
        if hasattr(model, "out_of_fold"):
            advice = "fit it with out_of_fold=True; model files do not keep them."
        raise ValueError(f"{type(model).__name__} has no out-of-fold probabilities; {advice}")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must hold one label for each row; its shape is {labels.shape}.")
    refuse_missing_labels(labels)
    return suspected_labels(model.out_of_fold_, labels, model.classes_)


def suspected_labels(probabilities: FloatArray, labels: NDArray[Any], classes: NDArray[Any]) -> Suspects:
    """Rank rows whose label is probably wrong."""
    if len(probabilities) != len(labels):
        raise ValueError(f"There are {len(labels):,} labels for {len(probabilities):,} rows with probabilities.")
    judged = np.flatnonzero(~np.isnan(probabilities).any(axis=1))
    known, given = probabilities[judged], _codes(labels[judged], classes)
    likely = known.argmax(axis=1)
    usual = usual_confidence(known, given)
    of_likely = known[np.arange(len(known)), likely]
    chosen = np.flatnonzero((likely != given) & (of_likely >= usual[likely]))
    chosen = chosen[np.argsort(-doubt(known, given)[chosen], kind="stable")]
    rows = judged[chosen]
    return Suspects(rows, labels[rows], classes[likely[chosen]], of_likely[chosen], len(judged))


def doubt(probabilities: FloatArray, given: IntArray) -> FloatArray:
    """How doubtful each label is: the probability that another one is right."""
    return np.asarray(1.0 - probabilities[np.arange(len(given)), given])


def usual_confidence(probabilities: FloatArray, given: IntArray) -> FloatArray:
    """For each class, the mean probability of the class among its rows; 1 for a class without rows."""
    n = probabilities.shape[1]
    counts = np.bincount(given, minlength=n)
    sums = np.bincount(given, weights=probabilities[np.arange(len(given)), given], minlength=n)
    return np.where(counts > 0, sums / np.maximum(counts, 1), 1.0)


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """The position of each label among the classes; raises if one is not among them."""
    at = {label: i for i, label in enumerate(classes.tolist())}
    unknown = next((label for label in labels.tolist() if label not in at), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not a class of the model.")
    return np.array([at[label] for label in labels.tolist()], dtype=np.int64)
