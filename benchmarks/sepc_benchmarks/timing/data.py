"""The rows that are fitted and scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from sepc.datasets import load

Rows = NDArray[np.float64]
Labelled = tuple[Rows, NDArray[Any]]

TEST_SEED = 10_000


def noisy(n: int, d: int = 10, seed: int = 0) -> Labelled:
    """Normal features; the label is x0^2 + x1^2 + x2^2 + x3^2 - 4 + 2 x4 x5 + noise > 0, with x0 for x5 if d is 5."""
    rng = np.random.default_rng([seed, d])
    X = rng.normal(size=(n, d))
    score = np.einsum("ij,ij->i", X[:, :4], X[:, :4]) - 4.0 + 2.0 * X[:, 4] * X[:, 5 % d]
    return X, (score + rng.normal(size=n) > 0).astype(np.int64)


def noisy_blocks(n: int, n_block: int) -> tuple[list[Rows], list[NDArray[Any]]]:
    """The same kind of rows, in blocks of at most `n_block`."""
    blocks = [noisy(min(n_block, n - start), seed=1 + start // n_block) for start in range(0, n, n_block)]
    return [X for X, _ in blocks], [y for _, y in blocks]


@dataclass(frozen=True)
class Split:
    """Rows to fit on, and others to test with."""

    X: Rows
    y: NDArray[Any]
    X_test: Rows
    y_test: NDArray[Any]

    def accuracy(self, model: Any) -> float:
        """Share of right labels among the test rows."""
        return float(np.mean(model.predict(self.X_test) == self.y_test))


def split_of(name: str, n_train: int, most_test: int) -> Split:
    """So many rows of a data set, drawn at random in proportion to the classes."""
    data = load(name)
    X, y = data.numeric.to_numpy(dtype=float), np.unique(np.asarray(data.target), return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(X, y, train_size=n_train, stratify=y, random_state=0)
    return Split(X, y, X_test[:most_test], y_test[:most_test])


def first_letters(n_classes: int, n: int) -> Labelled:
    """So many rows of the first letters of the alphabet."""
    data = load("letter")
    X, y = data.numeric.to_numpy(dtype=float), np.unique(np.asarray(data.target), return_inverse=True)[1]
    X, y = X[y < n_classes], y[y < n_classes]
    X, _, y, _ = train_test_split(X, y, train_size=n, stratify=y, random_state=0)
    return X, y
