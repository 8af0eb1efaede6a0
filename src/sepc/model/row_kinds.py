"""Kinds of training rows, each as a normal distribution of scores: what the gaps of a row are filled in by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sepc._typing import FloatArray
from sepc.model.mixture import Mixture
from sepc.model.scores import Scores


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Normal distributions of scores: for each ellipsoid its rows of its own class, and for each class its other rows.

    Attributes
    ----------
    scores : Scores
    centers : (G, d) array
    covariances : (G, d, d) array
    class_rows : (G, C) array
        Training rows of each class that each distribution stands for.
    """

    scores: Scores
    centers: FloatArray
    covariances: FloatArray
    class_rows: FloatArray

    @property
    def n_bytes(self) -> int:
        """Size of all arrays together."""
        own = (self.scores.is_normal, self.scores.quantiles, self.centers, self.covariances, self.class_rows)
        return sum(array.nbytes for array in own)

    @cached_property
    def mixture(self) -> Mixture:
        """The distributions, weighted by their rows."""
        return self._weighted(self.class_rows.sum(axis=1))

    def of_class(self, c: int) -> Mixture:
        """The distributions, weighted by their rows of one class."""
        return self._weighted(self.class_rows[:, c])

    @cached_property
    def _unweighted(self) -> Mixture:
        return Mixture(
            self.centers, np.asarray(np.linalg.inv(self.covariances), dtype=np.float64), np.zeros(len(self.centers))
        )

    def _weighted(self, rows: FloatArray) -> Mixture:
        with np.errstate(divide="ignore"):
            return replace(self._unweighted, log_weights=np.log(rows / rows.sum()))
