"""The rates that a monitor watches: four kinds per region and two per column, each with its share of the level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.lifecycle.monitoring.tally import CUTS, Tally
from sepc.model.place_moments import mean_and_deviation
from sepc.model.sep_model import SEPModel

SHARE, OUTSIDE, FEATURE, ERROR, GAP, ROUND = "share", "outside", "feature", "error", "gap", "round"
KINDS = (SHARE, OUTSIDE, FEATURE, ERROR, GAP, ROUND)
# The kinds of rates of a column over all rows; they get this share of the level, and the others the rest.
COLUMN_KINDS, PART_OF_COLUMNS = (GAP, ROUND), 0.1

# The region number that stands for all rows together; they get this share of the level for features.
ALL_ROWS = -2
PART_OF_ALL_ROWS = 0.2


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates of one kind, one entry each: `ones` among `n` rows."""

    ones: FloatArray
    n: FloatArray

    @property
    def value(self) -> FloatArray:
        """The rates as shares; 0 where there are no rows."""
        return np.asarray(self.ones / np.maximum(self.n, 1.0))


@dataclass(frozen=True, eq=False)
class MonitoredRates:
    """Four kinds of rates of a model, per region, and two per column.

    The *share* of a region among all rows. The rate *outside* of an ellipsoid: of the rows that lie in it, or in none
    and nearest to it, how many lie in none; it belongs to the region near that ellipsoid. For each *feature*, how many
    of a region's rows have it above the middle of the region. The *error* rate of a region. Features are also
    watched over all rows together, above three cuts, for changes that are small in every region. Errors are not: some
    regions may get labels more often than others, and the overall error rate would reflect that. Over all rows, too:
    how many have a *gap* in a column, that is a missing value or an unseen category, and how many a *round* value. No
    other rate shows these: missing values are imputed, and rounding hardly moves a mean.
    """

    model: SEPModel

    def rename(self, features: tuple[str, ...]) -> MonitoredRates:
        """The same rates, with the features renamed."""
        return MonitoredRates(replace(self.model, feature_names=features))

    @property
    def n_sets(self) -> int:
        """Regions that are sets of ellipsoids; those near an ellipsoid and near an isolated row follow."""
        return len(self.model.table.counts)

    @property
    def n_regions(self) -> int:
        """All regions, and one more for the sets not seen in training."""
        return self.n_sets + self.model.n_places + 1

    @property
    def n_features(self) -> int:
        """Features of the model."""
        return len(self.model.feature_names)

    @cached_property
    def regions(self) -> dict[str, IntArray]:
        """The region that each rate of a kind belongs to; -1 for the sets not seen in training, -2 for all rows."""
        every = np.append(np.arange(self.n_regions - 1), -1)
        outside = every[self.n_sets :][: self.model.n_ellipsoids]
        feature = np.append(np.repeat(every, self.n_features), np.full(CUTS.size * self.n_features, ALL_ROWS))
        columns = {kind: np.full(self.n_features, ALL_ROWS) for kind in COLUMN_KINDS}
        return {SHARE: every, OUTSIDE: outside, FEATURE: feature, ERROR: every} | columns

    def rates(self, kind: str, tally: Tally, left_out: BoolArray) -> Rates:
        """The rates of a kind among the rows of a tally; shares and rates outside without the regions left out."""
        if kind == ERROR:
            return Rates(tally.errors.astype(np.float64), tally.labelled.astype(np.float64))
        if kind in COLUMN_KINDS:
            ones = tally.columns[COLUMN_KINDS.index(kind)].astype(np.float64)
            return Rates(ones, np.full(len(ones), float(tally.n)))
        if kind == FEATURE:
            of_all = np.full(tally.beyond.size, tally.n)
            ones, n = np.append(tally.above, tally.beyond), np.append(np.repeat(tally.rows, self.n_features), of_all)
            return Rates(ones.astype(np.float64), n.astype(np.float64))
        rows = np.where(left_out, 0, tally.rows).astype(np.float64)
        if kind == SHARE:
            return Rates(rows, np.full(len(rows), rows.sum()))
        near = rows[self.n_sets :][: self.model.n_ellipsoids]
        return Rates(near, near + rows[: self.n_sets] @ self.model.table.memberships)

    @cached_property
    def weights(self) -> dict[str, FloatArray]:
        """The share of its kind's level for each rate: half split equally, half in proportion to the training rows."""
        in_ellipsoids = self.model.place_rows[: self.model.n_ellipsoids]
        by_region = _half_equal(self._training_rows)
        by_feature = np.repeat(by_region / self.n_features, self.n_features)
        of_all = np.full(CUTS.size * self.n_features, PART_OF_ALL_ROWS / (CUTS.size * self.n_features))
        feature = np.append((1.0 - PART_OF_ALL_ROWS) * by_feature, of_all)
        columns = {kind: np.full(self.n_features, 1.0 / self.n_features) for kind in COLUMN_KINDS}
        return {SHARE: by_region, OUTSIDE: _half_equal(in_ellipsoids), FEATURE: feature, ERROR: by_region} | columns

    @cached_property
    def middles(self) -> FloatArray:
        """The middle of every region, by the training rows alone, of shape (regions, features).

        The mean of its ellipsoids' centers, the nearest one's center, or the isolated row; else that of all rows.
        """
        model = self.model
        n_inside = np.maximum(model.table.memberships.sum(axis=1, keepdims=True), 1)
        sets = model.table.memberships.astype(np.float64) @ model.centers / n_inside
        places = np.concatenate([sets, model.centers, model.isolated, np.zeros((1, model.centers.shape[1]))])
        standardized = model.with_alone(places)
        return np.asarray(standardized * model.scale + model.shift)

    def compare(self, region: IntArray, features: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Masks of the features above the middle of each row's region, and above each of the cuts."""
        return features > self.middles[region], features > self.cuts

    @cached_property
    def cuts(self) -> FloatArray:
        """Three values of every feature, of shape (3, 1, features), from its mean and deviation in the ellipsoids."""
        mean, deviation = mean_and_deviation(self.model)
        return np.asarray((mean + CUTS[:, None, None] * deviation) * self.model.scale + self.model.shift)

    @cached_property
    def _training_rows(self) -> IntArray:
        rows = np.zeros(self.n_regions, dtype=np.int64)
        rows[: self.n_sets] = self.model.table.counts.sum(axis=1)
        return rows

    def around(self, region: int) -> BoolArray:
        """A mask of the regions in or near the same ellipsoids; for an isolated row, only its own region."""
        chosen = np.zeros(self.n_regions, dtype=bool)
        chosen[region] = True
        place = region - self.n_sets
        if 0 <= region < self.n_sets:
            ellipsoids = self.model.table.memberships[region]
        elif 0 <= place < self.model.n_ellipsoids:
            ellipsoids = np.arange(self.model.n_ellipsoids) == place
        else:
            return chosen
        chosen[: self.n_sets] |= (self.model.table.memberships & ellipsoids).any(axis=1)
        chosen[self.n_sets + np.flatnonzero(ellipsoids)] = True
        return chosen


def _half_equal(rows: IntArray) -> FloatArray:
    if len(rows) == 0 or rows.sum() == 0:
        return np.full(len(rows), 1.0 / max(1, len(rows)))
    return np.asarray(0.5 / len(rows) + 0.5 * rows / rows.sum())
