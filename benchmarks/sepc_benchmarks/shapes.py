"""How long does a fit take on tables of many shapes, beside histogram gradient boosting on the same rows? Five minutes.

Seconds of processor time on one thread. Made tables are judged on their own rows, real ones, of up to 20,000 rows, on
the 30 % left out: accuracy, area under the risk-coverage curve, share accepted and right among them, and the share
accepted of rows with one value far away. The second table is a `TrustedClassifier` around boosting beside five folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, TrustedClassifier
from sepc.metrics import aurc
from sepc_benchmarks.measure import Parts, Tables
from sepc_benchmarks.shape_tables import REAL, SHAPES, real

MIN_TRUST, N_FAR, FOLDS = 0.95, 500, 5
# How far away the values of far rows are, in ranges of their column.
FAR = 5.0

LAYERED = ("german_credit_numeric", "vehicle", "satimage", "adult")


def coded(X: pd.DataFrame) -> pd.DataFrame:
    """The table with texts as codes, which boosting needs."""
    return X.apply(lambda cells: cells if cells.dtype.kind in "fiub" else cells.astype("category").cat.codes)


def seconds(fit: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of a fit, and what it returns."""
    start = time.process_time()
    fitted = fit()
    return time.process_time() - start, fitted


def boosted() -> HistGradientBoostingClassifier:
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


def parts(smallest: bool) -> Parts:
    def shapes() -> Tables:
        return {"shapes": [tried(name) for name in (["phoneme"] if smallest else SHAPES)]}

    def layers() -> Tables:
        return {"layers": [layered(name) for name in (["vehicle"] if smallest else LAYERED)]}

    return {"shapes": shapes, "layers": layers}
