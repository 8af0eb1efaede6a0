"""How much do missing values cost, beside gradient boosting with and without missing values in training? Half an hour.

Numeric columns of complete rows, at most 2,000 of a set, five folds; then cells of the test rows are taken away, 10, 20
and 40 % of them at random, or 20 % depending on the first feature, which is always there. Learners that train with gaps
get training rows with gaps of the same kind. The imputer is fitted to the complete training rows. No model is tuned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (makes the next import work)
from sklearn.impute import IterativeImputer
from sklearn.pipeline import make_pipeline

from sepc import SEPClassifier
from sepc.metrics import aurc, ece
from sepc_benchmarks.holes import MOST_ROWS, NEW, SETS, Rows, at_random, by_first_feature, folds, rows_of
from sepc_benchmarks.measure import Parts, Records, Tables

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


def measured(X: Rows, y: Any, name: str) -> Iterator[dict[str, Any]]:
    """What each learner reaches on each fold and with each kind of gaps."""
    for fold, (train, test) in enumerate(folds(X, y)):
        complete: dict[str, Any] = {
            OURS: SEPClassifier().fit(X[train], y[train]),
            TREES: trees().fit(X[train], y[train]),
            IMPUTED: make_pipeline(IterativeImputer(random_state=0), trees()).fit(X[train], y[train]),
        }
        for kind, (take, share) in GAPS.items():
            gone, rows = take(X[train], share, 2 * fold), take(X[test], share, 2 * fold + 1)
            with_gaps = {OURS_WITH: SEPClassifier().fit(gone, y[train]), TREES_WITH: trees().fit(gone, y[train])}
            for learner, model in (complete | with_gaps).items():
                label, trust = answers(model, rows)
                right = label == y[test]
                found = {"accuracy": float(right.mean()), "aurc": aurc(right, trust), "ece": ece(right, trust)}
                yield {"set": name, "gaps": kind, "learner": learner} | found


def mean(outcomes: list[dict[str, Any]], metric: str, **chosen: str) -> float:
    return float(np.mean([one[metric] for one in outcomes if all(one[key] == chosen[key] for key in chosen)]))


def summary(outcomes: list[dict[str, Any]]) -> Records:
    """Means over the sets, and on how many of them our AURC is the lower one."""
    records = []
    for kind in GAPS:
        for learner in LEARNERS:
            means = {metric: round(mean(outcomes, metric, gaps=kind, learner=learner), 4) for metric in METRICS}
            beaten: dict[str, Any] = {
                f"beaten by {mine}": "" if learner in (OURS, OURS_WITH) else n_lower(outcomes, kind, mine, learner)
                for mine in (OURS, OURS_WITH)
            }
            records.append({"gaps %": kind, "learner": learner} | means | beaten)
    return records


def n_lower(outcomes: list[dict[str, Any]], kind: str, ours: str, theirs: str) -> int:
    """The sets on which the first has the lower mean AURC."""
    names = dict.fromkeys(one["set"] for one in outcomes)
    pairs = [[mean(outcomes, "aurc", set=name, gaps=kind, learner=who) for who in (ours, theirs)] for name in names]
    return sum(own < other for own, other in pairs)


def parts(smallest: bool) -> Parts:
    return {"summary": lambda: summaries(("vertebral",), 100) if smallest else summaries(tuple(SETS), MOST_ROWS)}


def summaries(names: tuple[str, ...], most_rows: int) -> Tables:
    """All sets, and those that were not looked at while the method was chosen."""
    outcomes = [one for name in names for one in measured(*rows_of(name, most_rows), name)]
    new = [one for one in outcomes if one["set"] in NEW]
    return {"summary": summary(outcomes)} | ({"summary of new sets": summary(new)} if new else {})
