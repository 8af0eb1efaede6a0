"""The tables of the comparison, from the folds in the cache."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from sepc_benchmarks.measure import Records, Tables
from sepc_benchmarks.trust.folds import Folds, Plan
from sepc_benchmarks.trust.learners import DEFAULT, LAYERED
from sepc_benchmarks.trust.outcomes import MIN_TRUST, Accepted, Outcome, Outcomes, comparable, layers, models
from sepc_benchmarks.trust.scores import NOT_PROBABILITIES, OURS


def of_models(plan: Plan, folds: Folds) -> Tables:
    """Models that stand alone, the lowest AURC first; those of the first part also in pairs."""
    outcomes = models(plan, folds)
    finished = comparable(outcomes, DEFAULT)
    names = next(iter(finished.values()), {})
    rows = [_row(name, [row[name] for row in finished.values()]) for name in names]
    found = {plan.part: sorted(rows, key=lambda row: row["AURC"])}
    return found | ({"against": _in_pairs(outcomes)} if plan.part == "models" else {})


def beside(by_chance: Plan, plan: Plan, folds: Folds) -> Tables:
    """Each learner on the sets of a plan: split by chance, in the first drawing, and as the plan says."""
    usual, otherwise = models(by_chance, folds), models(plan, folds)
    table: Records = []
    for learner in dict.fromkeys(learner for row in otherwise.values() for learner in row):
        sets = [name for name, row in otherwise.items() if learner in row and learner in usual.get(name, {})]
        shown = {by_chance.split_by: [usual[name][learner].on([0]) for name in sets]}
        shown[plan.split_by] = [otherwise[name][learner] for name in sets]
        for split, own in shown.items():
            row = _row(learner, own)
            del row["run"], row["sets surely below"]
            table.append({"split": split} | row)
    return {plan.part: table}


def of_layers(plan: Plan, folds: Folds) -> Tables:
    """Ways to say how far to trust the labels of a base model, the lowest AURC first."""
    table: Records = []
    for base, outcomes in layers(plan, folds).items():
        finished = comparable(outcomes, OURS)
        for name in next(iter(finished.values()), {}):
            row = _row(name, [one[name] for one in finished.values()])
            table.append({"labels of": base, "trust": name} | _ranking(row, name))
    return {"layers": sorted(table, key=lambda row: (row["labels of"], row["AURC"]))}


def _ranking(row: dict[str, Any], name: str) -> dict[str, Any]:
    """Without accuracy, which labels that are kept share, and without what only probabilities have."""
    left_out = ("ECE", "accepted", "right among these") if name in NOT_PROBABILITIES else ()
    columns = ("AURC", "ECE", "accepted", "right among these")
    return {column: "" if column in left_out else row[column] for column in columns}


def _row(name: str, own: list[Outcome]) -> dict[str, Any]:
    """Means over the data sets; what is accepted, pooled."""
    pooled = sum((one.accepted for one in own), Accepted(0, 0))
    return {
        "learner": name,
        "run": date.today().isoformat(),
        "AURC": round(float(np.mean([one.aurc for one in own])), 4),
        "accuracy": round(float(np.mean([one.accuracy for one in own])), 3),
        "ECE": round(float(np.mean([one.ece for one in own])), 3),
        "accepted": round(float(np.mean([one.share_accepted for one in own])), 3),
        "right among these": round(pooled.share_right, 3) if pooled.n_accepted else "",
        "sets surely below": sum(one.accepted.upper_bound < MIN_TRUST for one in own),
    }


def _in_pairs(outcomes: Outcomes) -> Records:
    """Our default, and our layer on a random forest, beside everybody else on the sets that both have finished."""
    learners = dict.fromkeys(learner for row in outcomes.values() for learner in row)
    pairs = [(ours, peer) for ours in (DEFAULT, LAYERED) for peer in learners if peer not in (DEFAULT, LAYERED)]
    judged = [in_pair(outcomes, ours, peer) for ours, peer in pairs if ours in learners]
    return [row for row in judged if row["sets"]]


def in_pair(outcomes: Outcomes, ours: str, peer: str) -> dict[str, Any]:
    """Two learners side by side, on the data sets and drawings that both have finished."""
    both = [(row[ours], row[peer]) for row in outcomes.values() if ours in row and peer in row]
    shared = [own.drawings.keys() & other.drawings.keys() for own, other in both]
    pairs = [(own.on(seeds), other.on(seeds)) for (own, other), seeds in zip(both, shared, strict=True) if seeds]
    row = {"ours": ours, "peer": peer, "run": date.today().isoformat(), "sets": len(pairs)}
    if not pairs:
        return row
    means = {
        "AURC, ours": [own.aurc for own, _ in pairs],
        "AURC, peer": [other.aurc for _, other in pairs],
    }
    lower = {"our AURC lower": sum(own.aurc < other.aurc for own, other in pairs)}
    return row | lower | {name: round(float(np.mean(each)), 4) for name, each in means.items()}
