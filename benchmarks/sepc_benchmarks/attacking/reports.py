"""The interval that a report gives for how often accepted labels are right."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import sepc
from sepc_benchmarks.attacking.attack import Attack, Promise
from sepc_benchmarks.attacking.levels import LABEL, Levels, ReadsItsRows

INTERVAL = Promise(
    "interval of a report",
    "howto/report.md",
    "the share of accepted labels that are right lies in its 95 % interval",
    "held-out rows are independent and like later ones",
)


def missed(rng: np.random.Generator, levels: Levels, n: int, in_order: bool = False) -> bool:
    """Whether the true share of right labels lies outside of the interval."""
    X, y = levels.draw(rng, n)
    order = np.argsort(y == X[:, LABEL], kind="stable") if in_order else np.arange(n)
    found = sepc.report(ReadsItsRows().fit(X, np.array([0, levels.other])), X[order], y[order]).figures.held_out
    assert found.low is not None
    assert found.high is not None
    return not found.low <= 1.0 - levels.risk(np.ones(len(levels.rows), dtype=bool)) <= found.high


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, INTERVAL)
    yield make("2 % wrong, 400 rows", partial(missed, levels=Levels.of([0.6, 0.9], 0.02), n=400))
    yield make("half of the rows wrong", partial(missed, levels=Levels.of(np.linspace(0.5, 0.9, 20), 0.5), n=1000))
    yield make("ten rows, wrong ones first", partial(missed, levels=Levels.of(0.9, 0.3), n=10, in_order=True))
