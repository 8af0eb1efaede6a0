"""False alarms of a monitor, where nothing has changed: schedules of batches, restarts, merges and late labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.lifecycle import Monitor
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise

Array = NDArray[Any]
Draw = Callable[[np.random.Generator, int], Array]

FALSE_ALARMS = Promise(
    "false alarms of a monitor",
    "howto/monitor.md",
    "there is never an alarm",
    "rows are independent and like the reference; which labels come, and when, does not depend on them",
)
BATCH = 200


def normal(rng: np.random.Generator, n: int) -> Array:
    """Two features, nothing special."""
    return rng.normal(size=(n, 2))


def heavy_tailed(rng: np.random.Generator, n: int) -> Array:
    """Two features without a variance."""
    return rng.standard_t(1.5, size=(n, 2))


def tied(rng: np.random.Generator, n: int) -> Array:
    """Features of four values each, and one that is constant."""
    return np.column_stack([rng.integers(4, size=(n, 2)) - 1.5, np.ones(n)])


def labels_of(rng: np.random.Generator, X: Array) -> Array:
    """Labels that follow the first feature, with noise."""
    return (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)


@cache
def model_of(draw: Draw, n_ellipsoids: int) -> SEPClassifier:
    """A model, fitted once on other rows of the same source."""
    rng = np.random.default_rng(0)
    X = draw(rng, 600)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        return SEPClassifier(trust="counts", max_ellipsoids=n_ellipsoids).fit(X, labels_of(rng, X))


def started(
    rng: np.random.Generator, draw: Draw = normal, n: int = 500, n_ellipsoids: int = 2, confidence: float = 0.95
) -> Monitor:
    """A monitor with a reference of its own."""
    X = draw(rng, n)
    return Monitor(model_of(draw, n_ellipsoids), X, labels_of(rng, X), confidence=confidence)


def in_batches(
    rng: np.random.Generator, batches: int, size: int = BATCH, restart: bool = False, draw: Draw = normal, **how: Any
) -> bool:
    """Batch after batch, with labels; perhaps saved and loaded after each."""
    monitor = started(rng, draw, **how)
    for _ in range(batches):
        X = draw(rng, size)
        if monitor.update(X, labels_of(rng, X)):
            return True
        if restart:
            monitor = Monitor.from_bytes(monitor.to_bytes(), monitor.model)
    return False


def cut_by_what_they_show(rng: np.random.Generator) -> bool:
    """Rows are held back until they look unusual, and given then, as a batch."""
    monitor = started(rng)
    for _ in range(6):
        X = normal(rng, 100)
        while len(X) < 2000 and np.abs(X.sum(axis=0)).max() < 2.0 * np.sqrt(len(X)):
            X = np.concatenate([X, normal(rng, 100)])
        if monitor.update(X, labels_of(rng, X)):
            return True
    return False


def late_labels(rng: np.random.Generator, wait: str) -> bool:
    """Labels come up to three days after the rows: at random, or right ones first; or a day's labels wait for the last.

    The reference has all its labels.
    """
    monitor, late = started(rng), 3
    days = [normal(rng, BATCH) for _ in range(12)]
    labels = [labels_of(rng, X) for X in days]
    wrong = [monitor.model.predict(X) != y for X, y in zip(days, labels, strict=True)]
    delays = [rng.integers(late + 1, size=BATCH) if wait == "at random" else late * one for one in wrong]
    for today in range(len(days) + late):
        if today < len(days):
            monitor.update(days[today])
        for day in range(max(0, today - late), min(today + 1, len(days))):
            ready = delays[day] == today - day if wait != "for all" else np.full(BATCH, today - day == late)
            if ready.any() and monitor.update_labels(days[day][ready], labels[day][ready]):
                return True
    return bool(monitor.alarms)


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, FALSE_ALARMS)
    yield make("20 batches", partial(in_batches, batches=20))
    yield make("20 batches, confidence 50 %", partial(in_batches, batches=20, confidence=0.5), allowed=0.5)
    yield make("one row at a time", partial(in_batches, batches=80, size=1, n=30))
    yield make("a reference of 20 rows", partial(in_batches, batches=20, n=20))
    yield make("a reference of 20,000 rows", partial(in_batches, batches=10, n=20_000))
    yield make("50 regions", partial(in_batches, batches=20, n_ellipsoids=10))
    yield make("saved and loaded after every batch", partial(in_batches, batches=20, restart=True))
    yield make("features without a variance", partial(in_batches, batches=20, draw=heavy_tailed))
    yield make("tied and constant features", partial(in_batches, batches=20, draw=tied))
    yield make("batches cut where rows look unusual", cut_by_what_they_show)
    yield make("labels late at random", partial(late_labels, wait="at random"))
    yield make("wrong labels late, a day's labels given together", partial(late_labels, wait="for all"))
    yield make("wrong labels late", partial(late_labels, wait="for wrong"), kind=Kind.RULED_OUT)
