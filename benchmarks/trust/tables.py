"""The tables of the comparison, as records for `benchmarks/results/trust.json` and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from folds import DONE, Folds, Plan
from judgement import Ranks, aurcs, friedman_p, interval, is_much_worse, ranks
from learners import FOREST
from outcomes import Outcome, Outcomes, layers, models
from scores import NOT_PROBABILITIES, OURS
from suite import rows_of

Table = list[dict[str, Any]]
EVIDENCE, PUBLISHED = "SEP-C evidence", "SEP-C published trust"


def all_tables(plan: Plan, folds: Folds) -> tuple[dict[str, Table], dict[str, Ranks]]:
    """Every table that has data sets to show, and the mean ranks to draw."""
    track_a, track_b = models(plan, folds), layers(plan, folds)
    track_b = {base: outcomes for base, outcomes in track_b.items() if outcomes}
    tables, found = {"sets": _sets(plan, folds)}, {}
    if track_a:
        tables |= _model_tables(track_a)
        found["models"] = ranks(track_a)
    if track_b:
        tables |= _layer_tables(track_b)
        found |= {f"{base}, labels kept": ranks(outcomes) for base, outcomes in track_b.items()}
    compared = ({"models": track_a} if track_a else {}) | {f"trust in {base}": one for base, one in track_b.items()}
    tables["tests"] = [{"compared": name} | _test(outcomes) for name, outcomes in compared.items()]
    return tables, found


def _sets(plan: Plan, folds: Folds) -> Table:
    found = {name: rows_of(name, folds.folder) for name in plan.data_sets}
    return [
        {"data set": name, "rows": len(rows.y), "features": rows.X.shape[1], "classes": rows.n_classes}
        for name, rows in found.items()
    ]


def _model_tables(outcomes: Outcomes) -> dict[str, Table]:
    tables = {
        "models": _summary(outcomes),
        "models aurc": _by_set(outcomes, lambda one: round(one.aurc, 4)),
        "models accuracy": _by_set(outcomes, lambda one: round(one.accuracy, 3)),
        "models ece": _by_set(outcomes, lambda one: round(one.ece, 3)),
        "models seconds": _by_set(outcomes, lambda one: round(float(np.median(one.seconds)), 2)),
    }
    learners = next(iter(outcomes.values()))
    if FOREST in learners:
        tables["forest against"] = [_against(outcomes, FOREST, peer) for peer in learners if peer != FOREST]
    if {EVIDENCE, PUBLISHED} <= learners.keys():
        tables["default trust"] = [_against(outcomes, EVIDENCE, PUBLISHED)]
    return tables


def _layer_tables(track_b: dict[str, Outcomes]) -> dict[str, Table]:
    judged = [
        {"base model": base} | _against(outcomes, OURS, peer)
        for base, outcomes in track_b.items()
        for peer in next(iter(outcomes.values()))
        if peer != OURS
    ]
    summary = [
        {"base model": base, "trust": row.pop("learner")} | row
        for base, outcomes in track_b.items()
        for row in _summary(outcomes)
    ]
    shown = ("base model", "trust", "mean rank", "mean AURC", "best or tied", "mean ECE")
    tables = {
        "layers": [{name: row[name] for name in shown} for row in summary],
        "layers against": judged,
        "layers worse": [row for base, outcomes in track_b.items() for row in _losses(base, outcomes)]
        or [{"base model": "none", "data set": ""}],
    }
    for base, outcomes in track_b.items():
        tables[f"{base} aurc"] = _by_set(outcomes, lambda one: round(one.aurc, 4))
    return tables


def _summary(outcomes: Outcomes) -> Table:
    """One row for each learner, the best rank first; means are over the data sets that all learners finish."""
    values, found = aurcs(outcomes), ranks(outcomes)
    finished = [row for row in outcomes.values() if all(one.status == DONE for one in row.values())]
    wins = np.sum(values == values.min(axis=1, keepdims=True), axis=0)
    table = []
    for j in np.argsort(found.mean):
        name = found.names[j]
        own = [row[name] for row in finished]
        seconds = [second for row in outcomes.values() for second in row[name].seconds]
        table.append(
            {
                "learner": name,
                "mean rank": round(float(found.mean[j]), 2),
                "mean AURC": _mean(own, lambda one: one.aurc, 4),
                "best or tied": int(wins[j]),
                "mean accuracy": _mean(own, lambda one: one.accuracy, 3),
                "mean ECE": "" if name in NOT_PROBABILITIES else _mean(own, lambda one: one.ece, 3),
                "seconds a fit, mean": round(float(np.mean(seconds)), 2) if seconds else "",
                "too slow on": sum(row[name].status != DONE for row in outcomes.values()),
            }
        )
    return table


def _test(outcomes: Outcomes) -> dict[str, Any]:
    finished = [row for row in outcomes.values() if all(one.status == DONE for one in row.values())]
    return {
        "data sets": len(outcomes),
        "of them finished by all": len(finished),
        "Friedman p": f"{friedman_p(outcomes):.1e}",
        "critical difference of mean ranks": round(ranks(outcomes).critical_difference, 2),
    }


def _mean(own: list[Outcome], of: Callable[[Outcome], float], digits: int) -> float | str:
    return round(float(np.mean([of(one) for one in own])), digits) if own else ""


def _by_set(outcomes: Outcomes, cell: Callable[[Outcome], float]) -> Table:
    return [
        {"data set": name} | {learner: cell(one) if one.status == DONE else one.status for learner, one in row.items()}
        for name, row in outcomes.items()
    ]


def _against(outcomes: Outcomes, ours: str, peer: str) -> dict[str, Any]:
    """How often, and by how much in rank, one has lower AURC than another."""
    mean = dict(zip(ranks(outcomes).names, ranks(outcomes).mean, strict=True))
    pairs = [(row[ours].aurc, row[peer].aurc) for row in outcomes.values()]
    lower = sum(own < other for own, other in pairs)
    return {
        "ours": ours,
        "peer": peer,
        "our AURC lower": lower,
        "higher": sum(own > other for own, other in pairs),
        "sets": len(pairs),
        "share lower": f"{lower / len(pairs):.0%}",
        "mean rank, ours": round(float(mean[ours]), 2),
        "mean rank, peer": round(float(mean[peer]), 2),
    }


def _losses(base: str, outcomes: Outcomes) -> Table:
    """Data sets where our layer is worse than the base model's own confidence by more than max(5 %, 0.002)."""
    table = []
    for name, row in outcomes.items():
        ours, raw = row[OURS], row["raw"]
        if ours.status == DONE and is_much_worse(ours, raw):
            low, high = interval(ours, raw)
            table.append(
                {
                    "base model": base,
                    "data set": name,
                    "AURC, raw": round(raw.aurc, 4),
                    f"AURC, {OURS}": round(ours.aurc, 4),
                    "95 % interval of the difference": f"{low:+.4f} to {high:+.4f}",
                    "excludes zero": "yes" if low > 0 else "no",
                }
            )
    return table
