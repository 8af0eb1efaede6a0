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


def merged(rng: np.random.Generator, into: str, restart: bool = False) -> bool:
    """Workers count, are merged, and go on: always into the same monitor, or into a fresh one each time."""
    total = started(rng, n=N_REFERENCE)
    workers = [total.fresh() for _ in range(N_WORKERS)]
    for _ in range(N_ROUNDS):
        for worker in workers:
            X = normal(rng, PER_ROUND)
            worker.update(X, labels_of(rng, X))
        if restart:
            workers, total = [reloaded(worker) for worker in workers], reloaded(total)
        now = (total if into == "total" else total.fresh()).merge(*workers)
        total = now if into == "total" else total
        if now.alarms:
            return True
    return False


def in_pairs(rng: np.random.Generator) -> bool:
    """Workers are merged in pairs and the pairs with one another, again and again."""
    first = started(rng, n=N_REFERENCE)
    workers = [first.fresh() for _ in range(4)]
    pairs, total = [first.fresh(), first.fresh()], first
    for _ in range(N_ROUNDS):
        for worker in workers:
            X = normal(rng, PER_ROUND)
            worker.update(X, labels_of(rng, X))
        pairs = [pairs[0].merge(*workers[:2]), pairs[1].merge(*workers[2:])]
        total = total.merge(*pairs)
        if total.alarms:
            return True
    return False


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, FALSE_ALARMS)
    yield make("workers merged into a fresh monitor, twelve times", partial(merged, into="fresh"))
    yield make("workers merged into the same monitor, twelve times", partial(merged, into="total"))
    yield make("merged again, all saved and loaded between", partial(merged, into="total", restart=True))
    yield make("workers merged in pairs, twelve times", in_pairs)
