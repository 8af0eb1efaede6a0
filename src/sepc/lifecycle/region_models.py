"""New models for failing regions, chosen with held-out feedback, and the result of a repair."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.documents.charts import Chart
from sepc.errors import FlatSetWarning
from sepc.estimators.routed import RoutedClassifier
from sepc.estimators.sep.editing import edits_for_region
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.unwrapping import is_repaired, layers
from sepc.lifecycle.result import Result
from sepc.model.rules import labels_of
from sepc.points.row_digest import row_hashes
from sepc.views.charts import Pair, pair_chart
from sepc.wording import counted

if TYPE_CHECKING:
    import pandas as pd


# Regions with fewer rows than this get no model.
FEWEST_ROWS = 10
# A third of the feedback is held out to choose the recipe.
N_THIRDS = 3
# With fewer rows than this, a region's model is never fitted on the region alone: a third of them cannot show whether
# that is better. On small samples it was worse.
FEWEST_ALONE = 100


@dataclass(frozen=True, eq=False)
class RowsInRegions:
    """Rows in the partition's features, with NaN for missing values, their labels, and the regions they lie in."""

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

    def folds(self, n_folds: int, seed: int) -> IntArray:
        """A fold for each row, by a hash of its values: equal rows share a fold, and each region is spread over all."""
        hashes = row_hashes(self.X, seed)
        order = np.lexsort((hashes, self.region))
        is_next = np.diff(hashes[order], prepend=hashes[order[:1]]).astype(bool)
        is_next |= np.diff(self.region[order], prepend=self.region[order[:1]]).astype(bool)
        folds = np.empty(len(self), dtype=np.int64)
        folds[order] = np.cumsum(is_next) % n_folds
        return folds


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

    def labels_of(self, rows: RowsInRegions) -> NDArray[Any]:
        """The labels that it gives to rows."""
        return labels_of(self.classifier.model_, rows.X)


@dataclass(frozen=True, eq=False)
class RegionModelFitter:
    """Fits models for failing regions."""

    partition: SEPClassifier
    min_trust: float
    old: RowsInRegions | None
    seed: int

    def models(self, rows: RowsInRegions, regions: Sequence[int]) -> dict[int, RegionModel]:
        """The model of each region, fitted on all `rows` by the recipe with the fewest errors on held-out rows."""
        worth = [recipe for recipe in RECIPES if self.old is not None or not recipe.with_old]
        recipes = [recipe for recipe in worth if len(regions) > 1 or recipe.shared]
        rows = rows.within(regions)
        n_errors = self._held_out_errors(rows, regions, recipes)
        made: dict[int, RegionModel] = {}
        for recipe in recipes:
            wanted = [region for region in regions if recipe == min(recipes, key=lambda each: n_errors[each][region])]
            made |= dict(self._make_models(recipe, rows, regions, wanted))
        return made

    def _held_out_errors(
        self, rows: RowsInRegions, regions: Sequence[int], recipes: list[Recipe]
    ) -> dict[Recipe, dict[int, float]]:
        """Errors of each recipe in each region on held-out rows; infinite where it makes no model."""
        errors: dict[Recipe, dict[int, float]] = {recipe: dict.fromkeys(regions, np.inf) for recipe in recipes}
        if len(recipes) == 1:
            return errors
        left_out = rows.folds(N_THIRDS, self.seed) == 0
        for recipe in recipes:
            wanted = [each for each in regions if recipe.shared or np.sum(rows.region == each) >= FEWEST_ALONE]
            for region, made in self._make_models(recipe, rows.take(~left_out), regions, wanted):
                held_out = rows.take(left_out & (rows.region == region))
                errors[recipe][region] = (
                    int(np.sum(made.labels_of(held_out) != held_out.labels)) if len(held_out) else 0
                )
        return errors

    def _make_models(
        self, recipe: Recipe, rows: RowsInRegions, regions: Sequence[int], wanted: Sequence[int]
    ) -> Iterator[tuple[int, RegionModel]]:
        """The models of the wanted regions by one recipe; regions with too few rows get none."""
        everywhere = self._fit(recipe, rows, regions) if recipe.shared and wanted else None
        for region in wanted:
            made = everywhere if recipe.shared else self._fit(recipe, rows, [region])
            if made is not None:
                yield region, made

    def _fit(self, recipe: Recipe, rows: RowsInRegions, regions: Sequence[int]) -> RegionModel | None:
        """A model fitted on the rows of these regions; None if there are too few, or a feature has no values."""
        rows = rows.within(regions)
        if self.old is not None and recipe.with_old:
            both = (rows, self.old.within(regions))
            rows = RowsInRegions(
                *(np.concatenate([getattr(one, n) for one in both]) for n in ("X", "labels", "region"))
            )
        if len(rows) < FEWEST_ROWS or np.isnan(rows.X).all(axis=0).any():
            return None
        classifier = clone(self.partition).set_params(min_trust=self.min_trust)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FlatSetWarning)
            classifier.fit_like(self.partition, rows.X, rows.labels)
        if self.partition.edits_:
            classifier = classifier.with_edits(edits_for_region(self.partition.edits_, classifier.model_))
        return RegionModel(classifier, len(rows))


RECIPES = tuple(Recipe(shared, with_old) for with_old in (False, True) for shared in (True, False))


@dataclass(frozen=True, eq=False, repr=False)
class RepairResult(Result, ShownAsCard):
    """What a repair changed: `summary` in words, `to_frame` as a table, `plot` as a picture, `to_html` as a page.

    Attributes
    ----------
    model : RoutedClassifier

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import SEPClassifier
    >>> from sepc.lifecycle import RepairResult, repair
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(2000, 2))
    >>> y = np.where(X[:, 0] > 0.0, "right", "left")
    >>> classifier = SEPClassifier().fit(X[:1000], y[:1000])
    >>> y[np.abs(X - 0.5).max(axis=1) < 0.2] = "left"  # a corner has changed
    >>> result = RepairResult.of(repair(classifier, X[1000:], y[1000:]))
    >>> page = result.to_html()
    """

    model: RoutedClassifier

    @classmethod
    def of(cls, model: Any) -> Self:
        """The result of the repair behind a model, also inside a pipeline or a `SelectiveClassifier`."""
        for layer in layers(model):
            if is_repaired(layer.classifier):
                return cls(layer.classifier)
        raise TypeError(f"{type(model).__name__} was not repaired; give the result of sepc.lifecycle.repair.")

    def summary(self) -> str:
        """What was changed, in words."""
        return self.model.summary()

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self) -> pd.DataFrame:
        """The changes as a pandas DataFrame, a row for each region that was tried."""
        return self.model.changes_.to_frame()

    def _card(self) -> Card:
        return self.model.changes_._card()

    def _chart(self) -> Chart:
        """The error rates of regions before and after, on rows that the new model was not fitted on."""
        changes = self.model.changes_
        names = [row[0] for row in self._card().rows]
        pairs = [
            Pair(
                name,
                change.errors_before / change.n_judged,
                change.errors_after / change.n_judged,
                f"{'repaired' if change.kept else 'left as it was'}, judged on {counted(change.n_judged, 'row')}",
            )
            for name, change in zip(names, changes, strict=True)
            if change.n_judged
        ]
        keys = ("before", "after, with the new model")
        return pair_chart("Errors of the regions tried, on held-out rows", "share of rows wrong", keys, pairs)

    def _page_title(self) -> str:
        return "Repair"
