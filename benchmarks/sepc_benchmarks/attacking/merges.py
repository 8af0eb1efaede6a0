"""False alarms of merged monitors, whose workers go on counting after they were merged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sepc.lifecycle import Monitor
from sepc_benchmarks.attacking.attack import Attack
from sepc_benchmarks.attacking.monitors import FALSE_ALARMS, labels_of, normal, started

# A large reference, so that rows counted twice would soon look like a change.
N_WORKERS, N_ROUNDS, PER_ROUND, N_REFERENCE = 2, 12, 100, 10_000


def reloaded(monitor: Monitor) -> Monitor:
    """What another process gets."""
    return Monitor.from_bytes(monitor.to_bytes(), monitor.model)


def merged(rng: np.random.Generator, restart: bool = False) -> bool:
    """Workers count, are merged, and go on."""
    total = started(rng, n=N_REFERENCE)
    workers = [total.fresh() for _ in range(N_WORKERS)]
    for _ in range(N_ROUNDS):
        for worker in workers:
            X = normal(rng, PER_ROUND)
            worker.update(X, labels_of(rng, X))
        if restart:
            workers, total = [reloaded(worker) for worker in workers], reloaded(total)
        if total.merge(*workers).alarms:
            return True
    return False


def in_pairs(rng: np.random.Generator) -> bool:
    """Workers are merged in pairs and the pairs with one another, again and again."""
    first = started(rng, n=N_REFERENCE)
    workers = [first.fresh() for _ in range(4)]
    for _ in range(N_ROUNDS):
        for worker in workers:
            X = normal(rng, PER_ROUND)
            worker.update(X, labels_of(rng, X))
        if first.merge(workers[0].merge(workers[1]), workers[2].merge(workers[3])).alarms:
            return True
    return False


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, FALSE_ALARMS)
    yield make("workers merged into a fresh monitor, twelve times", merged)
    yield make("merged again, all saved and loaded between", partial(merged, restart=True))
    yield make("workers merged in pairs, twelve times", in_pairs)
