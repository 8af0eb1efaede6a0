"""The constants of trust by counts: how many rows the wider set counts for, how fast counts fade outside, and to what.

Five-fold on the data sets of `accuracy.py` and a few more, at most 1,000 rows each. Every fold is fitted once, and its
decisions are computed again with each choice. "geometric" is the geometric mean of AURC + 0.002, which no single hard
set dominates.
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sepc import SEPClassifier
from sepc.decisions.kinds import Rule
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.metrics import aurc
from sepc.model.count_rules import most_likely
from sepc_benchmarks import accuracy
from sepc_benchmarks.measure import arguments, save, show

MORE_SETS = ("australian_credit", "heart_cleveland", "ilpd", "mammographic_masses", "sonar", "spambase")
PRIOR_ROWS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
TOWARDS = ("class shares", "equal shares")


# The fine partition that the constants were settled on.
COUNTS = SEPClassifier(2, trust="counts", max_ellipsoids=500, fit_rows=None)


def weighed(decisions: SEPDecisions, prior_rows: float, power: float, towards: str) -> tuple[Any, Any]:
    """Labels and trust from the counts behind decisions, with other constants."""
    model = decisions.model
    outside = decisions.rule == Rule.NEAREST
    seen = (decisions.region >= 0) & ~outside
    exact = np.zeros_like(decisions.counts)
    exact[seen] = model.table.counts[decisions.region[seen]]
    exact[outside] = model.counts_and_exact_at(decisions.place[outside])[1]
    fading = np.where(outside, np.maximum(decisions.gauge, 1.0) ** -power, 1.0)[:, None]
    shares = np.tile(model.shares, (len(decisions), 1))
    if towards == "equal shares":
        shares[outside] = 1.0 / len(model.classes)
    wider, exact = decisions.counts * fading, exact * fading
    around = (wider + shares) / (wider.sum(axis=1, keepdims=True) + 1.0)
    probabilities = (exact + prior_rows * around) / (exact.sum(axis=1, keepdims=True) + prior_rows)
    label = most_likely(probabilities, model.shares)
    return model.classes[label], probabilities[np.arange(len(label)), label]


def of_one_set(
    name: str, choices: list[tuple[float, float, str]]
) -> dict[tuple[float, float, str], tuple[float, float]]:
    X, y = accuracy.rows_of(name)
    correct = {choice: np.empty(len(y), dtype=bool) for choice in choices}
    trust = {choice: np.empty(len(y)) for choice in choices}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(X, y):
        decisions = COUNTS.fit(X[train], y[train]).decide(X[test])
        for choice in choices:
            label, trust[choice][test] = weighed(decisions, *choice)
            correct[choice][test] = label == y[test]
    return {choice: (float(correct[choice].mean()), aurc(correct[choice], trust[choice])) for choice in choices}


def main() -> None:
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    accuracy.MOST_ROWS = 1_000
    names = ("iris",) if options.smallest else ("iris", "wdbc", *accuracy.SETS, *MORE_SETS)
    choices = list(product(PRIOR_ROWS, (2.0,), TOWARDS)) + list(product((30.0,), (0.0, 1.0, 4.0), TOWARDS))
    found = [of_one_set(name, choices) for name in names]
    records = []
    for choice in choices:
        areas = np.array([one[choice][1] for one in found])
        records.append(
            {
                "prior rows": choice[0],
                "counts fade as gauge to the minus": choice[1],
                "outside, towards": choice[2],
                "accuracy": float(np.mean([one[choice][0] for one in found]).round(4)),
                "AURC": float(areas.mean().round(4)),
                "geometric": float((np.exp(np.log(areas + 0.002).mean())).round(4)),
            }
        )
    results = {"evidence": records}
    show("evidence", records)
    save(options.output, results)


if __name__ == "__main__":
    main()
