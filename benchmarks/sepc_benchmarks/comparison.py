"""Does trust rank errors better than other models' confidence, and is 0.95 right 95 times in a hundred? Two hours.

`SEPClassifier`, and `TrustedClassifier` around other models, beside forests, boosting and additive models on 36 public
data sets, none of them tuned. Finished folds are kept in `.bench-trust/`, so a run that was stopped goes on where it
was, and our own folds are fitted again if the source of the library has changed. Needs a system that can fork.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

from sepc_benchmarks.measure import Parts, Tables
from sepc_benchmarks.trust import tables
from sepc_benchmarks.trust.folds import PARTS, Folds, Plan
from sepc_benchmarks.trust.learners import DEFAULT
from sepc_benchmarks.trust.schedule import work
from sepc_benchmarks.trust.suite import SMALLEST

CACHE = Path(".bench-trust")
FEW = {DEFAULT, "RF", "HGB", "scores on HGB", "TrustedClassifier on HGB"}


def few_of(plan: Plan) -> Plan:
    """The plan with a tiny data set, two folds and few learners."""
    learners = tuple(name for name in plan.learners if name in FEW)
    return replace(plan, data_sets=SMALLEST[plan.part], learners=learners, n_seeds=1, n_folds=min(plan.n_folds, 2))


def tables_of(plans: list[Plan]) -> Tables:
    """Fit what the cache does not have, and compare; the first plan is what the second is shown beside."""
    folds = Folds(CACHE)
    work([fold for plan in plans for fold in plan.tasks(plan.learners)], folds, os.cpu_count() or 1)
    plan = plans[-1]
    if plan.part == "layers":
        return tables.of_layers(plan, folds)
    return tables.beside(plans[0], plan, folds) if len(plans) > 1 else tables.of_models(plan, folds)


def parts(smallest: bool) -> Parts:
    """What the tables are made of; equal rows and time are shown beside the same sets split by chance."""
    plans = {name: few_of(plan) if smallest else plan for name, plan in PARTS.items()}
    beside = {"together": [plans["models"]], "by time": [plans["full size"]]}
    return {name: partial(tables_of, [*beside.get(name, []), plan]) for name, plan in plans.items()}


def derived(found: Tables) -> Tables:
    """The four learners that most people compare, for the README."""
    columns = ("learner", "accuracy", "AURC", "accepted", "right among these", "sets surely below")
    known = {row["learner"]: row for row in found.get("models", [])}
    few = [known[name] for name in (DEFAULT, "RF", "HGB", "LightGBM") if name in known]
    return {"readme": [{column: row[column] for column in columns} for row in few]}
