"""Which features tell most about a decision, by the terms of weights and by what keeps the row out of ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.decisions import Decision
from sepc.model.membership import FARTHEST, squared_radii
from sepc.model.sep_model import SEPModel
from sepc.model.usual import ANYWHERE, FeatureKind, UsualValues

Scored: TypeAlias = tuple[int, float]

# Terms that are smaller than this, in log-odds, are not worth a word.
LEAST_TERM = 0.05
# Nor are features with a smaller share of the distance.
LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class TellingFeatures:
    """What the features of one row say about its label and the runner-up; both are positions among the classes."""

    model: SEPModel
    usual: UsualValues
    row: FloatArray
    known: BoolArray
    label: int
    runner_up: int | None
    feature_terms: FloatArray | None
    ellipsoid_term: float

    @classmethod
    def of(cls, decision: Decision, usual: UsualValues) -> TellingFeatures:
        """Those of a decision, by a model with these usual values."""
        model: SEPModel = decision.model
        label = int(np.searchsorted(model.classes, decision.label))
        order = np.argsort(-decision.probabilities, kind="stable")
        runner_up = next((int(c) for c in order if c != label), None)
        terms, in_ellipsoids = None, 0.0
        if model.weights is not None and runner_up is not None:
            own = decision.terms()
            runner_up = int(np.searchsorted(model.classes, own.runner_up))
            terms, in_ellipsoids = np.asarray(own.features), float(own.ellipsoids.sum())
        return cls(model, usual, decision.rows, ~decision.missing, label, runner_up, terms, in_ellipsoids)

    def for_label(self) -> list[Scored]:
        """Features that speak for the label against the runner-up, the strongest first, with how much they say.

        Each has its own term, and of that of the ellipsoids the share by which it keeps the row out of the nearest one
        of the runner-up.
        """
        if self.runner_up is None:
            return []
        shares = self._shares_against(self.runner_up)
        if self.feature_terms is None:
            return self._ranked(shares, LEAST_SHARE)
        return self._ranked(np.maximum(self.feature_terms, 0.0) + max(self.ellipsoid_term, 0.0) * shares, LEAST_TERM)

    def for_runner_up(self) -> list[Scored]:
        """Features that speak for the runner-up, the strongest first, with how much they say."""
        return [] if self.feature_terms is None else self._ranked(-self.feature_terms, LEAST_TERM)

    def unusual(self) -> list[int]:
        """Features that keep the row out of the nearest ellipsoid, or off the mean without any, strongest first."""
        if self.model.n_ellipsoids:
            shares = feature_shares(self.model, self.row, int(self.gauges.argmin()))
            return [j for j, _ in self._ranked(shares, LEAST_SHARE)]
        apart = np.minimum(np.abs(self.model.standardize(self.row[None, :])[0]), FARTHEST)
        return [j for j, _ in self._ranked(apart / (apart.sum() or 1.0), LEAST_SHARE)]

    def nearest_group(self) -> int:
        """The group of the nearest ellipsoid; that of the label if there is none."""
        if not self.model.n_ellipsoids:
            return self.group_like_it(self.label)
        nearest = int(self.gauges.argmin())
        owner = int(self.model.owners[nearest])
        group = self.usual.group(nearest, owner)
        return self.group_like_it(owner) if group is None else group

    def group_like_it(self, owner: int) -> int:
        """The group of a class that is most like the row: in the ellipsoid where it lies deepest, or nearest to it."""
        around = self.usual.ellipsoids_of(owner)
        nearest = int(around[self.gauges[around].argmin()]) if len(around) else ANYWHERE
        group = self.usual.group(nearest, owner)
        assert group is not None  # Every class has a group of all its rows.
        return group

    @cached_property
    def gauges(self) -> FloatArray:
        """The gauge of the row in every ellipsoid."""
        return gauges_of(self.model, self.row)

    def _shares_against(self, owner: int) -> FloatArray:
        """The share of each feature in what keeps the row out of the nearest ellipsoid of a class; zero if it is in."""
        own = np.flatnonzero(self.model.owners == owner)
        if len(own) == 0:
            return np.zeros(len(self.known))
        nearest = int(own[self.gauges[own].argmin()])
        is_in = self.gauges[nearest] <= 1.0 + self.model.slack
        return np.zeros(len(self.known)) if is_in else feature_shares(self.model, self.row, nearest)

    def _ranked(self, scores: FloatArray, least: float) -> list[Scored]:
        """Columns of the table by the sum of the scores of their features; those that are missing are left out."""
        summed = np.zeros(len(scores))
        np.add.at(summed, self._column_of, np.where(self.known, scores, 0.0))
        order = np.argsort(-summed, kind="stable")
        return [(int(j), float(summed[j])) for j in order if summed[j] >= least and self.known[j]]

    @cached_property
    def _column_of(self) -> IntArray:
        """The feature that stands for the column of each feature."""
        first = [own.kind is not FeatureKind.PART for own in self.usual.spoken]
        return np.asarray(np.maximum.accumulate(np.where(first, np.arange(len(first)), 0)))


def gauges_of(model: SEPModel, row: FloatArray) -> FloatArray:
    """The gauge of a row in every ellipsoid."""
    return np.asarray(np.sqrt(squared_radii(model.standardize(row[None, :]), model.centers, model.roots)[0]))


def feature_shares(model: SEPModel, row: FloatArray, k: int) -> FloatArray:
    """The share of each feature in the squared radius of `row` in ellipsoid `k`.

    With correlated features, some may reduce the squared radius; their share is zero.
    """
    offset = np.clip(model.standardize(row[None, :])[0] - model.centers[k], -FARTHEST, FARTHEST)
    offset /= np.abs(offset).max() or 1.0
    terms = np.maximum(offset * (model.roots[k].T @ (model.roots[k] @ offset)), 0.0)
    return np.asarray(terms / (terms.sum() or 1.0))
