"""New models for failing regions; which rows to fit them on is chosen with held-out feedback."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.estimator import SEPClassifier

# Regions with fewer rows than this get no model.
FEWEST_ROWS = 10
# Every third row of feedback is held out to choose the recipe.
HOLD_OUT_EVERY = 3


@dataclass(frozen=True, eq=False)
class RowsInRegions:
    """Rows, their labels, and the regions they lie in."""

    X: FloatArray
    labels: NDArray[Any]
    region: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, chosen: Any) -> RowsInRegions:
        """The rows at these positions, or of this mask."""
        return RowsInRegions(self.X[chosen], self.labels[chosen], self.region[chosen])

    def within(self, regions: Iterable[int]) -> RowsInRegions:
        """The rows of these regions."""
        return self.take(np.flatnonzero(np.isin(self.region, list(regions))))

    def and_others(self, others: RowsInRegions) -> RowsInRegions:
        """These rows followed by others."""
        both = [np.concatenate([getattr(self, name), getattr(others, name)]) for name in ("X", "labels", "region")]
        return RowsInRegions(*both)


@dataclass(frozen=True)
class Recipe:
    """Which rows to fit a region's model on: whether also those of other failing regions, and old training rows."""

    shared: bool
    with_old: bool


@dataclass(frozen=True, eq=False)
class RegionModel:
    """A region's model, and the number of rows it was fitted on."""

    classifier: SEPClassifier
    n_rows: int


@dataclass(frozen=True, eq=False)
class RegionModelFitter:
    """Fits models for failing regions.

    Attributes
    ----------
    base : SEPClassifier
        The classifier to repair; new models have its parameters.
    regions : sequence of int
        The failing regions.
    old : RowsInRegions or None
        Training rows, if they are still available.
    """

    base: SEPClassifier
    regions: Sequence[int]
    old: RowsInRegions | None

    def models(self, rows: RowsInRegions) -> dict[int, RegionModel]:
        """The model of each region, fitted on all `rows` by the recipe with the fewest errors on held-out rows.

        A failing area may be part of one region or spread over many, and old rows may still hold or not, so no single
        recipe is right for all.
        """
        n_errors = self._held_out_errors(rows)
        chosen = {region: min(RECIPES, key=lambda recipe: n_errors[recipe][region]) for region in self.regions}
        made: dict[int, RegionModel] = {}
        for recipe in self._recipes():
            wanted = [region for region in self.regions if chosen[region] == recipe]
            made |= dict(self._made(recipe, rows, wanted))
        return made

    def _recipes(self) -> list[Recipe]:
        worth = [recipe for recipe in RECIPES if self.old is not None or not recipe.with_old]
        return [recipe for recipe in worth if len(self.regions) > 1 or not recipe.shared]

    def _held_out_errors(self, rows: RowsInRegions) -> dict[Recipe, dict[int, float]]:
        """Errors of each recipe in each region on held-out rows; infinite for recipes that are not tried."""
        left_out = _every_third(rows.region)
        errors: dict[Recipe, dict[int, float]] = {recipe: dict.fromkeys(self.regions, np.inf) for recipe in RECIPES}
        if len(self._recipes()) == 1:
            return errors
        for recipe in self._recipes():
            for region, made in self._made(recipe, rows.take(~left_out), self.regions):
                errors[recipe][region] = n_errors(made, rows.take(left_out & (rows.region == region)))
        return errors

    def _made(self, recipe: Recipe, rows: RowsInRegions, regions: Sequence[int]) -> Iterator[tuple[int, RegionModel]]:
        """The models of some regions by one recipe; regions with too few rows get none."""
        everywhere = self._fitted(recipe, rows) if recipe.shared and regions else None
        for region in regions:
            made = everywhere if recipe.shared else self._fitted(recipe, rows, region)
            if made is not None:
                yield region, made

    def _fitted(self, recipe: Recipe, rows: RowsInRegions, region: int | None = None) -> RegionModel | None:
        """Fit a clone of the classifier on the rows; None if there are too few."""
        regions = self.regions if region is None else [region]
        rows = rows.within(regions)
        if self.old is not None and recipe.with_old:
            rows = rows.and_others(self.old.within(regions))
        if len(rows) < FEWEST_ROWS:
            return None
        own = clone(self.base)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FlatSetWarning)
            own.fit(rows.X, rows.labels)
        _name_features(own, self.base)
        return RegionModel(own, len(rows))


RECIPES = tuple(Recipe(shared, with_old) for with_old in (False, True) for shared in (False, True))


def n_errors(made: RegionModel, rows: RowsInRegions) -> int:
    """How many of the rows get a wrong label."""
    if len(rows) == 0:
        return 0
    return int(np.sum(SEPDecisions.of(made.classifier.model_, rows.X, min_trust=0.0).label != rows.labels))


def _every_third(region: IntArray) -> BoolArray:
    """A mask of every third row within each region; the rows are in random order already."""
    order = np.argsort(region, kind="stable")
    chosen = np.empty(len(region), dtype=bool)
    chosen[order] = np.arange(len(region)) % HOLD_OUT_EVERY == 0
    return chosen


def _name_features(own: SEPClassifier, base: SEPClassifier) -> None:
    """Give a region's model the feature names of the classifier."""
    own.model_ = replace(own.model_, feature_names=base.model_.feature_names)
    if hasattr(base, "feature_names_in_"):
        own.feature_names_in_ = base.feature_names_in_
