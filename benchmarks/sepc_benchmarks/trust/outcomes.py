"""From folds to figures: decisions pooled over the folds of a drawing, and what they say of one data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from sepc.metrics import aurc, ece
from sepc_benchmarks.trust.folds import DONE, Fold, Folds, Plan
from sepc_benchmarks.trust.learners import BASES
from sepc_benchmarks.trust.scores import OURS, PEERS

MIN_TRUST = 0.95
Pooled = tuple[NDArray[np.bool_], NDArray[np.float64]]  # in the order of rows: is the label right, and its trust


@dataclass(frozen=True)
class Accepted:
    """How many rows have enough trust, and how many of these a right label; means over the drawings."""

    n_accepted: float
    n_right: float

    @property
    def share_right(self) -> float:
        """Share of right labels among the accepted ones; nan if there are none."""
        return self.n_right / self.n_accepted if self.n_accepted else float("nan")

    @property
    def upper_bound(self) -> float:
        """The largest share that 95 % of such samples agree with (Clopper and Pearson, one-sided)."""
        n_wrong = self.n_accepted - self.n_right
        return float(beta.ppf(0.95, self.n_right + 1, n_wrong)) if n_wrong else 1.0

    def __add__(self, other: Accepted) -> Accepted:
        return Accepted(self.n_accepted + other.n_accepted, self.n_right + other.n_right)


@dataclass(frozen=True)
class Outcome:
    """One learner, or one score of one base model, on one data set: its decisions for each complete drawing."""

    drawings: dict[int, Pooled]

    def on(self, drawings: Iterable[int]) -> Outcome:
        """The same for some of the drawings."""
        return Outcome({seed: self.drawings[seed] for seed in drawings})

    def mean(self, metric: Callable[[Any, Any], float]) -> float:
        """Mean over the drawings."""
        return float(np.mean([metric(*pooled) for pooled in self.drawings.values()]))

    @cached_property
    def aurc(self) -> float:
        """Area under the risk-coverage curve."""
        return self.mean(aurc)

    @cached_property
    def ece(self) -> float:
        """Expected calibration error, 15 bins of equally many rows."""
        return self.mean(ece)

    @cached_property
    def accuracy(self) -> float:
        """Share of right labels."""
        return self.mean(lambda correct, _: float(np.mean(correct)))

    @cached_property
    def share_accepted(self) -> float:
        """Share of rows with enough trust."""
        return self.mean(lambda _, trust: float(np.mean(trust >= MIN_TRUST)))

    @cached_property
    def accepted(self) -> Accepted:
        """The rows with enough trust."""
        return Accepted(
            self.mean(lambda _, trust: float(np.sum(trust >= MIN_TRUST))),
            self.mean(lambda correct, trust: float(np.sum(correct & (trust >= MIN_TRUST)))),
        )


Outcomes = dict[str, dict[str, Outcome]]  # data set, then learner or score; what is not in the cache is not here
Ended = dict[Fold, dict[str, Any]]


def models(plan: Plan, folds: Folds) -> Outcomes:
    """Models that stand alone: all that is in the cache."""
    ended = folds.ended()
    found = {
        name: {learner: _outcome(plan, folds, ended, name, learner) for learner in plan.learners}
        for name in plan.data_sets
    }
    return _present(found)


def layers(plan: Plan, folds: Folds) -> dict[str, Outcomes]:
    """For each base model, the trust of all scores in its labels."""
    ended = folds.ended()
    homes = dict.fromkeys(PEERS, "scores on {}") | {OURS: OURS + " on {}"}
    return {
        base: _present(
            {
                name: {
                    score: _outcome(plan, folds, ended, name, home.format(base), score) for score, home in homes.items()
                }
                for name in plan.data_sets
            }
        )
        for base in BASES
    }


def _outcome(plan: Plan, folds: Folds, ended: Ended, name: str, learner: str, trust: str = "trust") -> Outcome:
    outcome = Outcome({})
    for seed in range(plan.n_seeds):
        parts = plan.of(name, learner, seed)
        if is_complete(parts, ended):
            outcome.drawings[seed] = _pooled([folds.arrays(fold) for fold in parts], trust)
    return outcome


def is_complete(parts: list[Fold], ended: Ended) -> bool:
    """Whether all these folds ended well."""
    return all(fold in ended and ended[fold]["status"] == DONE for fold in parts)


def _pooled(parts: list[dict[str, NDArray[Any]]], trust: str) -> Pooled:
    order = np.argsort(np.concatenate([part["rows"] for part in parts]))
    return (
        np.concatenate([part["correct"] for part in parts])[order],
        np.concatenate([part[trust] for part in parts])[order],
    )


def _present(found: Outcomes) -> Outcomes:
    """Without what the cache does not have."""
    present = {name: {key: one for key, one in row.items() if one.drawings} for name, row in found.items()}
    return {name: row for name, row in present.items() if row}


def comparable(outcomes: Outcomes, ours: str) -> Outcomes:
    """The data sets that ours has finished, or else anybody, and who has finished all of them."""
    counted = {name: row for name, row in outcomes.items() if ours in row} or outcomes
    learners = dict.fromkeys(learner for row in counted.values() for learner in row)
    through = [learner for learner in learners if all(learner in row for row in counted.values())]
    return {name: {learner: row[learner] for learner in through} for name, row in counted.items()}
