"""The tables of the comparison, as records for `benchmarks/results/trust.json` and the page that shows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sepc_benchmarks.trust.folds import Folds, Plan
from sepc_benchmarks.trust.judgement import Ranks, friedman_p, interval, is_much_worse, ranks
from sepc_benchmarks.trust.learners import DEFAULT, LAYERED
from sepc_benchmarks.trust.learners import OURS as OUR_LEARNERS
from sepc_benchmarks.trust.missing import missing
from sepc_benchmarks.trust.outcomes import MIN_TRUST, Accepted, Outcome, Outcomes, comparable, layers, models
from sepc_benchmarks.trust.scores import NOT_PROBABILITIES, OURS
from sepc_benchmarks.trust.suite import rows_of

Table = list[dict[str, Any]]
HISTORY = Path(__file__).with_name("history.json")  # figures of learners that are gone
BESIDE = {"together": "models", "by time": "full size"}  # parts that are shown beside the same sets split by chance
LAYER_COLUMNS = ("base model", "trust", "sets", "mean rank", "AURC", "AUGRC", "ECE", "accepted", "right among these")


def all_tables(plans: Mapping[str, Plan], folds: Folds) -> tuple[dict[str, Table], dict[str, Ranks]]:
    """Every table that has something to show, and the mean ranks to draw."""
    tables = {"sets": _sets(plans, folds)}
    compared: dict[str, Outcomes] = {}
    for part, plan in plans.items():
        if part == "layers":
            track_b = {base: outcomes for base, outcomes in layers(plan, folds).items() if outcomes}
            tables |= _layer_tables(track_b)
            compared |= {f"{base}, labels kept": comparable(outcomes, OURS) for base, outcomes in track_b.items()}
        elif BESIDE.get(part) in plans:
            tables[part] = _beside(models(plans[BESIDE[part]], folds), models(plan, folds), plan.split_by)
        elif outcomes := models(plan, folds):
            tables |= _model_tables(part, outcomes)
            compared |= {part: comparable(outcomes, DEFAULT)} if part == "models" else {}
    tables["tests"] = [{"compared": name} | _test(outcomes) for name, outcomes in compared.items()]
    tables["missing"] = [row for plan in plans.values() for row in missing(plan, folds)]
    tables["history"] = json.loads(HISTORY.read_text(encoding="utf-8"))
    return tables, {name: ranks(outcomes) for name, outcomes in compared.items()}


def _sets(plans: Mapping[str, Plan], folds: Folds) -> Table:
    found = {(name, plan.most_rows): part for part, plan in plans.items() for name in plan.data_sets}
    table = []
    for (name, most_rows), part in found.items():
        rows = rows_of(name, folds.folder, most_rows)
        sizes = {"rows": len(rows.y), "features": rows.X.shape[1], "classes": rows.n_classes}
        table.append({"part": "models" if part in ("layers", "together") else part, "data set": name, **sizes})
    return table


def _model_tables(part: str, outcomes: Outcomes) -> dict[str, Table]:
    by_set = {
        "aurc": lambda one: round(one.aurc, 4),
        "accuracy": lambda one: round(one.accuracy, 3),
        "ece": lambda one: round(one.ece, 3),
        "accepted": lambda one: round(one.share_accepted, 3),
        "right": lambda one: _rounded(one.accepted.share_right, 3),
        "seconds": lambda one: _rounded(one.fact("fit"), 2),
    }
    tables = {part: _summary(comparable(outcomes, DEFAULT))}
    tables |= {f"{part} {name}": _by_set(outcomes, cell) for name, cell in by_set.items()}
    tables[f"{part} against"] = _against_all(outcomes)
    return tables


def _beside(by_chance: Outcomes, otherwise: Outcomes, split_by: str) -> Table:
    """Each learner on the sets of the second part: split by chance, in the first drawing, and otherwise."""
    learners = dict.fromkeys(learner for row in otherwise.values() for learner in row)
    table = []
    for learner in learners:
        sets = [name for name, row in otherwise.items() if learner in row and learner in by_chance.get(name, {})]
        shown = {"by chance": [by_chance[name][learner].on([0]) for name in sets]}
        shown[split_by] = [otherwise[name][learner] for name in sets]
        table += [_beside_row(learner, split, own) for split, own in shown.items() if own]
    return table


def _beside_row(learner: str, split: str, own: list[Outcome]) -> dict[str, Any]:
    columns = ("learner", "sets", "AURC", "accuracy", "ECE", "accepted", "right among these", "sets surely below")
    row = _row(learner, float("nan"), own)
    return {"split": split} | {name: row[name] for name in columns}


def _against_all(outcomes: Outcomes) -> Table:
    """Our default, and our layer on a random forest, beside everybody else."""
    learners = dict.fromkeys(learner for row in outcomes.values() for learner in row)
    pairs = [(DEFAULT, peer) for peer in learners if peer != DEFAULT]
    pairs += [(LAYERED, peer) for peer in learners if peer not in OUR_LEARNERS]
    judged = [_against(outcomes, ours, peer) for ours, peer in pairs if ours in learners]
    return [row for row in judged if row["sets"]]


def _layer_tables(track_b: dict[str, Outcomes]) -> dict[str, Table]:
    summary = [
        {"base model": base, "trust": row.pop("learner")} | row
        for base, outcomes in track_b.items()
        for row in _summary(comparable(outcomes, OURS))
    ]
    tables = {
        "layers": [{name: row[name] for name in LAYER_COLUMNS} for row in summary],
        "layers against": _layers_against(track_b),
        "layers seconds": _layer_seconds(track_b),
        "layers worse": [row for base, outcomes in track_b.items() for row in _losses(base, outcomes)],
    }
    for base, outcomes in track_b.items():
        tables[f"{base} aurc"] = _by_set(outcomes, lambda one: round(one.aurc, 4))
    return tables


def _layers_against(track_b: dict[str, Outcomes]) -> Table:
    return [
        {"base model": base} | _against(outcomes, OURS, peer)
        for base, outcomes in track_b.items()
        for peer in next(iter(outcomes.values()))
        if peer != OURS and any(OURS in row for row in outcomes.values())
    ]


def _layer_seconds(track_b: dict[str, Outcomes]) -> Table:
    """What our layer adds to the fit of a base model."""
    table = []
    for base, outcomes in track_b.items():
        noted = [row[OURS].fact("fit") for row in outcomes.values() if OURS in row]
        seconds = [one for one in noted if one is not None]
        if seconds:
            times = {"mean seconds of the layer": round(float(np.mean(seconds)), 2), "longest": round(max(seconds), 2)}
            table.append({"base model": base, "sets": len(seconds), **times})
    return table


def _summary(outcomes: Outcomes) -> Table:
    """One row for each learner, the best rank first; means over the data sets."""
    found = ranks(outcomes)
    order = np.argsort(found.mean)
    return [_row(found.names[j], found.mean[j], [row[found.names[j]] for row in outcomes.values()]) for j in order]


def _row(name: str, rank: float, own: list[Outcome]) -> dict[str, Any]:
    pooled = sum((one.accepted for one in own), Accepted(0, 0))
    row = {
        "learner": name,
        "sets": len(own),
        "drawings": min(len(one.drawings) for one in own),
        "mean rank": round(float(rank), 2),
        "AURC": _mean([one.aurc for one in own], 4),
        "AUGRC": _mean([one.augrc for one in own], 4),
        "accuracy": _mean([one.accuracy for one in own], 3),
        "ECE": _mean([one.ece for one in own], 3),
        "accepted": _mean([one.share_accepted for one in own], 3),
        "right among these": _rounded(pooled.share_right, 3),
        "sets surely below": sum(one.accepted.upper_bound < MIN_TRUST for one in own),
        "ellipsoids": _mean([one.fact("ellipsoids") for one in own], 1),
        "seconds to fit": _mean([one.fact("fit") for one in own], 3),
        "seconds to score": _mean([one.fact("score") for one in own], 4),
    }
    no_probability = ("ECE", "accepted", "right among these", "sets surely below") if name in NOT_PROBABILITIES else ()
    return row | dict.fromkeys(no_probability, "")


def _test(outcomes: Outcomes) -> dict[str, Any]:
    p = friedman_p(outcomes)
    return {
        "data sets": len(outcomes),
        "compared on all of them": len(next(iter(outcomes.values()))),
        "Friedman p": "" if p is None else f"{p:.1e}",
        "critical difference of mean ranks": round(ranks(outcomes).critical_difference, 2),
    }


def _mean(values: list[float | None], digits: int) -> float | str:
    known = [one for one in values if one is not None]
    return "" if len(known) < len(values) else _rounded(float(np.mean(known)), digits)


def _rounded(value: float | None, digits: int) -> float | str:
    return "" if value is None or np.isnan(value) else round(float(value), digits)


def _by_set(outcomes: Outcomes, cell: Callable[[Outcome], float | str]) -> Table:
    learners = dict.fromkeys(learner for row in outcomes.values() for learner in row)
    return [
        {"data set": name} | {learner: cell(row[learner]) if learner in row else "" for learner in learners}
        for name, row in outcomes.items()
    ]


def _against(outcomes: Outcomes, ours: str, peer: str) -> dict[str, Any]:
    """Two learners side by side, on the data sets and drawings that both have finished."""
    both = [(row[ours], row[peer]) for row in outcomes.values() if ours in row and peer in row]
    shared = [own.drawings.keys() & other.drawings.keys() for own, other in both]
    pairs = [(own.on(seeds), other.on(seeds)) for (own, other), seeds in zip(both, shared, strict=True) if seeds]
    lower = sum(own.aurc < other.aurc for own, other in pairs)
    row = {"ours": ours, "peer": peer, "sets": len(pairs)}
    if not pairs:
        return row
    return row | {
        "drawings": min(len(own.drawings) for own, _ in pairs),
        "our AURC lower": lower,
        "higher": sum(own.aurc > other.aurc for own, other in pairs),
        "share lower": f"{lower / len(pairs):.0%}",
        "AURC, ours": _mean([own.aurc for own, _ in pairs], 4),
        "AURC, peer": _mean([other.aurc for _, other in pairs], 4),
        "accuracy, ours": _mean([own.accuracy for own, _ in pairs], 3),
        "accuracy, peer": _mean([other.accuracy for _, other in pairs], 3),
    }


def _losses(base: str, outcomes: Outcomes) -> Table:
    """Data sets where our layer is worse than the base model's own confidence by more than max(5 %, 0.002)."""
    table = []
    for name, row in outcomes.items():
        if {OURS, "raw"} <= row.keys() and is_much_worse(row[OURS], row["raw"]):
            low, high = interval(row[OURS], row["raw"])
            table.append(
                {
                    "base model": base,
                    "data set": name,
                    "AURC, raw": round(row["raw"].aurc, 4),
                    f"AURC, {OURS}": round(row[OURS].aurc, 4),
                    "95 % interval of the difference": f"{low:+.4f} to {high:+.4f}",
                    "excludes zero": "yes" if low > 0 else "no",
                }
            )
    return table
