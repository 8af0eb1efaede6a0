"""Accuracy, and how well trust ranks errors (AURC): `SEPClassifier` beside common classifiers, five-fold.

Numeric columns of the data sets in SEPC_DATA_HOME, complete rows, at most 2,000 of them drawn at random; all features
standardised for the peers that need it; no model is tuned. The peers' confidence is their largest class probability.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sepc import SEPClassifier
from sepc.metrics import aurc
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

SETS = (
    "banknote_authentication",
    "blood_transfusion",
    "ecoli",
    "german_credit_numeric",
    "glass",
    "haberman",
    "ionosphere",
    "magic_gamma_telescope",
    "page_blocks",
    "parkinsons",
    "phoneme",
    "segment",
    "vehicle",
    "vertebral_column_2c",
    "wine_quality_red",
    "yeast",
)
MOST_ROWS = 2_000
FEWEST_OF_A_CLASS = 5

LEARNERS: dict[str, Any] = {
    "SEP-C": SEPClassifier(),
    "as published": SEPClassifier.as_published(),
    "DT": DecisionTreeClassifier(max_depth=10, random_state=0),
    "kNN": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    "QDA": make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)),
    "SVC": make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
    "RF": RandomForestClassifier(100, random_state=0),
}


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in ("iris", "wdbc"):
        return {"iris": load_iris, "wdbc": load_breast_cancer}[name](return_X_y=True)
    data = load(name)
    X, y = data.numeric.to_numpy(dtype=float), np.asarray(data.target)
    complete = np.isfinite(X).all(axis=1)
    labels, counts = np.unique(y[complete], return_counts=True)
    kept = np.flatnonzero(complete & np.isin(y, labels[counts >= FEWEST_OF_A_CLASS]))
    if len(kept) > MOST_ROWS:
        kept = np.random.default_rng(0).choice(kept, MOST_ROWS, replace=False)
    return X[kept], y[kept]


def scores(learner: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Out-of-fold accuracy and AURC, and the seconds of fitting and scoring."""
    correct, trust = np.empty(len(y), dtype=bool), np.empty(len(y))
    started = time.perf_counter()
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = clone(learner).fit(X[train], y[train])
        if isinstance(model, SEPClassifier):
            decisions = model.decide(X[test])
            label, trust[test] = decisions.label, decisions.trust
        else:
            probabilities = model.predict_proba(X[test])
            label, trust[test] = model.classes_[probabilities.argmax(axis=1)], probabilities.max(axis=1)
        correct[test] = label == y[test]
    return float(correct.mean()), aurc(correct, trust), time.perf_counter() - started


def main() -> None:
    options = arguments(__doc__)
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=UserWarning)
    names = ("iris",) if options.smallest else ("iris", "wdbc", *SETS)
    accuracy, ranking = [], []
    total = dict.fromkeys(LEARNERS, 0.0)
    for name in names:
        X, y = rows_of(name)
        found = {learner: scores(LEARNERS[learner], X, y) for learner in LEARNERS}
        head = {"data set": name, "rows": len(y), "features": X.shape[1], "classes": len(np.unique(y))}
        accuracy.append(head | {learner: round(value[0], 3) for learner, value in found.items()})
        ranking.append(head | {learner: round(value[1], 4) for learner, value in found.items()})
        for learner, value in found.items():
            total[learner] += value[2]
    for table, best in ((accuracy, np.max), (ranking, np.min)):
        values = np.array([[row[learner] for learner in LEARNERS] for row in table])
        blank = {"data set": "", "rows": "", "features": "", "classes": ""}
        won = np.sum(values == best(values, axis=1, keepdims=True), axis=0)
        table.append(
            blank | {"data set": "mean"} | dict(zip(LEARNERS, values.mean(axis=0).round(4).tolist(), strict=True))
        )
        table.append(blank | {"data set": "best or tied"} | dict(zip(LEARNERS, won.tolist(), strict=True)))
    results = {
        "accuracy": accuracy,
        "aurc": ranking,
        "seconds": [{"learner": name, "seconds, all sets": value} for name, value in total.items()],
    }
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
