"""Whether new models are better, by a test on rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray, IntArray
from sepc.lifecycle.repairing.region_models import RegionModelFitter, RowsInRegions
from sepc.statistics.binomial import sign_test

# Regions with fewer rows than this are tested together: alone they could hardly show anything.
FEWEST_ALONE = 20


@dataclass(frozen=True, eq=False)
class Judgement:
    """What became of rows that new models were judged on, each by a model that was not fitted on it.

    Attributes
    ----------
    region : (n,) array of int
    before, after : (n,) bool array
        Whether the original model and the new one are wrong.
    """

    region: IntArray
    before: BoolArray
    after: BoolArray

    def tests(self, group: Sequence[int]) -> list[RegionTest]:
        """Test whether the new models are better in a group of regions taken together."""
        rows = np.isin(self.region, group)
        n_right = int(np.sum(rows & self.before & ~self.after))
        n_broken = int(np.sum(rows & self.after & ~self.before))
        return [self._test(region, sign_test(n_right, n_broken), len(group)) for region in group]

    def _test(self, region: int, p_value: float, n_together: int) -> RegionTest:
        own = self.region == region
        counts = int(own.sum()), int(self.before[own].sum()), int(self.after[own].sum())
        return RegionTest(region, *counts, p_value, n_together)


@dataclass(frozen=True)
class RegionTest:
    """Whether a region's new model is better: errors on rows it was not fitted on, and the p-value of its group."""

    region: int
    n_rows: int
    errors_before: int
    errors_after: int
    p_value: float
    n_together: int


def judged(
    fitter: RegionModelFitter,
    rows: RowsInRegions,
    wrong: BoolArray,
    folds: IntArray,
    regions_without: Sequence[Sequence[int]],
) -> Judgement:
    """Let new models decide on rows that they were not fitted on, fold by fold.

    Parameters
    ----------
    fitter : RegionModelFitter
    rows : RowsInRegions
    wrong : (n,) bool array
        Whether the original model is wrong.
    folds : (n,) array of int
    regions_without : sequence of sequences of int
        For each fold, the regions to repair, chosen without it.
    """
    after, is_judged = wrong.copy(), np.zeros(len(rows), dtype=bool)
    for fold, regions in enumerate(regions_without):
        for region, made in fitter.models(rows.take(folds != fold), regions).items():
            own = np.flatnonzero((folds == fold) & (rows.region == region))
            if len(own):
                after[own] = made.labels_of(rows.take(own)) != rows.labels[own]
                is_judged[own] = True
    return Judgement(rows.region[is_judged], wrong[is_judged], after[is_judged])


def groups_to_test(regions: Sequence[int], rows: RowsInRegions) -> list[list[int]]:
    """Regions to test together: those with few rows; the others are tested alone. It depends on no label."""
    few = [region for region in regions if int(np.sum(rows.region == region)) < FEWEST_ALONE]
    return [[region] for region in regions if region not in few] + ([few] if few else [])
