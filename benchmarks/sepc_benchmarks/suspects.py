"""How well labels that were flipped are found, by our out-of-fold probabilities and ranking and by cleanlab's.

At most 2,000 rows of each table, of whose labels a share is replaced by another class drawn at random. Probabilities
are the out-of-fold ones of `SEPClassifier`, or five-fold cross-validated ones of scikit-learn's gradient boosting. Both
are ranked by `sepc` and by cleanlab. The score of `sepc` was chosen on ten of the tables; the others were set aside for
a test, with rows and flips drawn from another seed. If cleanlab is not installed, its published formulas for normalised
margin and self-confidence stand in, and the tables say so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from sepc import SEPClassifier
from sepc.looking.suspects import doubt, suspected_labels
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

try:
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores
except ImportError:
    find_label_issues = get_label_quality_scores = None

# The tables that the score was chosen on, those that it was not, and the seed of each.
CHOSEN = (
    *("wdbc", "banknote_authentication", "magic_gamma_telescope", "phoneme", "spambase", "page_blocks", "satimage"),
    *("adult", "vehicle", "heart_cleveland"),
)
OTHERS = (
    *("electricity", "htru2", "segment", "wine_quality_red", "german_credit_numeric", "australian_credit", "ilpd"),
    "mammographic_masses",
)
SETS = {"chosen on": (CHOSEN, 0), "others": (OTHERS, 1)}
SHARES = (0.05, 0.1, 0.2)
MOST_ROWS = 2_000

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sets = dict[str, tuple[tuple[str, ...], int]]


def known(name: str, most: int, seed: int) -> tuple[pd.DataFrame, Ints]:
    """Rows of a table, drawn at random and in their order, and the classes as numbers."""
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    else:
        data = load(name)
        X, y = data.features, data.target
    chosen = np.sort(np.random.default_rng(seed).permutation(len(X))[:most])
    return X.iloc[chosen].reset_index(drop=True), np.unique(np.asarray(y)[chosen], return_inverse=True)[1]


def flipped(y: Ints, share: float, seed: int) -> Ints:
    """The same labels, of which a share is replaced by one of the others."""
    rng, n_classes = np.random.default_rng((seed, round(100 * share))), int(y.max()) + 1
    chosen, labels = rng.permutation(len(y))[: round(share * len(y))], y.copy()
    labels[chosen] = (y[chosen] + rng.integers(1, n_classes, size=len(chosen))) % n_classes
    return labels


def of_partitions(X: pd.DataFrame, labels: Ints) -> Floats:
    return SEPClassifier(out_of_fold=True).fit(X, labels).out_of_fold_


def of_boosting(X: pd.DataFrame, labels: Ints) -> Floats:
    text = X.select_dtypes(exclude="number").columns
    table = X.astype(dict.fromkeys(text, "category"))
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return np.asarray(cross_val_predict(model, table, labels, method="predict_proba", cv=folds))


def rankings() -> dict[str, Callable[[Ints, Floats], Floats]]:
    """Scores that are high for doubtful labels."""
    ours: dict[str, Callable[[Ints, Floats], Floats]] = {"sepc": lambda labels, p: doubt(p, labels)}
    if get_label_quality_scores is None:
        return {**ours, "margin (formula)": _margin, "self-confidence (formula)": _self_confidence}
    return {
        **ours,
        "cleanlab, self-confidence": lambda labels, p: -get_label_quality_scores(labels, p, method="self_confidence"),
        "cleanlab, margin": lambda labels, p: -get_label_quality_scores(labels, p, method="normalized_margin"),
        "cleanlab, entropy": lambda labels, p: (
            -get_label_quality_scores(labels, p, method="confidence_weighted_entropy")
        ),
        "cleanlab, margin, adjusted": lambda labels, p: (
            -get_label_quality_scores(labels, p, method="normalized_margin", adjust_pred_probs=True)
        ),
    }


def _self_confidence(labels: Ints, p: Floats) -> Floats:
    return np.asarray(1.0 - p[np.arange(len(p)), labels])


def _margin(labels: Ints, p: Floats) -> Floats:
    each, others = np.arange(len(p)), p.copy()
    others[each, labels] = -1.0
    return np.asarray(others.max(axis=1) - p[each, labels])


def choices() -> dict[str, Callable[[Ints, Floats], Ints]]:
    """Which rows each library calls mislabelled."""
    ours = {"sepc": lambda labels, p: suspected_labels(p, labels, np.arange(p.shape[1])).rows}
    if find_label_issues is None:
        return ours
    return {
        **ours,
        "cleanlab": lambda labels, p: find_label_issues(
            labels, p, return_indices_ranked_by="self_confidence", n_jobs=1
        ),
    }


def timed(task: Callable[[Ints, Floats], Any], labels: Ints, p: Floats) -> tuple[Any, float]:
    """What a task gives, and the milliseconds it took."""
    started = time.perf_counter()
    found = task(labels, p)
    return found, 1000.0 * (time.perf_counter() - started)


def measured(sets: Sets, shares: tuple[float, ...], most: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Figures of each table, of the rankings, and of the rows that are called mislabelled."""
    seconds, ranked, called = [], [], []
    for kind, name, seed in ((kind, name, seed) for kind, (names, seed) in sets.items() for name in names):
        X, y = known(name, most, seed)
        for share in shares:
            labels = flipped(y, share, seed)
            wrong, given = labels != y, {"sets": kind, "set": name, "rows": len(y), "flipped": share}
            for model, probabilities in (("SEPClassifier", of_partitions), ("boosting", of_boosting)):
                started = time.process_time()
                p = probabilities(X, labels)
                seconds.append({**given, "probabilities": model, "seconds": time.process_time() - started})
                here = {**given, "probabilities": model}
                for ranking, score in rankings().items():
                    found, ms = timed(score, labels, p)
                    ranked.append({**here, "ranking": ranking, **_ranked(found, wrong), "ms": ms})
                for library, choose in choices().items():
                    found, ms = timed(choose, labels, p)
                    called.append({**here, "library": library, **_called(found, wrong), "ms": ms})
        print(f"{name} done", file=sys.stderr, flush=True)
    return seconds, ranked, called


def _ranked(score: Floats, wrong: NDArray[np.bool_]) -> dict[str, float]:
    top = np.argsort(-score, kind="stable")[: int(wrong.sum())]
    return {"precision": float(wrong[top].mean()), "AUPRC": float(average_precision_score(wrong, score))}


def _called(rows: Ints, wrong: NDArray[np.bool_]) -> dict[str, Any]:
    n_found = int(wrong[rows].sum())
    return {"called": len(rows), "precision": n_found / max(1, len(rows)), "recall": n_found / int(wrong.sum())}


def means(records: list[dict[str, Any]], by: tuple[str, ...]) -> list[dict[str, Any]]:
    """Records averaged over the tables that the score was chosen on, and over the others."""
    table = pd.DataFrame(records).drop(columns=[name for name in ("rows", "flipped") if name not in by])
    return table.groupby(["sets", *by], sort=False).mean(numeric_only=True).reset_index().to_dict("records")


def main() -> None:
    options = arguments(__doc__)
    smallest: Sets = {"chosen on": (("wdbc",), 0)}
    sets, shares, most = (smallest, (0.1,), 200) if options.smallest else (SETS, SHARES, MOST_ROWS)
    seconds, ranked, called = measured(sets, shares, most)
    results = {
        "summary": means(ranked, ("probabilities", "ranking")),
        "rankings": means(ranked, ("flipped", "probabilities", "ranking")),
        "called": means(called, ("flipped", "probabilities", "library")),
        "seconds": means(seconds, ("flipped", "probabilities")),
        "rankings of each set": ranked,
        "called of each set": called,
        "seconds of each set": seconds,
    }
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
