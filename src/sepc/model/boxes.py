"""Boxes: the usual range of every feature within some ellipsoids, and how rare it is among all training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.sep_model import SEPModel
from sepc.model.usual import ANYWHERE, FeatureKind, UsualValues

# Categories that together make up this share of the rows describe them, if they are few.
MOST_OF_THEM, MOST_CATEGORIES = 0.8, 2


@dataclass(frozen=True, eq=False)
class Boxes:
    """For each of some sets of ellipsoids, what is usual in all of them.

    Attributes
    ----------
    usual : UsualValues
    low, high : (n, d) arrays
        The range of every feature, in the user's own features.
    category_shares : (n, S) array
        How frequent each category is, column by column; NaN if too few rows are known.
    """

    usual: UsualValues
    low: FloatArray
    high: FloatArray
    category_shares: FloatArray

    @cached_property
    def below(self) -> FloatArray:
        """The share of all training rows below each range, of shape (n, d)."""
        pairs = zip(self.usual.overall, self.low.T, strict=True)
        return self._shares([np.searchsorted(own, ends) for own, ends in pairs])

    @cached_property
    def above(self) -> FloatArray:
        """The share of all training rows above each range, of shape (n, d)."""
        pairs = zip(self.usual.overall, self.high.T, strict=True)
        return 1.0 - self._shares([np.searchsorted(own, ends, side="right") for own, ends in pairs])

    @cached_property
    def categories(self) -> dict[int, list[IntArray]]:
        """For each feature of categories and each box, the few that most rows have; empty if there are no such few."""
        return {j: [_frequent(own) for own in self._of_feature(j)] for j in self.usual.category_features}

    @cached_property
    def share(self) -> FloatArray:
        """The share of all training rows within the range or of the categories of each feature; infinite for none."""
        share = 1.0 - self.below - self.above
        share[:, [j for j, own in enumerate(self.usual.spoken) if own.kind is FeatureKind.PART]] = np.inf
        for j, chosen in self.categories.items():
            everyone = self._everyone(j)
            share[:, j] = [everyone[codes].sum() if len(codes) else np.inf for codes in chosen]
        return share

    def _shares(self, places: list[IntArray]) -> FloatArray:
        return np.asarray(np.array(places).T / self.usual.overall.shape[1])

    def _of_feature(self, j: int) -> FloatArray:
        return np.asarray(self.category_shares[:, self.usual.categories_of(j)])

    def _everyone(self, j: int) -> FloatArray:
        """How frequent each category of a feature is among the rows of the sample."""
        groups = np.flatnonzero(self.usual.ellipsoid == ANYWHERE)
        counts = self.usual.category_counts[groups][:, self.usual.categories_of(j)].sum(axis=0)
        return np.asarray(counts / self.usual.n_rows[groups].sum())


def boxes_of(model: SEPModel, usual: UsualValues, sets: Sequence[Sequence[int]]) -> Boxes:
    """The boxes of sets of ellipsoids: where their ranges meet or, if they do not, what lies between them."""
    K, d = model.n_ellipsoids, len(model.feature_names)
    own = np.array([_range(model, usual, k) for k in range(K)]).reshape(K, d, 2)
    low = np.array([own[ellipsoids, :, 0].max(axis=0) for ellipsoids in sets]).reshape(-1, d)
    high = np.array([own[ellipsoids, :, 1].min(axis=0) for ellipsoids in sets]).reshape(-1, d)
    shares = np.array([_category_shares(usual, k, int(model.owners[k])) for k in range(K)])
    mixed = np.array([shares[ellipsoids].mean(axis=0) for ellipsoids in sets]).reshape(len(sets), -1)
    return Boxes(usual, np.minimum(low, high), np.maximum(low, high), mixed)


def _range(model: SEPModel, usual: UsualValues, k: int) -> FloatArray:
    """The usual ranges in an ellipsoid, or those of its shape if it has too few rows, of shape (d, 2)."""
    group = usual.group(k, int(model.owners[k]))
    if group is not None:
        return np.asarray(usual.ranges[group])
    reach = np.linalg.norm(np.linalg.inv(model.roots[k]), axis=1)
    ends = model.shift + model.scale * np.array([model.centers[k] - reach, model.centers[k] + reach])
    own = usual.in_own_units(ends)
    return np.sort((ends if own is None else own).T, axis=1)


def _category_shares(usual: UsualValues, k: int, owner: int) -> FloatArray:
    group = usual.group(k, owner)
    if group is None:
        return np.full(usual.category_counts.shape[1], np.nan)
    return np.asarray(usual.category_counts[group] / usual.n_rows[group])


def _frequent(shares: FloatArray) -> IntArray:
    order = np.argsort(-shares, kind="stable")
    n_needed = int(np.searchsorted(np.cumsum(shares[order]), MOST_OF_THEM)) + 1
    return order[: n_needed if n_needed <= MOST_CATEGORIES and not np.isnan(shares).any() else 0]
