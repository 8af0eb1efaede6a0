"""Tables of many shapes, real and made, for the suite `shapes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from sepc.datasets import load

MOST_ROWS = 20_000

Table = tuple[pd.DataFrame, Any]


def labelled(X: Any, y: Any) -> Table:
    X = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return X, np.asarray(y)


def noisy_line(X: Any, random: np.random.Generator) -> Any:
    """Labels by the sum of the first three columns, with noise."""
    score = np.nan_to_num(X[:, :3]).sum(axis=1)
    return (score + 0.5 * score.std() * random.normal(size=len(X)) > np.median(score)).astype(int)


def normal(n: int, d: int, gaps: float = 0.0) -> Table:
    """Normal columns, of which a share of the values is missing."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    y = noisy_line(X, random)
    X[random.random((n, d)) < gaps] = np.nan
    return labelled(X, y)


def binary(n: int, d: int) -> Table:
    random = np.random.default_rng(0)
    X = (random.random((n, d)) < random.uniform(0.05, 0.5, d)).astype(float)
    score = X[:, :30] @ random.normal(size=30)
    return labelled(X, (score + 0.5 * random.normal(size=n) > np.median(score)).astype(int))


def whole(n: int, d: int) -> Table:
    random = np.random.default_rng(0)
    X = random.poisson(5.0, (n, d)).astype(float)
    return labelled(X, noisy_line(X, random))


def classes(n: int, d: int, n_classes: int) -> Table:
    random = np.random.default_rng(0)
    y = np.arange(n) % n_classes
    return labelled(2.0 * random.normal(size=(n_classes, d))[y] + random.normal(size=(n, d)), y)


def texts(n: int, d: int, n_values: int) -> Table:
    random = np.random.default_rng(0)
    codes = random.integers(n_values, size=(n, d))
    score = sum(random.normal(size=n_values)[codes[:, j]] for j in range(min(d, 3)))
    named = pd.DataFrame({f"x{j}": np.char.add("value ", codes[:, j].astype(str)) for j in range(d)})
    return labelled(named, (score + 0.5 * random.normal(size=n) > 0).astype(int))


def real(name: str) -> Callable[[], Table]:
    def read() -> Table:
        data = load(name)
        n = len(data.target)
        kept = np.random.default_rng(0).choice(n, min(n, MOST_ROWS), replace=False)
        return labelled(data.features.iloc[kept].reset_index(drop=True), np.asarray(data.target)[kept])

    return read


REAL = ("electricity", "adult", "magic_gamma_telescope", "phoneme", "wine_quality_white", "satimage", "covertype")
SHAPES: dict[str, Callable[[], Table]] = {name: real(name) for name in REAL} | {
    "whole numbers": lambda: whole(100_000, 12),
    "noise": lambda: (normal(100_000, 10)[0], np.random.default_rng(1).integers(2, size=100_000)),
    "zeros and ones": lambda: binary(10_000, 300),
    "wide": lambda: normal(200, 5_000),
    "gaps": lambda: normal(20_000, 30, 0.9),
    "gaps, few rows": lambda: normal(1_000, 30, 0.9),
    "texts": lambda: texts(5_000, 20, 250),
    "two keys": lambda: texts(20_000, 2, 10_000),
    "200 classes": lambda: classes(4_000, 8, 200),
}
