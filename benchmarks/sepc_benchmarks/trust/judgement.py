"""Is one learner better than another? Ranks, and paired bootstrap intervals of differences in AURC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from sepc.metrics import aurc
from sepc_benchmarks.trust.outcomes import Outcome, Outcomes, Pooled

N_DRAWS = 1_000
LEAST_SHARE, LEAST_DIFFERENCE = 0.05, 0.002


@dataclass(frozen=True)
class Ranks:
    """Mean ranks by AURC over the data sets, and the difference that chance alone may make (Nemenyi, 5 %)."""

    names: tuple[str, ...]
    mean: NDArray[np.float64]
    n_sets: int

    @property
    def critical_difference(self) -> float:
        """Mean ranks further apart than this differ."""
        k = len(self.names)
        return float(studentized_range.ppf(0.95, k, np.inf) * np.sqrt(k * (k + 1) / (12 * self.n_sets)))


def aurcs(outcomes: Outcomes) -> NDArray[np.float64]:
    """AURC of every data set and learner."""
    return np.array([[one.aurc for one in row.values()] for row in outcomes.values()])


def ranks(outcomes: Outcomes) -> Ranks:
    """Rank the learners on each data set, the smallest AURC first; all must have finished all sets."""
    names = tuple(next(iter(outcomes.values())))
    return Ranks(names, rankdata(aurcs(outcomes), axis=1).mean(axis=0), len(outcomes))


def friedman_p(outcomes: Outcomes) -> float | None:
    """How likely such ranks are if all learners were alike; the test needs two data sets and three learners."""
    each = rankdata(aurcs(outcomes), axis=1)
    n_sets, n_learners = each.shape
    return float(friedmanchisquare(*each.T).pvalue) if n_sets > 1 and n_learners > 2 else None


def is_much_worse(ours: Outcome, theirs: Outcome) -> bool:
    """Whether our AURC is larger by more than max(5 %, 0.002)."""
    return ours.aurc - theirs.aurc > max(LEAST_SHARE * theirs.aurc, LEAST_DIFFERENCE)


def interval(ours: Outcome, theirs: Outcome) -> tuple[float, float]:
    """95 % bootstrap interval of the difference in AURC: rows drawn again, alike for both and for all drawings."""
    random, differences = np.random.default_rng(0), []
    pairs = [(ours.drawings[seed], theirs.drawings[seed]) for seed in ours.drawings.keys() & theirs.drawings.keys()]
    n = len(pairs[0][0][0])
    for _ in range(N_DRAWS):
        drawn = random.integers(n, size=n)
        differences.append(np.mean([_difference(*pair, drawn) for pair in pairs]))
    low, high = np.quantile(differences, (0.025, 0.975))
    return float(low), float(high)


def _difference(ours: Pooled, theirs: Pooled, drawn: NDArray[np.int64]) -> float:
    return aurc(ours[0][drawn], ours[1][drawn]) - aurc(theirs[0][drawn], theirs[1][drawn])
