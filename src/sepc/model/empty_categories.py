"""Missing categories of a row, and the categories that may take their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.mixture import N_DRAWS
from sepc.model.sep_model import SEPModel


@dataclass(frozen=True, eq=False)
class EmptyCategory:
    """A categorical column that is missing in a row.

    Attributes
    ----------
    positions : (k + 1,) array
        Positions in a row of the features that encode the column, then of its code.
    fillings : (m, k + 1) array
        The values there for each category that may be the missing one.
    """

    positions: IntArray
    fillings: FloatArray

    @classmethod
    def of(cls, feature: int, code: int, encodings: FloatArray, codes: IntArray) -> EmptyCategory:
        """The column whose features begin at position `feature`, with its code at position `code`."""
        positions = np.append(np.arange(feature, feature + encodings.shape[1]), code)
        return cls(positions, np.column_stack([encodings, codes]))

    @property
    def feature(self) -> int:
        """Its first feature, which has the name of the column."""
        return int(self.positions[0])

    def likely(self, model: SEPModel, probabilities: FloatArray) -> FloatArray:
        """`N_DRAWS` fillings, in proportion to the frequency of their categories in the likely classes.

        Every category counts as if each class had one more row with it.
        """
        if model.usual is None:
            shares = np.ones(len(self.fillings))
        else:
            counts = model.usual.category_counts[: len(probabilities), model.usual.categories_of(self.feature)]
            n_rows = counts[:, self.fillings[:, -1].astype(np.int64)] + 1.0
            shares = probabilities @ (n_rows / n_rows.sum(axis=1, keepdims=True))
        middles = (np.arange(N_DRAWS) + 0.5) / N_DRAWS * shares.sum()
        return np.asarray(self.fillings[np.searchsorted(np.cumsum(shares)[:-1], middles, side="right")])


def n_ways(empty: Sequence[EmptyCategory]) -> int:
    """How many combinations of categories could take the place of the missing ones."""
    return prod(len(column.fillings) for column in empty)


def fill_in(row: FloatArray, empty: Sequence[EmptyCategory]) -> Iterator[FloatArray]:
    """The row with every combination of categories in place of the missing ones."""
    for chosen in product(*(column.fillings for column in empty)):
        complete = row.copy()
        for column, filling in zip(empty, chosen, strict=True):
            complete[column.positions] = filling
        yield complete
