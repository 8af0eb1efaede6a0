"""Audits: the share of false alarms among failing regions, and the chance of any false cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from sepc import SEPClassifier
from sepc.lifecycle import audit
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise
from sepc_benchmarks.attacking.levels import REGION, TRUST, Array, ReadsItsRows

REGIONS = Promise(
    "false alarms among failing regions",
    "howto/audit.md",
    "the expected share of false alarms among failing regions is at most `fdr`",
    "rows are independent, and none of them trained the model",
    0.1,
)
CLUSTERS = Promise(
    "false clusters",
    "howto/audit.md",
    "the chance of any false cluster is at most `fdr`",
    "rows are independent, and none of them trained the model",
    0.1,
)


def rows_of(trust: Array, region: Array, place: Array) -> Array:
    """Rows of label 0 with this trust and region, at these places."""
    return np.column_stack([np.zeros(len(trust)), trust, region, place])


def labels_of(rng: np.random.Generator, X: Array, risk: Array | None = None) -> Array:
    """Labels that are wrong as often as the rows claim, or at this risk."""
    return (rng.random(len(X)) < (1.0 - X[:, TRUST] if risk is None else risk)).astype(int)


def audited(X: Array, y: Array, with_regions: bool) -> Any:
    """The audit of rows that say themselves what the model says of them."""
    return audit(ReadsItsRows(with_regions).fit(X, np.array([0, 1])), X, y)


def one_is_false(rng: np.random.Generator, failing: Array, true: Array) -> bool:
    """Whether one of the findings, picked at random, is false: that happens as often as their expected false share."""
    return bool(len(failing) and not np.isin(rng.choice(failing), true))


def regions(
    rng: np.random.Generator,
    n: int,
    n_regions: int,
    n_failing: int = 0,
    risk: tuple[float, float] = (0.2, 0.2),
    repeated: int = 1,
    in_order: bool = False,
) -> bool:
    """Every claim is true, but in some regions half of the rows are wrong."""
    region = rng.integers(n_regions, size=n)
    X = rows_of(1.0 - rng.uniform(*risk, size=n), region, np.zeros(n))
    y = labels_of(rng, X, np.where(region < n_failing, 0.5, 1.0 - X[:, TRUST]))
    X, y = np.repeat(X, repeated, axis=0), np.repeat(y, repeated)
    if in_order:
        order = np.lexsort((y, X[:, REGION]))
        X, y = X[order], y[order]
    return one_is_false(rng, audited(X, y, with_regions=True).failing, np.arange(n_failing))


@cache
def fitted() -> tuple[SEPClassifier, Array]:
    """A partition, and a set of rows that it was not fitted on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 2))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=9000) > 0).astype(int)
    return SEPClassifier(trust="counts", max_ellipsoids=10).fit(X[:1000], y[:1000]), X[1000:]


def of_a_partition(rng: np.random.Generator, clusters: bool) -> bool:
    """A real model whose every claim is true."""
    model, X = fitted()
    drawn = X[rng.integers(len(X), size=800)]
    decided = model.decide(drawn)
    y = np.where(rng.random(len(drawn)) < decided.trust, decided.label, 1 - decided.label)
    found = audit(model, drawn, y)
    return bool(found.disjuncts) if clusters else one_is_false(rng, found.failing, np.empty(0))


def clusters(
    rng: np.random.Generator,
    n: int,
    claimed: float,
    true: float,
    places: int | None = None,
    in_order: bool = False,
) -> bool:
    """Rows are wrong at the same rate everywhere; it may be another than they claim, and many may lie at one place."""
    place = rng.uniform(size=(n, 2)) if places is None else rng.integers(places, size=(n, 2)).astype(float)
    X = rows_of(np.full(n, 1.0 - claimed), np.zeros(n), place)
    y = labels_of(rng, X, np.full(n, true))
    rows = np.argsort(-y, kind="stable") if in_order else np.arange(n)
    return bool(audited(X[rows], y[rows], with_regions=False).disjuncts)


def beside_a_true_one(rng: np.random.Generator, n: int) -> bool:
    """All rows of a corner are wrong; elsewhere claims are true, and a cluster without a row of the corner is false."""
    place = rng.uniform(size=(n, 2))
    corner = np.all(place < 0.2, axis=1)
    X = rows_of(np.full(n, 0.8), np.zeros(n), place)
    found = audited(X, labels_of(rng, X, np.where(corner, 1.0, 0.2)), with_regions=False)
    return any(not corner[one.rows].any() for one in found.disjuncts)


def claims_of_many_sizes(rng: np.random.Generator, n: int) -> bool:
    """Claims range from nearly sure to a toss, depend on the place, and are true."""
    place = rng.uniform(size=(n, 2))
    X = rows_of(1.0 - 0.5 * place[:, 0] ** 2, np.zeros(n), place)
    return bool(audited(X, labels_of(rng, X), with_regions=False).disjuncts)


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, REGIONS)
    yield make("no region fails, equal claims", partial(regions, n=600, n_regions=6))
    yield make("no region fails, one region", partial(regions, n=300, n_regions=1))
    yield make("no region fails, claims of all sizes", partial(regions, n=600, n_regions=6, risk=(0.0, 0.4)))
    yield make("no region fails, 200 tiny regions", partial(regions, n=1000, n_regions=200, risk=(0.02, 0.02)))
    yield make("2 of 6 regions fail", partial(regions, n=600, n_regions=6, n_failing=2))
    yield make("rows sorted by region and error", partial(regions, n=600, n_regions=6, n_failing=1, in_order=True))
    yield make("regions of a partition", partial(of_a_partition, clusters=False))
    twice = partial(regions, n=300, n_regions=6, repeated=2)
    yield make("every row is there twice", twice, kind=Kind.RULED_OUT)
    make = partial(Attack, CLUSTERS)
    yield make("claims are true", partial(clusters, n=400, claimed=0.2, true=0.2))
    yield make("claims are true, few errors", partial(clusters, n=400, claimed=0.05, true=0.05))
    yield make("claims are too good everywhere", partial(clusters, n=400, claimed=0.01, true=0.2))
    yield make("25 places hold all rows", partial(clusters, n=400, claimed=0.2, true=0.2, places=5))
    yield make("9 places, claims too good everywhere", partial(clusters, n=400, claimed=0.01, true=0.3, places=3))
    first = partial(clusters, n=400, claimed=0.2, true=0.2, in_order=True)
    yield make("wrong rows first", first)
    yield make("wrong rows first, 4 places hold all rows", partial(first, places=2))
    yield make("wrong rows first, on a grid of 900 places", partial(first, places=30))
    yield make("30 rows", partial(clusters, n=30, claimed=0.4, true=0.4))
    yield make("claims differ from place to place", partial(claims_of_many_sizes, n=400))
    yield make("beside a true cluster", partial(beside_a_true_one, n=500))
    yield make("rows of a partition", partial(of_a_partition, clusters=True))
