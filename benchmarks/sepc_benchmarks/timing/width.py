"""Fits and scores of more features and more classes, and of large sets of many classes."""

from __future__ import annotations

from functools import partial

from sepc_benchmarks.measure import Records, Tables
from sepc_benchmarks.timing.data import TEST_SEED, Split, first_letters, noisy, split_of
from sepc_benchmarks.timing.fits import timed_fits
from sepc_benchmarks.timing.learners import HGB, OURS, RF, made
from sepc_benchmarks.timing.turns import in_turns


def features(widths: tuple[int, ...], n: int, n_score: int, rounds: int) -> Tables:
    """The same number of rows with more and more features."""
    records: Records = []
    for d in widths:
        X, y = noisy(n, d)
        models = made(OURS, HGB)
        fitted = timed_fits(models, X, y, rounds)
        new, new_labels = noisy(n_score, d, TEST_SEED)
        scored = in_turns({name: partial(model.predict_proba, new) for name, model in models.items()}, rounds)
        split = Split(X, y, new, new_labels)
        for name, model in models.items():
            head = {"features": d, "rows": n, "model": name, "seconds to fit": fitted[name].seconds}
            told = {"seconds to score": scored[name].seconds, "accuracy": split.accuracy(model)}
            size = {"ellipsoids": model.model_.n_ellipsoids} if name == OURS else {}
            records.append(head | told | size | {"runs": fitted[name].n_runs})
    return {"features": records}


def classes(numbers: tuple[int, ...], n: int, rounds: int) -> Tables:
    """The same number of rows of more and more letters."""
    records: Records = []
    for n_classes in numbers:
        X, y = first_letters(n_classes, n)
        models = made(OURS, HGB, RF)
        fitted = timed_fits(models, X, y, rounds)
        scored = in_turns({name: partial(model.predict_proba, X) for name, model in models.items()}, rounds)
        for name, model in models.items():
            head = {"classes": n_classes, "rows": len(X), "model": name, "seconds to fit": fitted[name].seconds}
            size = {"ellipsoids": model.model_.n_ellipsoids} if name == OURS else {}
            records.append(head | {"seconds to score": scored[name].seconds} | size | {"runs": fitted[name].n_runs})
    return {"classes": records}


def large(name: str, n_train: int, most_test: int, rounds: int, peers: tuple[str, ...]) -> Tables:
    """A large set of many classes, with times and accuracies."""
    split = split_of(name, n_train, most_test)
    models = made(OURS, *peers)
    fitted = timed_fits(models, split.X, split.y, rounds)
    scored = in_turns({one: partial(model.predict_proba, split.X_test) for one, model in models.items()}, rounds)
    shape = f"{len(split.X):,} x {split.X.shape[1]}"
    told = {one: {"data set": name, "rows": shape, "classes": int(split.y.max()) + 1, "model": one} for one in models}
    return {
        name: [
            told[one]
            | {"seconds to fit": seconds, "x HGB": seconds / fitted[HGB].seconds, "x RF": seconds / fitted[RF].seconds}
            | {"accuracy": split.accuracy(models[one]), "microseconds a row": _microseconds(scored[one].seconds, split)}
            | {"runs": n_runs}
            for one, (seconds, n_runs) in fitted.items()
        ]
    }


def _microseconds(seconds: float, split: Split) -> float:
    return 1e6 * seconds / len(split.X_test)
