"""All of Adult, numbers and categories: `SEPClassifier` and `RoutedClassifier` compared with HGB.

All 30,162 rows, four fifths of them for training. No model is tuned. A row is accepted with a trust of at least 0.95;
for HGB, which takes categories as they are, trust is the largest class probability. SEP-C partitions at most 2,000 rows
of each model, chosen by a hash, and counts all.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, TrustedClassifier
from sepc.errors import FlatSetWarning
from sepc.estimators.routed import RoutedClassifier
from sepc.metrics import aurc
from sepc_benchmarks.datasets import Dataset, load
from sepc_benchmarks.measure import arguments, save, show

MIN_TRUST = 0.95
BY = (
    ("sex",),
    ("relationship",),
    ("marital_status", "sex"),
    ("relationship", "occupation"),
    ("education", "occupation", "relationship"),
)
FITTED_BY = (("relationship",), ("marital_status", "sex"), ("relationship", "occupation"))


def sizes(data: Dataset, small: bool) -> list[dict[str, Any]]:
    """What stratifying by some columns leaves to models of their own."""
    records = []
    for by in BY[:2] if small else (*BY, data.categorical):
        chosen = data.features[[*by, data.numeric.columns[0]]]
        strata = RoutedClassifier(DummyClassifier(), by=list(by)).fit(chosen, data.target).strata_
        assert strata is not None
        n_own = int(strata.n_rows[strata.fitted].sum())
        records.append(
            {
                "by": ", ".join(by) if len(by) < len(data.categorical) else "all eight",
                "strata": len(strata),
                "largest": int(strata.n_rows[0]),
                "with a model of their own": int(strata.fitted.sum()),
                "rows in these": f"{n_own / len(data.target):.0%}",
            }
        )
    return records


def learners(data: Dataset, small: bool) -> dict[str, tuple[Any, list[str]]]:
    """For each name an estimator, and the columns it is given."""
    one = SEPClassifier(fit_rows=100 if small else 2_000, min_trust=MIN_TRUST, random_state=0)
    boosting = HistGradientBoostingClassifier(
        max_iter=5 if small else 100, categorical_features="from_dtype", random_state=0
    )
    numeric, categorical = list(data.numeric), list(data.categorical)
    found: dict[str, Any] = {"SEP-C, the six numbers alone": (one, numeric)}
    for by in FITTED_BY[:1] if small else FITTED_BY:
        stratified = RoutedClassifier(one, by=list(by), default=one)
        found[f"SEP-C, by {' and '.join(by)}"] = (stratified, [*by, *numeric])
    return found | {
        "SEP-C, the table as it is": (one, numeric + categorical),
        "HGB with categories": (boosting, numeric + categorical),
        "HGB with categories, trusted": (
            TrustedClassifier(boosting, partition=one, min_trust=MIN_TRUST, cv=2 if small else 5),
            numeric + categorical,
        ),
    }


def decided(fitted: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels and trust."""
    if hasattr(fitted, "decide"):
        decisions = fitted.decide(X)
        return decisions.label, decisions.trust
    probabilities = fitted.predict_proba(X)
    return fitted.classes_[probabilities.argmax(axis=1)], probabilities.max(axis=1)


def compared(data: Dataset, small: bool) -> list[dict[str, Any]]:
    table = data.features.astype(dict.fromkeys(data.categorical, "category"))
    X, X_test, y, y_test = train_test_split(table, data.target, test_size=0.2, random_state=0, stratify=data.target)
    if small:
        X, X_test, y, y_test = X[:1000], X_test[:500], y[:1000], y_test[:500]
    drawn = np.random.default_rng(0).permutation(len(y))
    records = []
    for name, (estimator, columns) in learners(data, small).items():
        started = time.perf_counter()
        fitted = estimator.fit(X[columns].iloc[drawn], y[drawn])
        seconds = time.perf_counter() - started
        label, trust = decided(fitted, X_test[columns])
        correct, accepted = label == y_test, trust >= MIN_TRUST
        records.append(
            {
                "learner": name,
                "accuracy": round(float(correct.mean()), 4),
                "AURC": round(aurc(correct, trust), 4),
                "accepted": f"{accepted.mean():.1%}",
                "right among these": f"{correct[accepted].mean():.1%}" if accepted.any() else "",
                "seconds to fit": seconds,
            }
        )
    return records


def main() -> None:
    options = arguments(__doc__)
    warnings.filterwarnings("ignore", category=FlatSetWarning)
    data = load("adult")
    results = {"strata": sizes(data, options.smallest), "learners": compared(data, options.smallest)}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
