"""What the tables do not have: folds that were thinned out, too slow, failed, or not run yet."""

from __future__ import annotations

from typing import Any

from sepc_benchmarks.trust.folds import DONE, Fold, Folds, Plan
from sepc_benchmarks.trust.outcomes import Ended, is_complete
from sepc_benchmarks.trust.thinning import THINNED, is_left_out

NAMED = 6  # so many data sets are named, more are counted


def missing(plan: Plan, folds: Folds) -> list[dict[str, Any]]:
    """One row for every learner, drawing and cause."""
    ended = folds.ended()
    found: dict[tuple[str, int, str], list[str]] = {}
    for learner in plan.learners:
        for seed in range(plan.n_seeds):
            for name in plan.data_sets:
                parts = plan.of(name, learner, seed)
                if not is_complete(parts, ended):
                    why = _cause(plan, parts, ended)
                    found.setdefault((learner, seed, why), []).append(name)
    return [
        {"part": plan.part, "learner": learner, "drawing": seed + 1, "without": _named(sets, plan), "why": why}
        for (learner, seed, why), sets in found.items()
    ]


def _cause(plan: Plan, parts: list[Fold], ended: Ended) -> str:
    first = parts[0]
    if is_left_out(plan.part, first.learner, first.data_set, first.seed):
        return f"thinned out: {THINNED[first.learner].why}"
    bad = [ended[fold]["status"] for fold in parts if fold in ended and ended[fold]["status"] != DONE]
    return bad[0] if bad else "not run"


def _named(sets: list[str], plan: Plan) -> str:
    if len(sets) == len(plan.data_sets):
        return "all sets"
    return ", ".join(sets) if len(sets) <= NAMED else f"{len(sets)} of {len(plan.data_sets)} sets"
