"""Certificates of regions: one region, hundreds, and regions of a row or two."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from sepc import SelectiveClassifier, SEPClassifier
from sepc_benchmarks.attacking.attack import Attack, Promise
from sepc_benchmarks.attacking.levels import LABEL, Levels, frozen

CERTIFICATES = Promise(
    "certificates of regions",
    "howto/promises.md",
    "no region is right less often than its certificate says",
    "held-out rows are independent and like later ones; none of them trained the model",
)


def broken(rng: np.random.Generator, levels: Levels, n: int, confidence: float = 0.95, in_order: bool = False) -> bool:
    """Whether any certificate is above the true accuracy; each level is a region."""
    X, y = levels.draw(rng, n)
    if in_order:
        order = np.argsort(y == X[:, LABEL], kind="stable")
        X, y = X[order], y[order]
    selective = SelectiveClassifier(frozen(0, 9, with_regions=True), confidence=confidence).fit(X[:1], y[:1])
    found = selective.certificates(X, y)
    return bool((found.accuracy_at_least > 1.0 - levels.error[found.region]).any())


@cache
def fitted() -> tuple[Any, Any, Any]:
    """A partition, and a finite set of rows that it was not fitted on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=6000) > 0).astype(int)
    model = SEPClassifier(trust="counts", max_ellipsoids=10).fit(X[:1000], y[:1000])
    return SelectiveClassifier(model, random_state=0).fit(X[:1000], y[:1000]), X[1000:], y[1000:]


def of_a_partition(rng: np.random.Generator) -> bool:
    """Rows drawn with replacement; the truth is the accuracy of the regions in the whole set."""
    selective, X, y = fitted()
    drawn = rng.integers(len(y), size=1000)
    found, decided = selective.certificates(X[drawn], y[drawn]), selective.decide(X)
    true = [np.mean((decided.label == y)[decided.region == region]) for region in found.region]
    return bool((found.accuracy_at_least > true).any())


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, CERTIFICATES)
    yield make("one region", partial(broken, levels=Levels.of([0.9], 0.0201), n=386))
    halves = Levels.of(np.full(50, 0.9), 0.5)
    yield make("50 regions, half of the rows wrong", partial(broken, levels=halves, n=5000))
    tiny = Levels.of(np.full(300, 0.9), 0.988)
    yield make("300 regions of about two rows", partial(broken, levels=tiny, n=600))
    mixed = Levels.of(np.full(40, 0.9), np.linspace(0.02, 0.9, 40), np.arange(1, 41) / 820)
    yield make("40 regions of all sizes and rates", partial(broken, levels=mixed, n=2000))
    yield make("wrong rows first", partial(broken, levels=mixed, n=500, in_order=True))
    yield make("confidence 50 %", partial(broken, levels=halves, n=1000, confidence=0.5), allowed=0.5)
    yield make("regions of a partition", of_a_partition)
