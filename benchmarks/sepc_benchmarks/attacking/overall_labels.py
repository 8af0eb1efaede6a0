"""The error rate of accepted rows, where labels are rare or rows are copies of one another, with real models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from sepc import SelectiveClassifier
from sepc_benchmarks.attacking.attack import Attack, Kind
from sepc_benchmarks.attacking.overall import OVERALL

Array = NDArray[Any]

# Two groups of rows far enough apart that a model is hardly ever wrong, but for the rare labels.
CENTERS = np.array([[0.0, 0.0], [8.0, 0.0]])
FIRST_CODE = 100
NEW_ROWS = 500


def groups(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Rows of two groups, and their labels 0 and 1."""
    y = rng.integers(2, size=n)
    return CENTERS[y] + rng.normal(size=(n, 2)), y


def with_codes(rng: np.random.Generator, y: Array, share: float, n_codes: int | None) -> Array:
    """Labels of which this share, anywhere, is one of so many rare codes; or a code of its own each."""
    rare = np.flatnonzero(rng.random(len(y)) < share)
    codes = np.arange(len(rare)) if n_codes is None else rng.integers(n_codes, size=len(rare))
    labels = y.copy()
    labels[rare] = FIRST_CODE + codes
    return labels


def rare_codes(rng: np.random.Generator, share: float, n_codes: int | None, n: int, n_groups: int = 2) -> bool:
    """Rare codes fall on rows of any kind, so whatever is accepted has at least their share of errors.

    A row is wrong unless its code is guessed; among 300 codes, a model that guesses codes only errs more often. With
    one group the label is always the same, with the same trust: the error rate is exactly the share of the codes.
    """
    X, y = groups(rng, n)
    model = KNeighborsClassifier(5) if n_groups == 2 else DummyClassifier()
    selective = SelectiveClassifier(model, random_state=int(rng.integers(2**31)))
    selective.fit(X, with_codes(rng, y if n_groups == 2 else np.zeros_like(y), share, n_codes))
    return bool(selective.decide(groups(rng, NEW_ROWS)[0]).accepted.any())


def copies(rng: np.random.Generator) -> bool:
    """Independent rows of only 60 places, each with both labels; the true error rate of a place is known."""
    places, flipped = rng.normal(size=(60, 2)), np.full(60, 0.0201)
    usual = (places[:, 0] > 0).astype(np.int64)
    drawn = rng.integers(60, size=1544)
    labels = np.where(rng.random(len(drawn)) < flipped[drawn], 1 - usual[drawn], usual[drawn])
    selective = SelectiveClassifier(KNeighborsClassifier(9), random_state=int(rng.integers(2**31)))
    decided = selective.fit(places[drawn], labels).decide(places)
    error = np.where(decided.label == usual, flipped, 1.0 - flipped)[decided.accepted]
    return bool(len(error) and error.mean() > 0.02)


@cache
def real_set(load: Callable[..., tuple[Array, Array]]) -> tuple[Array, Array]:
    """The rows of a set that scikit-learn comes with."""
    return load(return_X_y=True)


def real(rng: np.random.Generator, load: Callable[..., tuple[Array, Array]], n: int, max_risk: float) -> bool:
    """Rows are drawn with replacement from a real set, and the truth is the whole set."""
    X, y = real_set(load)
    drawn = rng.integers(len(y), size=n)
    selective = SelectiveClassifier(GaussianNB(), max_risk, random_state=int(rng.integers(2**31)))
    decided = selective.fit(X[drawn], y[drawn]).decide(X)
    wrong = (decided.label != y)[decided.accepted]
    return bool(len(wrong) and wrong.mean() > max_risk)


def class_of_two(rng: np.random.Generator) -> bool:
    """About two rows of a third class, and as many errors of the usual kind as take the rate just above 2 %."""
    X, y = groups(rng, 1544)
    flipped = rng.random(len(y)) < 0.0195
    labels = with_codes(rng, np.where(flipped, 1 - y, y), 0.0012, 1)
    selective = SelectiveClassifier(GaussianNB(), random_state=int(rng.integers(2**31))).fit(X, labels)
    return bool(selective.decide(groups(rng, NEW_ROWS)[0]).accepted.any())


def calibrated_on_training_rows(rng: np.random.Generator) -> bool:
    """A frozen model is always right on the rows that it remembers; one in 40 of the labels is a code."""
    X, y = groups(rng, 400)
    y = with_codes(rng, y, 0.025, 300)
    selective = SelectiveClassifier(FrozenEstimator(KNeighborsClassifier(1).fit(X, y))).fit(X, y)
    return bool(selective.decide(groups(rng, NEW_ROWS)[0]).accepted.any())


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, OVERALL)
    yield make("300 rare codes in 4 % of rows", partial(rare_codes, share=0.04, n_codes=300, n=1000))
    yield make("every rare label is unique, 4 %", partial(rare_codes, share=0.04, n_codes=None, n=1000))
    just_above: dict[str, Any] = {"share": 0.0201, "n": 772, "n_groups": 1}
    yield make("300 rare codes in 2.01 % of rows", partial(rare_codes, n_codes=300, **just_above))
    yield make("every rare label is unique, 2.01 %", partial(rare_codes, n_codes=None, **just_above))
    yield make("a class of about two rows", class_of_two)
    yield make("copies of rows with other labels", copies)
    yield make("real rows, breast cancer", partial(real, load=load_breast_cancer, n=1000, max_risk=0.05))
    yield make("real rows, digits", partial(real, load=load_digits, n=1000, max_risk=0.1))
    yield make("calibrated on training rows", calibrated_on_training_rows, kind=Kind.RULED_OUT)
