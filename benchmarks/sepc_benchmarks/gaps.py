"""Rows with gaps: `SEPClassifier` beside boosted trees, with and without gaps in training, five-fold.

Numeric columns of complete rows, at most 2,000 of a set; then cells of the test rows are taken away, 10, 20 and 40 % of
them at random, or 20 % depending on the first feature, which is always there. Learners that train with gaps get
training rows with gaps of the same kind. The imputer is fitted to the complete training rows. No model is tuned.
With ``--output``, what was measured is kept in a file beside it, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (makes the next import work)
from sklearn.impute import IterativeImputer
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.metrics import aurc, ece
from sepc_benchmarks.holes import NEW, SETS, Rows, at_random, by_first_feature, folds, rows_of
from sepc_benchmarks.measure import arguments, save, show

GAPS = {
    "10": (at_random, 0.1),
    "20": (at_random, 0.2),
    "40": (at_random, 0.4),
    "20 depending": (by_first_feature, 0.2),
}
OURS, OURS_WITH, TREES, TREES_WITH, IMPUTED = (
    "ours",
    "ours, gaps in training",
    "HGB",
    "HGB, gaps in training",
    "imputer, HGB",
)
LEARNERS = (OURS, OURS_WITH, TREES, TREES_WITH, IMPUTED)
METRICS = ("accuracy", "aurc", "ece")


def trees() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(random_state=0)


def answers(model: Any, rows: Rows) -> tuple[Any, Rows]:
    """Labels and how far they are trusted."""
    if isinstance(model, SEPClassifier):
        decided = model.decide(rows)
        return decided.label, decided.trust
    probabilities = model.predict_proba(rows)
    return model.classes_[probabilities.argmax(axis=1)], probabilities.max(axis=1)


def measured(X: Rows, y: Any, name: str, known: set[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """What each learner reaches on each fold and with each kind of gaps; folds that are known are left out."""
    for fold, (train, test) in enumerate(folds(X, y)):
        if (name, fold) in known:
            continue
        complete: dict[str, Any] = {
            OURS: SEPClassifier().fit(X[train], y[train]),
            TREES: trees().fit(X[train], y[train]),
            IMPUTED: make_pipeline(IterativeImputer(random_state=0), trees()).fit(X[train], y[train]),
        }
        outcomes = []
        for kind, (take, share) in GAPS.items():
            gone, rows = take(X[train], share, 2 * fold), take(X[test], share, 2 * fold + 1)
            with_gaps = {OURS_WITH: SEPClassifier().fit(gone, y[train]), TREES_WITH: trees().fit(gone, y[train])}
            for learner, model in (complete | with_gaps).items():
                started = time.perf_counter()
                label, trust = answers(model, rows)
                seconds = time.perf_counter() - started
                right = label == y[test]
                found = {"accuracy": float(right.mean()), "aurc": aurc(right, trust), "ece": ece(right, trust)}
                head = {"set": name, "gaps": kind, "learner": learner}
                outcomes.append(head | found | {"ms": 1000 * seconds / len(test)})
        yield {"set": name, "fold": fold, "outcomes": outcomes}


def remembered(path: Path | None) -> list[dict[str, Any]]:
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(outcomes: list[dict[str, Any]], kind: str, metric: str) -> list[dict[str, Any]]:
    """Means over the folds, a row for each set."""
    records = []
    for name in dict.fromkeys(one["set"] for one in outcomes):
        own = {learner: mean(outcomes, metric, set=name, gaps=kind, learner=learner) for learner in LEARNERS}
        records.append({"data set": name} | {learner: round(value, 4) for learner, value in own.items()})
    return records


def mean(outcomes: list[dict[str, Any]], metric: str, **chosen: str) -> float:
    return float(np.mean([one[metric] for one in outcomes if all(one[key] == chosen[key] for key in chosen)]))


def summary(outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over the sets, and on how many of them our AURC is the lower one."""
    records = []
    for kind in GAPS:
        areas = table(outcomes, kind, "aurc")
        for learner in LEARNERS:
            head = {"gaps %": kind, "learner": learner}
            means = {metric: round(mean(outcomes, metric, gaps=kind, learner=learner), 4) for metric in METRICS}
            beaten = {
                f"beaten by {mine}": ""
                if learner in (OURS, OURS_WITH)
                else sum(row[mine] < row[learner] for row in areas)
                for mine in (OURS, OURS_WITH)
            }
            records.append(head | means | beaten | {"ms a row": mean(outcomes, "ms", gaps=kind, learner=learner)})
    return records


def main() -> None:
    options = arguments(__doc__)
    names = ("vertebral",) if options.smallest else tuple(SETS)
    kept = options.output and options.output.with_suffix(".parts.jsonl")
    parts = remembered(kept)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            for part in measured(
                *rows_of(name, 100 if options.smallest else 2_000), name, {(p["set"], p["fold"]) for p in parts}
            ):
                parts.append(part)
                if kept:
                    with kept.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(part) + "\n")
                print(f"done: {name}, fold {part['fold']}", file=sys.stderr, flush=True)
    outcomes = [one for part in parts for one in part["outcomes"]]
    results = {f"{metric} {kind}": table(outcomes, kind, metric) for kind in GAPS for metric in METRICS}
    results["summary"] = summary(outcomes)
    if set(NEW) <= set(names):
        results["summary of new sets"] = summary([one for one in outcomes if one["set"] in NEW])
    for title, records in results.items():
        show(title, records)
    save(options.output, results)
    if kept:
        kept.unlink()


if __name__ == "__main__":
    main()
