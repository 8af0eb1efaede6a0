"""Data sets to draw streams from, and changes planted in them, for `monitor.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from sepc import SEPClassifier
from sepc.datasets import load
from sepc.lifecycle import Monitor
from sepc.lifecycle.monitoring.columns import ColumnRows
from sepc.lifecycle.monitoring.evidence import column_counts
from sepc.lifecycle.monitoring.state import Tally

N_TRAINING = 2_000
# How far rows of a region move, in deviations of a feature; how much more often they come; how far all rows move.
MOVE, MORE, ALL_MOVE = 2.0, 2.0, 0.25
# A changed region has at least this share of the rows; where labels flip, at most this share was wrong before.
LEAST_SHARE, MOST_ERROR = 0.02, 0.2

Rows = NDArray[np.float64]
Labels = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Population:
    """The rows that streams are drawn from, and what the model says of them."""

    name: str
    model: SEPClassifier
    X: Rows
    y: Labels
    region: NDArray[np.int64]
    wrong: NDArray[np.bool_]

    def drawn(self, rng: np.random.Generator, n: int) -> Part:
        """Rows drawn with replacement."""
        return Part(self, rng.integers(len(self.X), size=n))


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a population."""

    of: Population
    rows: NDArray[np.int64]

    def tally(self, monitor: Monitor) -> Tally:
        """What a monitor would count, without deciding again."""
        n_regions, region, rows = monitor._rates.n_regions, self.of.region[self.rows], self.of.X[self.rows]
        features = (rows - monitor._state.shift) / monitor._state.scale
        above, beyond = monitor._rates.compare(region, rows)
        labels = Tally.of_labels(region, self.of.wrong[self.rows], n_regions, features.shape[1])
        return Tally.of_rows(region, features, above, beyond, n_regions, column_counts(self._columns(rows))) + labels

    def _columns(self, rows: Rows) -> ColumnRows:
        """The rows as columns of numbers without gaps."""
        model, n = self.of.model.model_, len(rows)
        assert model.usual is not None
        none, no_gaps = np.zeros((n, 0), dtype=np.int64), np.zeros(rows.shape, dtype=bool)
        nobody, unseen = np.zeros(n, dtype=np.int64), np.empty((n, 0), dtype=object)
        return ColumnRows(
            model.usual,
            model.class_counts,
            model.feature_names,
            rows,
            no_gaps,
            none,
            unseen,
            np.zeros(0, dtype=np.int64),
            nobody,
        )


def population(name: str, n_rows: int) -> Population:
    if name == "moons":
        X, y = make_moons(n_rows, noise=0.25, random_state=0)
    else:
        data = load(name)
        X, y = data.numeric.to_numpy(dtype=float), np.asarray(data.target)
        drawn = np.random.default_rng(0).permutation(np.flatnonzero(np.isfinite(X).all(axis=1)))[:n_rows]
        X, y = X[drawn], y[drawn]
    model = SEPClassifier().fit(X[:N_TRAINING], y[:N_TRAINING])
    return decided(name, model, X[N_TRAINING:], y[N_TRAINING:])


def decided(name: str, model: SEPClassifier, X: Rows, y: Labels) -> Population:
    decisions = model.decide(X)
    return Population(name, model, X, y, decisions.region, np.asarray(decisions.label != y))


def regions_to_change(whole: Population, *, accurate: bool) -> NDArray[np.int64]:
    """Regions with enough rows, and if asked few wrong labels."""
    n = np.bincount(whole.region[whole.region >= 0])
    errors = np.bincount(whole.region[(whole.region >= 0) & whole.wrong], minlength=len(n)) / np.maximum(n, 1)
    return np.flatnonzero((n >= LEAST_SHARE * len(whole.X)) & ((errors <= MOST_ERROR) | (not accurate)))


def flipped(whole: Population, region: int, rng: np.random.Generator) -> Population:
    """The model is wrong in the region where it was right."""
    own = whole.region == region
    others = {label: [one for one in whole.model.classes_ if one != label] for label in whole.model.classes_}
    y = whole.y.copy()
    labels = whole.model.predict(whole.X[own])
    y[own] = [label if wrong else others[label][0] for label, wrong in zip(labels, whole.wrong[own], strict=True)]
    return decided(whole.name, whole.model, whole.X, y)


def moved(whole: Population, region: int, rng: np.random.Generator) -> Population:
    """Rows of the region have another value in one feature."""
    X, j = whole.X.copy(), int(rng.integers(whole.X.shape[1]))
    X[whole.region == region, j] += rng.choice([-MOVE, MOVE]) * whole.X[:, j].std()
    return decided(whole.name, whole.model, X, whole.y)


def grown(whole: Population, region: int, rng: np.random.Generator) -> Population:
    """Rows of the region come more often."""
    own = np.flatnonzero(whole.region == region)
    rows = np.concatenate([np.arange(len(whole.X)), np.repeat(own, int(MORE) - 1)])
    return Population(whole.name, whole.model, whole.X[rows], whole.y[rows], whole.region[rows], whole.wrong[rows])


def all_moved(whole: Population, region: int, rng: np.random.Generator) -> Population:
    """All rows have a slightly higher value in one feature; no region is meant."""
    X, j = whole.X.copy(), int(rng.integers(whole.X.shape[1]))
    X[:, j] += ALL_MOVE * X[:, j].std()
    return decided(whole.name, whole.model, X, whole.y)


CHANGES: dict[str, Callable[[Population, int, np.random.Generator], Population]] = {
    "labels flip in a region": flipped,
    "rows of a region move": moved,
    "a region comes twice as often": grown,
    "all rows move a little": all_moved,
}
