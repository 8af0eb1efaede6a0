"""From folds to figures: decisions pooled over the folds of a seed, and the AURC, ECE and accuracy of each data set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from folds import DONE, LAYERS, TOO_SLOW, Fold, Folds, Plan
from learners import BASES
from numpy.typing import NDArray
from scores import SCORERS

from sepc.metrics import aurc, ece

Pooled = tuple[NDArray[np.bool_], NDArray[np.float64]]  # in the order of rows: is the label right, and its trust


@dataclass
class Outcome:
    """One learner, or one scorer of one base model, on one data set: its decisions for each complete seed."""

    seeds: list[Pooled] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    status: str = DONE

    @property
    def is_complete(self) -> bool:
        """Whether there is something to rank: figures, or that there can be none."""
        return bool(self.seeds) or self.status != DONE

    def mean(self, metric: Callable[[Any, Any], float]) -> float:
        """Mean over the seeds; infinite if the learner did not finish."""
        return float(np.mean([metric(*pooled) for pooled in self.seeds])) if self.status == DONE else float("inf")

    @property
    def aurc(self) -> float:
        """Area under the risk-coverage curve."""
        return self.mean(aurc)

    @property
    def ece(self) -> float:
        """Expected calibration error, 15 bins of equally many rows."""
        return self.mean(ece)

    @property
    def accuracy(self) -> float:
        """Share of right labels."""
        return self.mean(lambda correct, _: float(np.mean(correct)))


Outcomes = dict[str, dict[str, Outcome]]  # data set, then learner or scorer


def models(plan: Plan, folds: Folds) -> Outcomes:
    """Track A, for the data sets that every learner is through with."""
    ended = folds.ended()
    found = {
        name: {learner: _outcome(plan, folds, ended, name, learner, "correct", "trust") for learner in plan.learners}
        for name in plan.data_sets
    }
    return _complete(found)


def layers(plan: Plan, folds: Folds) -> dict[str, Outcomes]:
    """Track B: for each base model, the scorers on the data sets that they are through with."""
    ended = folds.ended()
    return {
        base: _complete(
            {
                name: {
                    scorer: _outcome(plan, folds, ended, name, LAYERS, f"{base} correct", f"{base} {scorer}")
                    for scorer in SCORERS
                }
                for name in plan.data_sets
            }
        )
        for base in BASES
    }


def _outcome(
    plan: Plan, folds: Folds, ended: dict[Fold, dict[str, Any]], name: str, learner: str, correct: str, trust: str
) -> Outcome:
    outcome = Outcome()
    for seed in range(plan.n_seeds):
        parts = plan.of(name, learner, seed)
        ends = [ended.get(fold, {}) for fold in parts]
        bad = [end["status"] for end in ends if end and end["status"] != DONE]
        if bad:
            outcome.status = TOO_SLOW if TOO_SLOW in bad else bad[0]
        elif all(ends):
            outcome.seeds.append(_pooled([folds.arrays(fold) for fold in parts], correct, trust))
            outcome.seconds += [end["seconds"] for end in ends]
    return outcome


def _pooled(parts: list[dict[str, NDArray[Any]]], correct: str, trust: str) -> Pooled:
    order = np.argsort(np.concatenate([part["rows"] for part in parts]))
    return (
        np.concatenate([part[correct] for part in parts])[order],
        np.concatenate([part[trust] for part in parts])[order],
    )


def _complete(outcomes: Outcomes) -> Outcomes:
    return {name: row for name, row in outcomes.items() if row and all(one.is_complete for one in row.values())}
