"""How good are labels and trust on tables with categories and gaps, beside histogram boosting? Three minutes.

Each set is split five times, 70 % for training. Nothing is tuned. HGB takes the same table, with its categories; its
trust is the largest class probability. A row is accepted with a trust of at least 0.95.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier
from sepc.datasets import load
from sepc.metrics import aurc, ece
from sepc_benchmarks.measure import Parts, Records

MIN_TRUST = 0.95
N_SPLITS = 5
# Of german credit only a version with numbers is here; these of its columns are codes, the last nine of them yes or no.
GERMAN_CODES = [f"a{j:02}" for j in (1, 3, 5, 6, 7, 9, 11, 12, 14, *range(16, 25))]
MASS_CODES = ["shape", "margin"]
SETS = ("adult", "australian_credit", "german_credit_numeric", "heart_cleveland", "ilpd", "mammographic_masses")


def table_of(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The features, with categories as such, and the labels."""
    data = load(name)
    codes = {"german_credit_numeric": GERMAN_CODES, "mammographic_masses": MASS_CODES}.get(name, [])
    return data.features.astype(dict.fromkeys([*data.categorical, *codes], "category")), data.target


def splits(name: str, small: bool) -> Iterator[tuple[Any, ...]]:
    X, y = table_of(name)
    if small:
        X, y = X[:400], y[:400]
    for seed in range(1 if small else N_SPLITS):
        yield train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)


def labels_and_trust(fitted: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(fitted, SEPClassifier):
        decisions = fitted.decide(X)
        return decisions.label, decisions.trust
    probabilities = fitted.predict_proba(X)
    return fitted.classes_[probabilities.argmax(axis=1)], probabilities.max(axis=1)


def figures(fitted: Any, X: Any, y: np.ndarray, seconds: float) -> dict[str, float]:
    label, trust = labels_and_trust(fitted, X)
    right, accepted = label == y, trust >= MIN_TRUST
    return {
        "accuracy": float(right.mean()),
        "AURC": aurc(right, trust),
        "ECE": ece(right, trust),
        "accepted": float(accepted.mean()),
        "right among these": float(right[accepted].mean()) if accepted.any() else np.nan,
        "seconds to fit": seconds,
    }


def compared(small: bool) -> Records:
    records = []
    for name in SETS[-2:] if small else SETS:
        found: dict[str, list[dict[str, float]]] = {}
        for X, X_test, y, y_test in splits(name, small):
            learners = {
                "SEP-C": SEPClassifier(min_trust=MIN_TRUST),
                "HGB": HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0),
            }
            for learner, estimator in learners.items():
                started = time.perf_counter()
                fitted = estimator.fit(X, y)
                seconds = time.perf_counter() - started
                found.setdefault(learner, []).append(figures(fitted, X_test, y_test, seconds))
        for learner, each in found.items():
            means = {key: float(np.nanmean([own[key] for own in each])) for key in each[0]}
            shares: dict[str, Any] = {key: f"{means.pop(key):.1%}" for key in ("accepted", "right among these")}
            rounded = {key: round(value, 4) for key, value in means.items()}
            records.append({"set": name, "learner": learner} | rounded | shares)
    return records


def parts(smallest: bool) -> Parts:
    return {"tables": lambda: {"tables": compared(smallest)}}
