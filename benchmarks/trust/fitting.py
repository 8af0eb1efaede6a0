"""One fold: fit, decide about the rows left out, keep the arrays. Runs in a process of its own."""

from __future__ import annotations

import signal
import time
import warnings
from typing import Any

import numpy as np
from folds import LAYERS, Fold, Folds
from learners import BASES, FOREST, LEARNERS, label_and_trust
from scores import all_scores
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from suite import rows_of

LIMIT_SECONDS = 120


def run_fold(fold: Fold, folds: Folds) -> None:
    """Fit one fold; the system ends the process, compiled code included, once a fit has used up its seconds.

    The seconds are those of the processor, so that a busy machine makes nobody too slow.
    """
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    rows = rows_of(fold.data_set, folds.folder)
    splitter = StratifiedKFold(fold.n_folds, shuffle=True, random_state=fold.seed)
    train, test = list(splitter.split(rows.X, rows.y))[fold.fold]
    given = (rows.X[train], rows.y[train], rows.X[test], rows.y[test])
    if fold.learner == LAYERS:
        _run_layers(fold, folds, test, *given)
    else:
        _run_learner(fold, folds, test, *given)


def _run_learner(fold: Fold, folds: Folds, test: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> Any:
    _start_clock()
    started = time.process_time()
    model = clone(LEARNERS[fold.learner]).fit(X, y)
    label, trust = label_and_trust(model, X_new)
    seconds = time.process_time() - started
    folds.store(fold, {"rows": test, "correct": label == y_new, "trust": trust}, seconds)
    return model


def _run_layers(fold: Fold, folds: Folds, test: Any, X: Any, y: Any, X_new: Any, y_new: Any) -> None:
    """Track B, each base model with seconds of its own; the forest they share is Track A's too."""
    forest_fold = Fold(fold.data_set, FOREST, fold.seed, fold.fold, fold.n_folds)
    started = time.process_time()
    forest = _run_learner(forest_fold, folds, test, X, y, X_new, y_new)
    arrays: dict[str, Any] = {"rows": test}
    for name, base in BASES.items():
        _start_clock()
        label, scores = all_scores(base, forest, X, y, X_new)
        arrays[f"{name} correct"] = label == y_new
        arrays |= {f"{name} {scorer}": np.asarray(score) for scorer, score in scores.items()}
    folds.store(fold, arrays, time.process_time() - started)


def _start_clock() -> None:
    signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)
