"""Tables as people have them, categories and gaps included, beside HGB; and weights beside repeated rows.

Each set is split five times, 70 % for training. Nothing is tuned. HGB takes the same table, with its categories; its
trust is the largest class probability. A row is accepted with a trust of at least 0.95.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.metrics import aurc, ece
from sepc.views.outcomes import class_scores, warnings_of
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

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


def compared(small: bool) -> list[dict[str, Any]]:
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


def weighed_and_repeated(small: bool) -> list[dict[str, Any]]:
    """A weight of 0 to 3 for each training row, beside as many copies of it."""
    records = []
    for name in (
        ("ilpd", "heart_cleveland") if small else ("vehicle", "banknote_authentication", "wine_quality_red", *SETS)
    ):
        X, y = table_of(name)
        X, y = X.dropna()[:3_000], y[X.notna().all(axis=1)][:3_000]
        weights = np.random.default_rng(0).integers(0, 4, len(y))
        copies = np.repeat(np.arange(len(y)), weights)
        weighed = SEPClassifier().fit(X, y, sample_weight=weights).decide(X)
        repeated = SEPClassifier().fit(X.iloc[copies].reset_index(drop=True), y[copies]).decide(X)
        apart = float(np.abs(weighed.trust - repeated.trust).max())
        records.append(
            {
                "set": name,
                "categories": int((X.dtypes == "category").sum()),
                "labels equal": f"{np.mean(weighed.label == repeated.label):.2%}",
                "largest difference in trust": f"{apart:.1g}",
            }
        )
    return records


def rare_class(small: bool) -> list[dict[str, Any]]:
    """5,000 rows of one normal class and 50 of another, 1.5 deviations away in each of two features; five draws."""
    records = []
    for class_weight in (None, "balanced"):
        found, warned = [], 0
        for seed in range(1 if small else 5):
            rng = np.random.default_rng(seed)
            X, y = _rare_rows(rng, 500 if small else 5_000, 50)
            X_test, y_test = _rare_rows(rng, 20_000, 200)
            decisions = SEPClassifier(class_weight=class_weight).fit(X, y).decide(X_test)
            own = class_scores(decisions.label, decisions.accepted, y_test, np.array(["common", "rare"]))
            found.append([*(each.all_rows.recall or 0.0 for each in own), own[1].n_wrong_accepted])
            warned += len(warnings_of(own))
        common, rare, missed = np.mean(found, axis=0)
        records.append(
            {
                "class_weight": str(class_weight),
                "found of the common class": f"{common:.1%}",
                "found of the rare class": f"{rare:.1%}",
                "of 200 rare rows, accepted as common": round(float(missed), 1),
                "draws with a warning": f"{warned} of {len(found)}",
            }
        )
    return records


def _rare_rows(rng: np.random.Generator, n: int, n_rare: int) -> tuple[np.ndarray, np.ndarray]:
    rows = rng.normal(size=(n + n_rare, 2))
    rows[n:] += 1.5
    return rows, np.repeat(["common", "rare"], [n, n_rare])


def main() -> None:
    options = arguments(__doc__)
    warnings.filterwarnings("ignore", category=FlatSetWarning)
    small = options.smallest
    results = {"tables": compared(small), "weights": weighed_and_repeated(small), "rare": rare_class(small)}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
