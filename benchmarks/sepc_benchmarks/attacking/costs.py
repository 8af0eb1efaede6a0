"""The mean cost of accepted rows: costs of one size and of several, a rare label that costs a hundred times as much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from sepc import Costs, SelectiveClassifier
from sepc_benchmarks.attacking.attack import Attack, Promise
from sepc_benchmarks.attacking.levels import LABEL, TRUST, Array, ReadsItsRows, frozen

COST = Promise(
    "cost of accepted rows",
    "howto/promises.md",
    "an accepted row costs no more on average than its review",
    "rows are independent, later ones like those of calibration, and no label is new",
)


@dataclass(frozen=True, eq=False)
class CostlyRows:
    """A source of rows that are all labelled 0, with one of several trusts; the true label may be another.

    Attributes
    ----------
    trust : (m,) array
        Each value comes equally often.
    chance : (m, L) array
        The probability of each true label, 0 first.
    matrix : (L, L) array
        Costs, with a row for each true label and a column for each predicted one.
    """

    trust: Array
    chance: Array
    matrix: Array

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        """Independent rows with their true labels."""
        level = rng.integers(len(self.trust), size=n)
        y = (rng.random((n, 1)) > np.cumsum(self.chance, axis=1)[level, :-1]).sum(axis=1)
        return np.column_stack([np.zeros(n), self.trust[level]]), y

    def mean_cost(self, accepted: Array) -> float:
        """The true mean cost of the accepted levels; 0 if there are none."""
        return float((self.chance @ self.matrix[:, 0])[accepted].mean()) if accepted.any() else 0.0


def source(trust: list[float], chances: list[float], costs: list[float], right: float = 0.0) -> CostlyRows:
    """Rows whose label is wrong with these chances, at these costs, whatever their trust."""
    of_errors = np.array([right, *costs])
    matrix = np.repeat(of_errors[:, None], len(of_errors), axis=1)
    np.fill_diagonal(matrix, right)
    every = np.broadcast_to([1.0 - sum(chances), *chances], (len(trust), len(of_errors)))
    return CostlyRows(np.array(trust), every, matrix)


def broken(selective: SelectiveClassifier, rows: CostlyRows, review: float) -> bool:
    """Whether what is accepted costs more on average than a review."""
    decided = selective.decide(np.column_stack([np.zeros(len(rows.trust)), rows.trust]))
    return rows.mean_cost(decided.accepted) > review


def calibrated(rng: np.random.Generator, rows: CostlyRows, n: int, review: float) -> bool:
    """A frozen model that knows every label; all rows are calibration rows."""
    costs = Costs(rows.matrix, review)
    selective = SelectiveClassifier(frozen(*range(len(rows.matrix))), costs).fit(*rows.draw(rng, n))
    return broken(selective, rows, review)


def split(rng: np.random.Generator, rows: CostlyRows, n: int, review: float) -> bool:
    """A model that is fitted on one part of the rows, where rare labels may be missing; every label is in `y`."""
    X, y = rows.draw(rng, n)
    y[: len(rows.matrix)] = np.arange(len(rows.matrix))
    order = np.lexsort((X[:, TRUST], y, X[:, LABEL]))
    selective = SelectiveClassifier(ReadsItsRows(), Costs(rows.matrix, review), random_state=int(rng.integers(2**31)))
    return broken(selective.fit(X[order], y[order]), rows, review)


def named_in_a_mapping(rng: np.random.Generator, rows: CostlyRows, n: int, review: float) -> bool:
    """Costs name every pair of labels; `y` may lack the rare one, and so may training."""
    labels = range(len(rows.matrix))
    pairs = {(true, given): rows.matrix[true, given] for true in labels for given in labels if true != given}
    selective = SelectiveClassifier(ReadsItsRows(), Costs(pairs, review), random_state=int(rng.integers(2**31)))
    return broken(selective.fit(*rows.draw(rng, n)), rows, review)


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, COST)
    one = source([0.9], [0.0201], [1.0])
    yield make("one size, constant trust", partial(calibrated, rows=one, n=386, review=0.02))
    several = source([0.9], [0.2, 0.1], [1.0, 5.0])
    yield make("costs of 1 and 5, constant trust", partial(calibrated, rows=several, n=500, review=0.699))
    tied = source([0.5, 0.7, 0.9], [0.2, 0.1], [1.0, 5.0])
    yield make("costs of 1 and 5, ties", partial(calibrated, rows=tied, n=1500, review=0.699))
    right = source([0.5, 0.7, 0.9], [0.05, 0.05], [1.0, 5.0], right=0.1)
    yield make("right labels cost as well", partial(calibrated, rows=right, n=1500, review=0.389))
    rare = source([0.5, 0.9], [0.02, 0.002], [1.0, 100.0])
    yield make("one row in 500 costs 100", partial(calibrated, rows=rare, n=1000, review=0.219))
    yield make("one row in 500 costs 100, to be fitted", partial(split, rows=rare, n=2000, review=0.219))
    yield make("one row in 500 costs 100, 60 rows", partial(split, rows=rare, n=60, review=0.219))
    named = partial(named_in_a_mapping, rows=source([0.5, 0.9], [0.02, 0.002], [1.0, 5.0]), n=600, review=0.0299)
    yield make("a costly label that `y` may lack", named)
    two = source([0.9], [0.19, 0.0021], [1.0, 5.0])
    yield make("a costly class of about two rows", partial(split, rows=two, n=1000, review=0.2))
