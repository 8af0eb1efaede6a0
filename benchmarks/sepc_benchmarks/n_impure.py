"""How many rows of other labels an ellipsoid may hold: fixed choices, and the best by inner cross-validation ("auto").

Five-fold, on at most 400 rows of each data set, drawn at random, numeric columns. "geometric" is the
geometric mean over the sets of (AURC + 0.002), "best" how often a choice has the lowest AURC or ties with it.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.metrics import aurc
from sepc_benchmarks.accuracy import rows_of
from sepc_benchmarks.measure import arguments, save, show

SETS = (
    *("iris", "wdbc", "banknote_authentication", "blood_transfusion", "ecoli", "glass", "haberman", "heart_cleveland"),
    *("htru2", "ilpd", "parkinsons", "vehicle", "vertebral_column_2c"),
)
CHOICES = (0, 2, 0.05, 0.1, 0.2, 0.4)
TRIED_INSIDE = (2, 0.05, 0.2)
AUTO = "auto"
MOST_ROWS = 400


def out_of_fold(n_impure: int | float, X: np.ndarray, y: np.ndarray, n_folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether labels were right and their trust, of rows left out."""
    correct, trust = np.empty(len(y), dtype=bool), np.empty(len(y))
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        decisions = SEPClassifier(n_impure).fit(X[train], y[train]).decide(X[test])
        correct[test], trust[test] = decisions.label == y[test], decisions.trust
    return correct, trust


def chosen_inside(X: np.ndarray, y: np.ndarray) -> int | float:
    """The choice with the lowest AURC over three inner folds."""
    return min(TRIED_INSIDE, key=lambda n_impure: aurc(*out_of_fold(n_impure, X, y, 3)))


def with_auto(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    correct, trust = np.empty(len(y), dtype=bool), np.empty(len(y))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        best = chosen_inside(X[train], y[train])
        decisions = SEPClassifier(best).fit(X[train], y[train]).decide(X[test])
        correct[test], trust[test] = decisions.label == y[test], decisions.trust
    return correct, trust


def main() -> None:
    options = arguments(__doc__)
    warnings.filterwarnings("ignore", category=FlatSetWarning)
    names, choices = (SETS[:1], (0, 2)) if options.smallest else (SETS, CHOICES)
    found: dict[int | float | str, list[tuple[float, float, float]]] = {choice: [] for choice in (*choices, AUTO)}
    for name in names:
        X, y = rows_of(name)
        kept = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        labels, counts = np.unique(y[kept], return_counts=True)
        kept = kept[np.isin(y[kept], labels[counts >= 8])]
        for choice in found:
            started = time.process_time()
            ends = with_auto(X[kept], y[kept]) if isinstance(choice, str) else out_of_fold(choice, X[kept], y[kept], 5)
            found[choice].append((aurc(*ends), float(ends[0].mean()), time.process_time() - started))
    areas = np.array([[one[0] for one in values] for values in found.values()])
    is_best = areas <= areas.min(axis=0) + 1e-12
    records = [
        {
            "n_impure": str(choice),
            "accuracy": round(float(np.mean([one[1] for one in values])), 4),
            "AURC": round(float(row.mean()), 4),
            "geometric": round(float(np.exp(np.mean(np.log(row + 0.002)))), 4),
            "best": f"{int(best.sum())} of {len(names)}",
            "seconds": round(sum(one[2] for one in values), 1),
        }
        for (choice, values), row, best in zip(found.items(), areas, is_best, strict=True)
    ]
    show("choices", records)
    save(options.output, {"choices": records})


if __name__ == "__main__":
    main()
