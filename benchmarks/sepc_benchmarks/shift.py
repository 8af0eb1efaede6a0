"""Promises for another mix of regions: how often they are broken, what they cost, and when their assumption fails.

Numeric columns, complete rows, at most 24,000 of them drawn at random. An `SEPClassifier` is fitted once, on 2,000
rows; the others are the population. A calibration sample is 2,000 rows of it, or 4,000 if it has more than 8,000, and a
target sample is 10,000 rows without labels, both drawn with replacement. Promised is half of the model's error rate, in
whole per cent, with a confidence of 95 %. A promise is broken if more of the accepted rows are wrong than promised,
each row of the population weighing as much as in the target.

"shift": regions of less trust become more frequent. Weights are exp(-0.8 z), z the mean trust of a region,
standardized over the rows and clipped at -1.5 and 1.5. "known" is drawn from 40 regions of unequal size, of which a
fifth is wrong six times as often as others of the same trust; the target has these five times as often. The ordinary
promise has the same calibration rows, and knows of no target. P-values are one-sided and exact, with Holm's correction
over the table: the chance of so many broken draws, or more, if the promise is just kept. Pairs are what the promise
rests on; covered is the share of target rows in regions with calibration rows enough.

"assumption": the same for a shift inside regions, which the promise rules out. Weights are exp(z), z the rank of one
column within its region, standardized and clipped as above. The column is the one that is most correlated with errors
within regions, and its sign such that errors become more frequent. "sign" is how often the check of the assumption
gives one. If only the mix of regions changes, there should be none but in one draw of 20.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, rankdata
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.estimators.selective.shift import Rows, Shift, ShiftCheck, check_shift, choose_for_target
from sepc.estimators.selective.thresholds import Control, choose_threshold
from sepc.statistics.rates import fixed_grid
from sepc_benchmarks.attacking.verdict import holm
from sepc_benchmarks.guarantees import CONFIDENCE, N_DRAWS, N_TRAINING, Tally, half_of, rows_of
from sepc_benchmarks.measure import arguments, save, show

BY_REGION = ("satimage", "htru2", "page_blocks", "pendigits")
INSIDE = ("electricity", "magic_gamma_telescope")
N_CALIBRATION, N_TARGET, N_CHECKED = 2_000, 10_000, 200
# A population of more rows gets calibration samples that are twice as large.
LARGE = 8_000
# How much weights depend on the trust of a region, or on a column within regions.
STEEP_BY_REGION, STEEP_INSIDE, CLIPPED = -0.8, 1.0, 1.5

NOT_CHECKED = ShiftCheck("trust", 1.0, 1, is_sign=False)

Array = NDArray[Any]


class Paired(NamedTuple):
    """A promise for the target's mix, and its basis."""

    control: Control
    shift: Shift


@dataclass(frozen=True, eq=False)
class Source:
    """Rows of which samples are drawn, and what is promised of them.

    Attributes
    ----------
    name : str
    rows : Rows
        What a fitted model says of all rows.
    share, target : (n,) arrays
        How often calibration and target samples have each row.
    promised : float
    n_calibration, n_target : int
        Rows of a sample.
    X : (n, d) array
    """

    name: str
    rows: Rows
    share: Array
    target: Array
    promised: float
    n_calibration: int
    n_target: int
    X: Array

    def draws(self, n_draws: int) -> Iterator[tuple[Array, Array]]:
        """Positions of the rows of each calibration sample, and of each target sample."""
        rng, n = np.random.default_rng(1), len(self.share)
        for _ in range(n_draws):
            calibration = rng.choice(n, size=self.n_calibration, p=self.share)
            yield calibration, rng.choice(n, size=self.n_target, p=self.target)

    def part(self, drawn: Array) -> Rows:
        """The rows at these positions."""
        return Rows(self.rows.region[drawn], self.rows.trust[drawn], self.rows.wrong[drawn])

    def paired(self, calibration: Array, target: Array, seed: int) -> Paired:
        """The promise for the target's mix."""
        asked, random = self.part(target), np.random.RandomState(seed)
        parts = self.part(calibration), asked.region, asked.trust, fixed_grid()
        return Paired(*choose_for_target(*parts, self.promised, CONFIDENCE, random, NOT_CHECKED))

    def covered(self, found: Paired) -> Array:
        """Which rows lie in regions that a promise covers."""
        return np.isin(self.rows.region, found.shift.regions)

    def accepted(self, found: Paired) -> Array:
        """Which rows a promise for the target's mix accepts."""
        return self.covered(found) & (self.rows.trust >= found.control.threshold)

    def ordinary(self, calibration: Array) -> Array:
        """Which rows the ordinary promise accepts."""
        own = self.part(calibration)
        found = choose_threshold(own.trust, own.wrong, fixed_grid(), self.promised, CONFIDENCE)
        return self.rows.trust >= found.threshold

    def checked(self, calibration: Array, target: Array) -> ShiftCheck:
        """What the check of the assumption finds."""
        rows = self.part(calibration)
        return check_shift(self.X[calibration], self.X[target], rows, self.rows.region[target], self.rows.trust[target])

    def add(self, tally: Tally, accepted: Array) -> None:
        """Count a draw after which these rows are accepted."""
        weight = self.target * accepted
        tally.add(weight.sum(), weight @ self.rows.wrong > self.promised * weight.sum())

    def head(self, changed: str) -> dict[str, Any]:
        """What a table says first."""
        before, after = (100 * float(weight @ self.rows.wrong) for weight in (self.share, self.target))
        said = {"data set": self.name, "what changes": changed, "promised %": 100 * self.promised}
        largest = float((self.target / self.share).max())
        return said | {"largest weight": largest, "error before %": before, "error after %": after}


def of_rows(name: str, X: Array, y: Array, n_training: int) -> Source:
    """The rows that a model was not fitted on, without any shift."""
    truth = np.unique(y, return_inverse=True)[1]
    model = SEPClassifier(random_state=0).fit(X[:n_training], truth[:n_training])
    decided, n = model.decide(X[n_training:]), len(X) - n_training
    rows = Rows(decided.region, decided.trust, decided.label != truth[n_training:])
    alike, promised = np.full(n, 1.0 / n), float(half_of(rows.wrong.mean()))
    n_calibration = N_CALIBRATION * (2 if n > LARGE else 1)
    return Source(name, rows, alike, alike, promised, n_calibration, N_TARGET, X[n_training:])


def known() -> Source:
    """Rows of 40 regions with known error rates: all there can be, right and wrong."""
    region = np.arange(40)
    trust, is_bad = np.array([0.8, 0.9, 0.95, 0.99])[region % 4], region // 4 % 5 == 3
    error, share = np.where(is_bad, 1.5, 0.25) * (1.0 - trust), np.geomspace(1.0, 10.0, 40)
    rows = Rows(np.tile(region, 2), np.tile(trust, 2), np.repeat([False, True], 40))
    share, times = np.concatenate([share * (1.0 - error), share * error]), np.tile(np.where(is_bad, 5.0, 1.0), 2)
    X = np.column_stack([rows.region, rows.trust])
    return Source("known", rows, share / share.sum(), normed(share * times), 0.05, 2 * N_CALIBRATION, N_TARGET, X)


def by_region(source: Source) -> Source:
    """The same, with regions of less trust more often."""
    which = np.unique(source.rows.region, return_inverse=True)[1]
    trust = np.bincount(which, weights=source.rows.trust) / np.bincount(which)
    return replace(source, target=normed(np.exp(STEEP_BY_REGION * standardized(trust[which]))))


def inside(source: Source) -> tuple[Source, int]:
    """The same, with rows more often that have more, or less, of one column than others of their region; the column."""
    which = np.unique(source.rows.region, return_inverse=True)[1]
    ranks = np.column_stack([relative_ranks(column, which) for column in source.X.T])
    wrong = source.rows.wrong - (np.bincount(which, weights=source.rows.wrong) / np.bincount(which))[which]
    related = wrong @ ranks / np.maximum(np.linalg.norm(ranks, axis=0), 1e-12)
    column = int(np.argmax(np.abs(related)))
    weight = np.exp(STEEP_INSIDE * np.sign(related[column]) * standardized(ranks[:, column]))
    return replace(source, target=normed(weight)), column


def relative_ranks(values: Array, which: Array) -> Array:
    """Ranks within regions, from -0.5 to 0.5."""
    ranks = np.empty(len(values))
    for one in range(which.max() + 1):
        own = which == one
        ranks[own] = rankdata(values[own]) / (own.sum() + 1) - 0.5
    return ranks


def standardized(values: Array) -> Array:
    return np.clip((values - values.mean()) / values.std(), -CLIPPED, CLIPPED)


def normed(weight: Array) -> Array:
    return weight / weight.sum()


def shift(source: Source, changed: str, n_draws: int) -> dict[str, Any]:
    ours, ordinary, rest = Tally(), Tally(), []
    for seed, (calibration, target) in enumerate(source.draws(n_draws)):
        found = source.paired(calibration, target, seed)
        source.add(ours, source.accepted(found))
        source.add(ordinary, source.ordinary(calibration))
        is_idle = math.isinf(found.control.threshold)
        rest.append((found.control.n_rows, float(source.target @ source.covered(found)), 100 * is_idle))
    p = binomtest(ours.broken, n_draws, 1.0 - CONFIDENCE, alternative="greater").pvalue
    means = dict(zip(("pairs", "covered", "nothing accepted %"), np.mean(rest, axis=0).tolist(), strict=True))
    return source.head(changed) | ours.told() | {"p, Holm": float(p)} | means | ordinary.told(" ordinary")


def corrected(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    adjusted = holm([record["p, Holm"] for record in records])
    return [record | {"p, Holm": p} for record, p in zip(records, adjusted, strict=True)]


def assumption(source: Source, changed: str, n_draws: int) -> dict[str, Any]:
    ours, ordinary, n_signs = Tally(), Tally(), 0
    for seed, (calibration, target) in enumerate(source.draws(n_draws)):
        found = source.paired(calibration, target, seed)
        source.add(ours, source.accepted(found))
        source.add(ordinary, source.ordinary(calibration))
        n_signs += source.checked(calibration, target).is_sign
    signs = {"sign %": 100 * n_signs / n_draws}
    return source.head(changed) | ours.told() | signs | ordinary.told(" ordinary")


def sources(names: Sequence[str], smallest: bool) -> Iterator[Source]:
    if smallest:
        X, y = make_classification(2000, n_classes=3, n_informative=4, random_state=0)
        drawn = of_rows("drawn", X, y, 500)
        yield replace(drawn, n_calibration=400, n_target=1000)
    else:
        yield from (of_rows(name, *rows_of(name), N_TRAINING) for name in names)


def main() -> None:
    options = arguments(__doc__)
    n_draws, n_checked = (20, 3) if options.smallest else (N_DRAWS, N_CHECKED)
    shifts, assumptions = [], []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        for source in sources(INSIDE, options.smallest):
            shifted, column = inside(source)
            assumptions.append(assumption(shifted, f"rows within regions, by x{column}", n_checked))
        for source in sources(BY_REGION, options.smallest):
            shifts += [shift(by_region(source), "regions", n_draws), shift(source, "nothing", n_draws)]
            assumptions.append(assumption(by_region(source), "regions", n_checked))
            print(f"done: {source.name}", file=sys.stderr, flush=True)
    drawn = known()
    shifts += [shift(drawn, "regions", n_draws), shift(replace(drawn, target=drawn.share), "nothing", n_draws)]
    results = {"shift": corrected(shifts), "assumption": assumptions}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
