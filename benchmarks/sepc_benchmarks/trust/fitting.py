"""One fold: fit, decide about the rows left out, keep the arrays. Runs in a process of its own."""

from __future__ import annotations

import signal
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from sepc_benchmarks.trust.folds import Fold, Folds
from sepc_benchmarks.trust.learners import KNOWN, LAYERS, SCORES, label_and_trust
from sepc_benchmarks.trust.remembered import Remembered
from sepc_benchmarks.trust.scores import OURS, all_scores

LIMIT_SECONDS, LIMIT_OF_A_SINGLE_SPLIT = 120, 900


def run_fold(fold: Fold, folds: Folds) -> None:
    """Fit one fold; the system ends the process, compiled code included, once a fit has used up its seconds.

    The seconds are those of the processor, so that a busy machine makes nobody too slow.
    """
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    rows = fold.rows(folds.folder)
    train, test = fold.split(rows)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_OF_A_SINGLE_SPLIT if fold.n_folds == 1 else LIMIT_SECONDS)
    run = _run_scores if fold.learner in SCORES else _run_layer if fold.learner in LAYERS else _run_learner
    found = run(fold, folds, rows.X[train], rows.y[train], rows.X[test], rows.y[test])
    folds.store(fold, {"rows": test, **found})


def _run_learner(fold: Fold, folds: Folds, X: Any, y: Any, X_new: Any, y_new: Any) -> dict[str, Any]:
    label, trust = label_and_trust(clone(KNOWN[fold.learner]).fit(X, y), X_new)
    return {"correct": label == y_new, "trust": trust}


def _run_scores(fold: Fold, folds: Folds, X: Any, y: Any, X_new: Any, y_new: Any) -> dict[str, Any]:
    label, scores = all_scores(_remembered(SCORES[fold.learner], folds), X, y, X_new)
    return {"correct": label == y_new} | {name: np.asarray(score) for name, score in scores.items()}


def _run_layer(fold: Fold, folds: Folds, X: Any, y: Any, X_new: Any, y_new: Any) -> dict[str, Any]:
    layer = clone(LAYERS[fold.learner])
    layer.set_params(estimator=_remembered(layer.estimator, folds))
    decisions = layer.fit(X, y).decide(X_new)
    return {"correct": decisions.label == y_new, OURS: np.asarray(decisions.trust)}


def _remembered(base: Any, folds: Folds) -> Remembered:
    return Remembered(base, folds.folder / "bases")
