"""The rates that a monitor watches, and anytime-valid evidence that one of them changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, xlog1py, xlogy

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.lifecycle.monitoring.column_guesses import OFF_GRID, ROUND_OFF, grid_steps
from sepc.lifecycle.monitoring.columns import ColumnRows
from sepc.lifecycle.monitoring.state import CUTS, N_COUNTS, Tally
from sepc.model.provenance import mean_and_deviation
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import FeatureKind, TrainingSummary

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
    """Four kinds of rates of a model, per region, and two per column."""

    model: SEPModel

    def rename(self, features: tuple[str, ...]) -> MonitoredRates:
        """The same rates, with the features renamed."""
        return MonitoredRates(replace(self.model, feature_names=features))

    def kinds(self, with_errors: bool) -> dict[str, float]:
        """The kinds of rates watched, and their shares of the level; of columns only with a training summary."""
        of_regions = (SHARE, OUTSIDE, FEATURE, *((ERROR,) if with_errors else ()))
        of_columns = () if self.model.usual is None else COLUMN_KINDS
        part = PART_OF_COLUMNS if of_columns else 0.0
        return dict.fromkeys(of_regions, (1.0 - part) / len(of_regions)) | dict.fromkeys(of_columns, part / 2.0)

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
        """The middle of every region, by the training rows alone, of shape (regions, features)."""
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


# The null hypothesis is that rows before and rows now are alike: ones occur with one unknown probability p. The
# evidence is a ratio of likelihoods. Numerator: the maximum likelihood of the rows before, times the likelihood of the
# rows now under a mixture of rates around the one seen before. Denominator: the maximum likelihood of all rows under a
# single p.
#
# Why it seldom gets large: for the true p, the factor of the rows now is at most a martingale that starts at 1, so by
# Ville's inequality the probability that it ever reaches x is at most 1 / x, however many rows come and however often
# it is inspected. The factor of the rows before is at most exp(D), where D is n times the divergence of the observed
# rate from p. So the probability that the evidence ever reaches c / level is at most the mean of min(1, exp(D) level /
# c) over all rows before, which `log_price` keeps at `level` or below by its choice of c. It depends on counts alone:
# the order of the rows does not matter, and counts of several streams may be added.
#
# The choice of c, with L = log(c / level): counts k with D > L have a chance of at most 2 exp(-L) (Chernoff). For the
# others exp(D) times the chance of k is its chance under the rate k / n, which is at most sqrt(n / (2 pi k (n - k)))
# (Stirling). The sum of these is at most their integral, which is that of the angle arcsin(sqrt(k / n)), and half a
# step at both ends, below 0.35 each, and 1 for each of k = 0 and k = n. Within L the angle is at most sqrt(L / n) away
# from that of p, since the divergence is at least the squared difference of angles. Together c = 4 sqrt(L / (2 pi)) +
# 4.7 is enough.


# Strengths of the Beta distributions around the rate before, in rows: for large, medium and small changes.
STRENGTHS = np.array([1.0, 10.0, 100.0])


def log_evidence(before: ArrayLike, n_before: ArrayLike, now: ArrayLike, n_now: ArrayLike) -> FloatArray:
    """Logarithm of the evidence that the rate has changed; arguments are broadcast.

    Examples
    --------
    >>> log_evidence(50, 1000, [50, 100], 1000).round(1)
    array([-2. ,  5.9])
    """
    old, n_old, new, n_new = np.broadcast_arrays(
        *(np.asarray(counts, dtype=np.float64) for counts in (before, n_before, now, n_now))
    )
    around = (old + 0.5) / (n_old + 1.0)
    apart = _log_largest(old, n_old) + _log_mixture(new, n_new, around)
    return np.asarray(apart - _log_largest(old + new, n_old + n_new))


def most_log_evidence(before: FloatArray, n_before: FloatArray, now: FloatArray, n_now: FloatArray) -> FloatArray:
    """A bound that `log_evidence` never exceeds, without logarithms: the chi-squared statistic of the four counts."""
    ones, n = before + now, n_before + n_now
    gap = before * n_now - now * n_before
    return np.asarray(gap**2 * n / np.maximum(n_before * n_now * ones * (n - ones), 1.0))


def log_price(log_level: ArrayLike) -> FloatArray:
    """Logarithm of the constant c above: the price of not knowing the rate before."""
    spent = -np.asarray(log_level, dtype=np.float64)
    price = 10.0 + spent
    # A fixed-point iteration from above: wherever it stops, the price is high enough.
    for _ in range(5):
        price = 4.0 * np.sqrt((np.log(price) + spent) / (2.0 * np.pi)) + 4.7
    return np.asarray(np.log(price))


def _log_mixture(ones: FloatArray, n: FloatArray, center: FloatArray) -> FloatArray:
    """Log likelihood of a sequence with this many ones, under the mixture of rates around `center`."""
    first, second = np.multiply.outer(STRENGTHS, center), np.multiply.outer(STRENGTHS, 1.0 - center)
    each = betaln(first + ones, second + n - ones) - betaln(first, second)
    return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(len(STRENGTHS)))


def _log_largest(ones: FloatArray, n: FloatArray) -> FloatArray:
    """The maximum log likelihood under a single rate."""
    rate = ones / np.maximum(n, 1.0)
    return np.asarray(xlogy(ones, rate) + xlog1py(n - ones, -rate))


def column_counts(rows: ColumnRows | None, n_features: int) -> IntArray:
    """For each feature, rows without a known value and rows with a round one; none without a training summary."""
    if rows is None:
        return np.zeros((N_COUNTS, n_features), dtype=np.int64)
    gaps, steps = np.zeros(rows.features.shape, dtype=bool), _steps(rows.usual)
    for j, display in enumerate(rows.usual.displays):
        if display.kind is FeatureKind.CATEGORY:
            codes = rows.codes[:, rows.usual.code_column(j)]
            gaps[:, j] = (codes < 0) | (codes == len(display.categories))
        elif display.kind is not FeatureKind.PART:
            gaps[:, j] = rows.missing[:, j]
    return np.array([gaps.sum(axis=0), (~gaps & _is_round(rows.features, steps)).sum(axis=0)], dtype=np.int64)


def _is_round(features: FloatArray, steps: FloatArray) -> BoolArray:
    # Huge values overflow, and are then not round.
    with np.errstate(over="ignore", invalid="ignore"):
        multiples = features / steps
        return np.asarray(np.abs(multiples - np.round(multiples)) < ROUND_OFF)


def _steps(usual: TrainingSummary) -> FloatArray:
    """For each feature the finest step that few values of training are multiples of; NaN if there is none."""
    steps = np.full(len(usual.displays), np.nan)
    for j, display in enumerate(usual.displays):
        if display.kind is FeatureKind.NUMBER:
            kept = np.unique(usual.overall[j])
            fine = [
                step
                for step in grid_steps(usual.overall[j])
                if _is_round(kept, np.array(step)).mean() <= 1.0 - OFF_GRID
            ]
            steps[j] = min(fine, default=np.nan)
    return steps
