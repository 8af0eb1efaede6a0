"""Promises from the counts of many sites: how often they are broken, and what rounding the counts costs.

Sites share a classifier whose trust is uniform from 0.5 to 1. At a site with factor f, a row with trust t is wrong with
probability f (1 - t) / 2, so error rates are known. "equal" sites have 800 rows each and factor 1; "unequal" sites have
from 200 to 3,200 rows; in "mixed" ones, factors go from 0.5 to 2 as well, so that some sites are worse than the mix.
In "flat" ones, each row is wrong with probability 0.051 whatever its trust, so every promise made is broken. Promised
is an error rate of 5 % with 95 % confidence.

"broken: all" is how often the promise for all sites together is broken, "broken: any site" how often that of at least
one site is; p-values are exact and one-sided, with Holm's correction over the table. "as pooled": how often the
threshold equals that of a `SelectiveClassifier` calibrated on the pooled rows. "accepted" is the mean share of rows
that the promise for all accepts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, ClassifierMixin

from sepc.estimators.selective.thresholds import choose_threshold
from sepc.lifecycle.sites import SiteCounts, certify, count_site
from sepc.statistics.rates import fixed_grid
from sepc_benchmarks.attacking.verdict import holm
from sepc_benchmarks.measure import arguments, save, show

Array = NDArray[Any]

MOST, CONFIDENCE, FLAT = 0.05, 0.95, 0.051
N_DRAWS = 1_000
N_SITES = (3, 5, 20)
KINDS = ("equal", "unequal", "mixed", "flat")
ROUNDING = 1e-9


class GivenTrust(ClassifierMixin, BaseEstimator):
    """Always says 1, with the first feature as its probability."""

    def __init__(self) -> None:
        self.classes_ = np.array([0, 1])

    def fit(self, X: Array, y: Array) -> GivenTrust:
        """Do nothing: there is nothing to learn."""
        return self

    def predict(self, X: Array) -> Array:
        """The label 1 for every row."""
        return np.ones(len(X), dtype=int)

    def predict_proba(self, X: Array) -> Array:
        """The given trust as the probability of 1."""
        return np.column_stack([1.0 - X[:, 0], X[:, 0]])


@dataclass(frozen=True, eq=False)
class Sites:
    """Sites with known error rates."""

    sizes: Array
    factors: Array
    is_flat: bool

    def error_rates(self, threshold: float) -> Array:
        """The error rate among accepted rows of each site."""
        if self.is_flat:
            return np.full(len(self.sizes), FLAT)
        return np.asarray(self.factors * (1.0 - max(threshold, 0.5)) / 4.0)

    def draw(self, random: np.random.Generator) -> list[tuple[Array, Array]]:
        """The trust of each site's rows, and whether they are wrong."""
        drawn = []
        for n, factor in zip(self.sizes, self.factors, strict=True):
            trust = random.uniform(0.5, 1.0, n)
            rate = np.full(n, FLAT) if self.is_flat else factor * (1.0 - trust) / 2.0
            drawn.append((trust, random.random(n) < rate))
        return drawn


@dataclass
class Tally:
    """What was seen in all draws of one kind."""

    all_broken: int = 0
    any_broken: int = 0
    as_pooled: int = 0
    accepted: list[float] = field(default_factory=list)
    with_promise: list[float] = field(default_factory=list)


def sites_of(kind: str, n: int) -> Sites:
    sizes = np.full(n, 800) if kind in ("equal", "flat") else np.geomspace(200, 3200, n).round().astype(int)
    factors = np.geomspace(0.5, 2.0, n) if kind == "mixed" else np.ones(n)
    return Sites(sizes, factors, kind == "flat")


def counts_of(drawn: Sequence[tuple[Array, Array]], smallest: int) -> list[SiteCounts]:
    return [
        count_site(GivenTrust(), trust[:, None], (~wrong).astype(int), site=str(i), smallest=smallest, digest="given")
        for i, (trust, wrong) in enumerate(drawn)
    ]


def one_draw(sites: Sites, smallest: int, random: np.random.Generator, tally: Tally) -> None:
    drawn = sites.draw(random)
    found = certify(GivenTrust(), counts_of(drawn, smallest), max_risk=MOST, confidence=CONFIDENCE, digest="given")
    threshold = found.together.controls[None].threshold
    trust, wrong = (np.concatenate(parts) for parts in zip(*drawn, strict=True))
    tally.as_pooled += threshold == choose_threshold(trust, wrong, fixed_grid(), MOST, CONFIDENCE).threshold
    tally.accepted.append(float(np.mean(trust >= threshold)))
    mix = sites.sizes / sites.sizes.sum()
    tally.all_broken += bool(np.isfinite(threshold) and sites.error_rates(threshold) @ mix > MOST + ROUNDING)
    own = [promise.controls[None].threshold for promise in found.by_site.values()]
    tally.with_promise.append(float(np.isfinite(own).mean()))
    tally.any_broken += any(
        np.isfinite(one) and sites.error_rates(one)[i] > MOST + ROUNDING for i, one in enumerate(own)
    )


def main() -> None:
    options = arguments(__doc__)
    n_draws = 3 if options.smallest else N_DRAWS
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        for n in N_SITES[:1] if options.smallest else N_SITES:
            for smallest in (1, 5):
                tally, random = Tally(), np.random.default_rng(1)
                for _ in range(n_draws):
                    one_draw(sites_of(kind, n), smallest, random, tally)
                rows.append(
                    {
                        "sites": n,
                        "kind": kind,
                        "counts": "exact" if smallest == 1 else f"multiples of {smallest}",
                        "broken: all": tally.all_broken / n_draws,
                        "broken: any site": tally.any_broken / n_draws,
                        "as pooled": tally.as_pooled / n_draws,
                        "accepted": round(float(np.mean(tally.accepted)), 3),
                        "sites with a promise": round(float(np.mean(tally.with_promise)), 3),
                    }
                )
                print(rows[-1], file=sys.stderr, flush=True)
    tested = [row[name] for row in rows for name in ("broken: all", "broken: any site")]
    raw = [binomtest(round(rate * n_draws), n_draws, 1.0 - CONFIDENCE, "greater").pvalue for rate in tested]
    show("sites", rows)
    print(f"smallest p-value: {min(holm(raw)):.3g}")
    save(options.output, {"sites": rows})
    if not options.smallest and min(holm(raw)) < 0.01:
        sys.exit("A promise is broken more often than its level.")


if __name__ == "__main__":
    main()
