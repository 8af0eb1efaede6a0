"""The Gaussian mixture that missing values are imputed from."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from sepc._typing import FloatArray
from sepc.model.mixture import Mixture
from sepc.model.normal_scores import NormalScores
from sepc.records import MOST, floats, part, record

# Scores are roughly normal, and a ridge is added to variances; so means, covariances and their inverses never exceed
# these.
MOST_SCORE = 1e9
MOST_PRECISION = 1e12


@record
class ImputationMixture:
    """Normal distributions of scores: of the owner's rows in each ellipsoid, and of each class's remaining rows.

    Attributes
    ----------
    scores : NormalScores
    centers, covariances : (G, d) and (G, d, d) arrays
        Means and covariances of the scores.
    class_rows : (G, C) array
        Training rows of each class that each distribution was fitted to.
    """

    scores: NormalScores = part(NormalScores, is_inline=True)
    centers: FloatArray = floats("G", "d", low=-MOST_SCORE, high=MOST_SCORE)
    covariances: FloatArray = floats("G", "d", "d", low=-MOST_SCORE, high=MOST_SCORE)
    class_rows: FloatArray = floats("G", "C", low=0.0, high=MOST)

    def flaw(self) -> str | None:
        """What is wrong with the distributions, if anything."""
        rows, covariances = self.class_rows, self.covariances
        if len(rows) == 0 or not 0.0 < rows.sum(axis=1).min() <= rows.sum() < MOST:
            return "has mixture components without rows, or no components"
        is_symmetric = np.array_equal(covariances, covariances.transpose(0, 2, 1))
        if not is_symmetric or np.linalg.eigvalsh(covariances).min(initial=np.inf) < 1.0 / MOST_PRECISION:
            return "has impossible means or covariances"
        return None

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
