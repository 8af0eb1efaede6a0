"""Models of a part of the training rows, for probabilities of rows that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.estimators.sep.recoding import recoded
from sepc.estimators.sep.weighed_columns import CategoryColumn
from sepc.model.gap_rules import probabilities_of
from sepc.model.sep_model import SEPModel
from sepc.points.row_hash import row_hashes


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A model of a part of the training rows.

    Attributes
    ----------
    model : SEPModel
    classes : (C,) array of int
        The position of each of its classes among all classes.
    unseen : array
        Hashes of rows that it has not seen.
    encodings : tuple of arrays
        Its encodings of the codes of each column of categories.
    category_columns : sequence of CategoryColumn
    """

    model: SEPModel
    classes: IntArray
    unseen: NDArray[np.uint64]
    encodings: tuple[FloatArray, ...]
    category_columns: Sequence[CategoryColumn]

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Probabilities of the classes that it knows, for rows as the whole model takes them."""
        return probabilities_of(self.model, recoded(rows, self.encodings, self.category_columns))


def out_of_fold(models: Sequence[FoldModel], rows: FloatArray, n_classes: int) -> FloatArray:
    """Probabilities of training rows, each from a model that has not seen it; NaN for rows without one."""
    hashes = row_hashes(rows, seed=0)
    found = np.full((len(rows), n_classes), np.nan)
    for fold in models:
        where = np.flatnonzero(np.isin(hashes, fold.unseen))
        if len(where):
            found[where] = 0.0
            found[np.ix_(where, fold.classes)] = fold.probabilities(rows[where])
    return found
