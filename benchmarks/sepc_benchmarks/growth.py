"""Whether more rows make the default better, and what a sample of them costs.

Growth: six normal features, the label is x0 + x1^2 + 0.3 noise > 0.8; the same 100,000 test rows for all sizes. Large
sets: 70 % of the rows for fitting, the others for testing, three splits. Samples: rows that repeat, of which the
weights see 40,000, beside a fit on as many random rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.estimators.sep.weighing import WEIGHED_ROWS
from sepc.metrics import aurc, ece
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

Table = list[dict[str, Any]]
Rows = tuple[NDArray[np.float64], NDArray[Any]]

N_TEST = 100_000
MOST_RF_ROWS = 100_000  # a forest of a million rows takes minutes and says nothing here


def noisy(n: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 0.8).astype(int)


def learners(n: int) -> dict[str, Any]:
    found = {"SEP-C": SEPClassifier(), "HGB": HistGradientBoostingClassifier(random_state=0)}
    if n <= MOST_RF_ROWS:
        found["RF"] = RandomForestClassifier(100, random_state=0)
    return found


def tried(model: Any, train: Rows, test: Rows) -> dict[str, float]:
    """Accuracy, AURC, ECE, share accepted at 0.95 and right among these, and seconds of the fit."""
    started = time.process_time()
    model.fit(*train)
    seconds = time.process_time() - started
    probabilities = model.predict_proba(test[0])
    right, trust = model.classes_[probabilities.argmax(axis=1)] == test[1], probabilities.max(axis=1)
    accepted = trust >= 0.95
    size = {"ellipsoids": model.model_.n_ellipsoids} if isinstance(model, SEPClassifier) else {}
    return {
        "accuracy": float(right.mean()),
        "AURC": aurc(right, trust),
        "ECE": ece(right, trust),
        "accepted": float(accepted.mean()),
        "right among these": float(right[accepted].mean()),
        "fit, s": seconds,
        **size,
    }


def mean_of(records: Table) -> dict[str, float]:
    return {name: float(np.mean([record[name] for record in records])) for name in records[0]}


def growth(sizes: tuple[int, ...], seeds: range) -> Table:
    found: Table = []
    test = noisy(N_TEST, 10_000)
    for n in sizes:
        for name in learners(n):
            runs = [tried(learners(n)[name], noisy(n, seed), test) for seed in seeds]
            found.append({"rows": n, "model": name, **mean_of(runs)})
    return found


def large_sets(names: tuple[str, ...], seeds: range) -> Table:
    found: Table = []
    for name in names:
        data = load(name)
        X, y = data.numeric.to_numpy(dtype=float), np.asarray(data.target)
        splits = [train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y) for seed in seeds]
        for model in learners(len(X)):
            runs = [tried(learners(len(X))[model], (a, c), (b, d)) for a, b, c, d in splits]
            found.append({"set": name, "rows": len(splits[0][0]), "model": model, **mean_of(runs)})
    return found


def counts(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.poisson([1.0, 2.0, 3.0], size=(n, 3)).astype(float)


def ratings(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.binomial(4, rng.beta(2.0, 2.0, size=(n, 1)), size=(n, 6)).astype(float)


def one_hot(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    shares = np.array([0.6, 0.2, 0.1, 0.07, 0.03])
    return np.concatenate([np.eye(5)[rng.choice(5, size=n, p=shares)] for _ in range(3)], axis=1)


def samples(
    kinds: Mapping[str, Callable[[int, np.random.Generator], NDArray[np.float64]]], n: int, seeds: range
) -> Table:
    """The default on all rows, whose weights see a sample, beside fits on as many random rows."""
    found: Table = []
    for kind, draw in kinds.items():
        for seed in seeds:
            rng = np.random.default_rng(seed)
            slopes = rng.normal(size=draw(1, rng).shape[1:])
            rows = [_labelled(draw(size, rng), slopes, rng) for size in (n, N_TEST)]
            few = (rows[0][0][:WEIGHED_ROWS], rows[0][1][:WEIGHED_ROWS])
            for name, train in (("all rows, sampled inside", rows[0]), ("as many random rows", few)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FlatSetWarning)
                    found.append(
                        {"columns": kind, "seed": seed, "fit on": name, **tried(SEPClassifier(), train, rows[1])}
                    )
    return found


def _labelled(X: NDArray[np.float64], slopes: NDArray[np.float64], rng: np.random.Generator) -> Rows:
    scores = X @ slopes
    return X, (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-2.0 * (scores - scores.mean())))).astype(int)


def main() -> None:
    options = arguments(__doc__)
    kinds = {"counts": counts, "ratings": ratings, "one-hot": one_hot}
    if options.smallest:
        results = {
            "growth": growth((300,), range(1)),
            "samples": samples({"counts": counts}, 2_000, range(1)),
        }
    else:
        results = {
            "growth": growth((10**3, 10**4, 10**5, 10**6), range(3)),
            "large": large_sets(("magic_gamma_telescope", "electricity"), range(3)),
            "samples": samples(kinds, 300_000, range(3)),
        }
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
