"""Fits on a cluster beside the same rows in blocks and in one array, and on one worker beside two."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from sepc import SEPClassifier
from sepc.estimators.sep.training_set import GivenColumns, TrainingSet
from sepc.model.membership import squared_radii
from sepc.points import engines
from sepc_benchmarks.measure import Records, Tables
from sepc_benchmarks.scaling.data import Drawn, cluster, cpu_seconds, seconds_of_nothing
from sepc_benchmarks.scaling.scoring import on_dask

# A row whose squared radius in some ellipsoid is this near to 1 may fall on either side with another order of sums.
BOUNDARY = 1e-6
# The tables that the figures of a fit are divided into.
HEAD = ("rows", "fit_rows")
FIT = {
    "fit": (
        *("seconds", "seconds in memory", "x in memory", "x in memory, less empty passes"),
        *("processor seconds", "the same in memory"),
    ),
    "agreement": ("ellipsoids", "same as in blocks", "labels unlike memory's", "of these on a boundary"),
}
ARRAYS = ("centers", "roots", "owners", "isolated", "shift", "scale", "class_counts")


def classifier(most: int, **options: Any) -> SEPClassifier:
    """A classifier with at most this many ellipsoids."""
    return SEPClassifier(0.05, max_ellipsoids=most, **options)


def are_same(left: SEPClassifier, right: SEPClassifier) -> bool:
    a, b = left.model_, right.model_
    same = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ARRAYS)
    same = same and np.array_equal(a.table.counts, b.table.counts)
    assert a.weights is not None
    assert b.weights is not None
    weighed = zip(vars(a.weights).values(), vars(b.weights).values(), strict=True)
    return same and all(np.array_equal(one, other) for one, other in weighed)


def fit_on_points(model: SEPClassifier, training: TrainingSet) -> float:
    started = time.perf_counter()
    model._fit_training(training, model._settings())
    return time.perf_counter() - started


def fit_on_workers(client: Any, drawn: Drawn, most: int, **options: Any) -> tuple[SEPClassifier, dict[str, Any]]:
    model = classifier(most, **options)
    X, y = drawn.on_dask(client)
    busy, started = cpu_seconds(client), time.perf_counter()
    with Passes() as passes:
        training = TrainingSet.of_collection(X, y)
        del X, y
        seconds = time.perf_counter() - started + fit_on_points(model, training)
    return model, {
        "seconds": seconds,
        "processor seconds": cpu_seconds(client) - busy,
        "seconds of empty passes": passes.n * seconds_of_nothing(training.rows),
    }


class Passes:
    """How often this process waits for answers of the workers."""

    def __enter__(self) -> Passes:
        self.n, self.waiting = 0, engines.answers_of

        def answers(client: Any, futures: Any) -> Any:
            self.n += 1
            return self.waiting(client, futures)

        engines.answers_of = answers
        return self

    def __exit__(self, *_: object) -> None:
        engines.answers_of = self.waiting


def fit(client: Any, drawn: Drawn, most: int, n_new: int, fit_rows: int) -> dict[str, Any]:
    """The cluster beside blocks and beside one array; the workers first, so that this process is still small."""
    model, record = fit_on_workers(client, drawn, most, fit_rows=fit_rows)
    in_blocks, in_memory = classifier(most, fit_rows=fit_rows), classifier(most, fit_rows=fit_rows)
    found = drawn.in_blocks()
    fit_on_points(in_blocks, TrainingSet(found, found, found.labels, GivenColumns(drawn.d)))
    del found
    rows, labels = drawn.blocks()
    X, y = np.concatenate(rows), np.concatenate(labels)
    del rows, labels
    busy, started = cpu_seconds(), time.perf_counter()
    in_memory.fit(X, y)
    busy, memory_seconds = cpu_seconds() - busy, time.perf_counter() - started
    times = {
        "seconds in memory": memory_seconds,
        "x in memory": record["seconds"] / memory_seconds,
        "x in memory, less empty passes": (record["seconds"] - record["seconds of empty passes"]) / memory_seconds,
        "the same in memory": busy,
    }
    head = {"rows": f"{drawn.n:,} x {drawn.d}", "fit_rows": f"{fit_rows:,}"}
    proof = {"same as in blocks": are_same(model, in_blocks)} | differing(model, in_memory, n_new)
    return head | record | times | proof


def differing(model: SEPClassifier, other: SEPClassifier, n: int) -> dict[str, Any]:
    """How many new rows two models label differently, and how many of these lie on a boundary."""
    fitted = model.model_
    rows = 1.05 * Drawn(n, model.n_features_in_, 1).rows(0)
    differ = rows[model.predict(rows) != other.predict(rows)]
    squared = squared_radii(fitted.standardize(differ), fitted.centers, fitted.roots)
    on_boundary = (np.abs(squared - 1.0) < BOUNDARY).any(axis=1)
    told = {"ellipsoids": fitted.n_ellipsoids, "labels unlike memory's": f"{len(differ)} of {n:,}"}
    return told | {"of these on a boundary": int(on_boundary.sum())}


def fits(chosen: list[tuple[Drawn, int]], most: int, n_new: int) -> Tables:
    with cluster(2) as client:
        records = [fit(client, drawn, most, n_new, fit_rows) for drawn, fit_rows in chosen]
    return {title: [{name: one[name] for name in (*HEAD, *names)} for one in records] for title, names in FIT.items()}


def speedup(model: SEPClassifier, drawn: Drawn) -> Tables:
    """Scoring with one worker and with two."""
    records: Records = []
    for n_workers in (1, 2):
        with cluster(n_workers) as client:
            scored = on_dask(client, model, drawn)
        records.append({"workers": n_workers, "scored": scored["rows"], "seconds to score": scored["seconds"]})
    for record in records:
        record["speed-up"] = records[0]["seconds to score"] / record["seconds to score"]
    return {"speedup": records}
