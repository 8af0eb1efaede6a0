"""How long a fit takes on tables of many shapes, beside histogram gradient boosting on the same rows and one thread.

Seconds of processor time, so that a busy machine disturbs little. Made tables: zeros and ones, more columns than rows,
gaps, many classes, long texts, large tables, noise. Real ones: up to 20,000 rows, of which 70 % are fitted. The others
are the test: accuracy, area under the risk-coverage curve, share accepted and share of right labels among them, and
which share of rows with one value far away in one column is accepted nevertheless. `--layers` fits a
`TrustedClassifier` around boosting beside five folds of boosting alone. All shapes take about five minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, TrustedClassifier
from sepc.datasets import load
from sepc.metrics import aurc
from sepc_benchmarks.measure import save, show

MOST_ROWS, MIN_TRUST, N_FAR, FOLDS = 20_000, 0.95, 500, 5
# How far away the values of far rows are, in ranges of their column.
FAR = 5.0

Table = tuple[pd.DataFrame, Any]


def labelled(X: Any, y: Any) -> Table:
    """A table with named columns, and labels."""
    X = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return X, np.asarray(y)


def noisy_line(X: Any, random: np.random.Generator) -> Any:
    """Labels by the sum of the first three columns, with noise."""
    score = np.nan_to_num(X[:, :3]).sum(axis=1)
    return (score + 0.5 * score.std() * random.normal(size=len(X)) > np.median(score)).astype(int)


def normal(n: int, d: int, gaps: float = 0.0) -> Table:
    """Normal columns, of which a share of the values is missing."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    y = noisy_line(X, random)
    X[random.random((n, d)) < gaps] = np.nan
    return labelled(X, y)


def binary(n: int, d: int) -> Table:
    """Columns of zeros and ones."""
    random = np.random.default_rng(0)
    X = (random.random((n, d)) < random.uniform(0.05, 0.5, d)).astype(float)
    score = X[:, :30] @ random.normal(size=30)
    return labelled(X, (score + 0.5 * random.normal(size=n) > np.median(score)).astype(int))


def whole(n: int, d: int) -> Table:
    """Columns of small whole numbers."""
    random = np.random.default_rng(0)
    X = random.poisson(5.0, (n, d)).astype(float)
    return labelled(X, noisy_line(X, random))


def classes(n: int, d: int, n_classes: int) -> Table:
    """Normal classes around random centers."""
    random = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return labelled(2.0 * random.normal(size=(n_classes, d))[y] + random.normal(size=(n, d)), y)


def texts(n: int, d: int, n_values: int) -> Table:
    """Columns of texts; each value of the first three shifts the log-odds."""
    random = np.random.default_rng(0)
    codes = random.integers(n_values, size=(n, d))
    score = sum(random.normal(size=n_values)[codes[:, j]] for j in range(min(d, 3)))
    named = pd.DataFrame({f"x{j}": np.char.add("value ", codes[:, j].astype(str)) for j in range(d)})
    return labelled(named, (score + 0.5 * random.normal(size=n) > 0).astype(int))


def real(name: str) -> Callable[[], Table]:
    """A real table."""

    def read() -> Table:
        data = load(name)
        n = len(data.target)
        kept = np.random.default_rng(0).choice(n, min(n, MOST_ROWS), replace=False)
        return labelled(data.features.iloc[kept].reset_index(drop=True), np.asarray(data.target)[kept])

    return read


REAL = ("electricity", "adult", "magic_gamma_telescope", "phoneme", "wine_quality_white", "satimage", "covertype")
SHAPES: dict[str, Callable[[], Table]] = {name: real(name) for name in REAL} | {
    "whole numbers": lambda: whole(100_000, 12),
    "noise": lambda: (normal(100_000, 10)[0], np.random.default_rng(1).integers(2, size=100_000)),
    "zeros and ones": lambda: binary(10_000, 300),
    "wide": lambda: normal(200, 5_000),
    "gaps": lambda: normal(20_000, 30, 0.9),
    "gaps, few rows": lambda: normal(1_000, 30, 0.9),
    "texts": lambda: texts(5_000, 20, 250),
    "two keys": lambda: texts(20_000, 2, 10_000),
    "200 classes": lambda: classes(4_000, 8, 200),
}
LAYERED = ("german_credit_numeric", "vehicle", "satimage", "adult")


def coded(X: pd.DataFrame) -> pd.DataFrame:
    """The table with texts as codes, which boosting needs."""
    return X.apply(lambda cells: cells if cells.dtype.kind in "fiub" else cells.astype("category").cat.codes)


def seconds(fit: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a fit, and what it returns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        fitted = fit()
        return time.process_time() - start, fitted


def boosted() -> HistGradientBoostingClassifier:
    """The rival."""
    return HistGradientBoostingClassifier(random_state=0)


def far_rows(X: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """Test rows, each with one number far outside the range of its column, the columns in turn."""
    numbers = [name for name in X if X[name].dtype.kind in "fiu" and X[name].notna().any()]
    far = test.iloc[np.arange(N_FAR) % len(test)].reset_index(drop=True)
    far[numbers] = far[numbers].astype(float)
    for i in range(N_FAR if numbers else 0):
        values = X[name := numbers[i % len(numbers)]]
        far.loc[i, name] = values.max() + FAR * ((values.max() - values.min()) or 1.0)
    return far if numbers else far.iloc[:0]


def tried(name: str) -> dict[str, Any]:
    """One shape: seconds of both, and how good ours is on the rows left out."""
    X, y = SHAPES[name]()
    X, test, y, truth = train_test_split(X, y, test_size=0.3, random_state=0) if name in REAL else (X, X, y, y)
    rival, _ = seconds(lambda: boosted().fit(coded(X), y))
    ours, model = seconds(lambda: SEPClassifier().fit(X, y))
    some = np.arange(min(len(test), 6_000))
    decisions = model.decide(test.iloc[some])
    right, accepted = decisions.label == truth[some], decisions.trust >= MIN_TRUST
    far = far_rows(X, test)
    return {
        "shape": name,
        "rows": len(X),
        "columns": X.shape[1],
        "classes": len(model.classes_),
        "seconds": ours,
        "HGB": rival,
        "ratio": ours / rival,
        "ellipsoids": len(model.ellipsoids_),
        "in ellipsoids": model.model_.centers.shape[1],
        "accuracy": float(right.mean()),
        "AURC": float(aurc(right, decisions.trust)),
        "accepted": float(accepted.mean()),
        "right of these": float(right[accepted].mean()) if accepted.any() else None,
        "far accepted": float(model.decide(far).accepted.mean()) if len(far) else None,
    }


def layered(name: str) -> dict[str, Any]:
    """A trust layer around boosting beside five folds of boosting."""
    X, y = real(name)()
    X = coded(X)
    inside = sum(seconds(lambda: boosted().fit(X, y))[0] for _ in range(FOLDS))
    layer, _ = seconds(lambda: TrustedClassifier(boosted()).fit(X, y))
    return {"shape": name, "rows": len(X), "layer": layer, "five folds": inside, "ratio": layer / inside}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="one shape, to see that it runs")
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--layers", nargs="*", choices=LAYERED, default=[])
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    options = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {"shapes": [], "layers": []}
    for name in ["wide"] if options.smallest else options.shapes:
        results["shapes"].append(tried(name))
        show(name, results["shapes"][-1:])
    results["layers"] = [layered(name) for name in options.layers]
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
