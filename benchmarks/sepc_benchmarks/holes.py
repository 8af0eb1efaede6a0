"""Data sets and gaps for the benchmarks on rows with gaps.

The nine of `SEEN` were looked at while the way to fill gaps was chosen: their first folds, with other gaps. The five of
`NEW` took no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

from sepc.datasets import load

SEEN = {
    "vehicle": "vehicle",
    "wdbc": "wdbc",
    "vertebral": "vertebral_column_2c",
    "banknote": "banknote_authentication",
    "magic": "magic_gamma_telescope",
    "page_blocks": "page_blocks",
    "ilpd": "ilpd",
    "phoneme": "phoneme",
    "spambase": "spambase",
}
NEW = {
    "german_credit": "german_credit_numeric",
    "htru2": "htru2",
    "ionosphere": "ionosphere",
    "parkinsons": "parkinsons",
    "segment": "segment",
}
SETS = SEEN | NEW
MOST_ROWS, N_FOLDS = 2_000, 5

Rows = NDArray[np.float64]


def rows_of(name: str, most_rows: int = MOST_ROWS) -> tuple[Rows, NDArray[np.int64]]:
    """Numeric columns and classes of the complete rows of a set; of large sets a sample."""
    if name == "wdbc":
        return load_breast_cancer(return_X_y=True)
    data = load(SETS.get(name, name))
    X, y = data.numeric.to_numpy(dtype=float), np.unique(np.asarray(data.target), return_inverse=True)[1]
    kept = np.flatnonzero(np.isfinite(X).all(axis=1))
    kept = np.random.default_rng(0).permutation(kept)[:most_rows]
    kept = kept[np.isin(y[kept], np.flatnonzero(np.bincount(y[kept]) >= N_FOLDS))]
    return X[kept], y[kept]


def folds(X: Rows, y: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Positions of training and test rows."""
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=1).split(X, y)


def at_random(X: Rows, share: float, seed: int) -> Rows:
    """The rows without a share of their cells."""
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def by_first_feature(X: Rows, share: float, seed: int) -> Rows:
    """The rows without a share of their cells, the more often the larger or the smaller the first feature is.

    That one is always there. In every other feature gaps are certain to be rare at one end of its range, and twice as
    frequent as on average at the other.
    """
    rank = rankdata(X[:, 0]) / (len(X) + 1)
    chance = 2 * share * np.where(np.arange(X.shape[1]) % 2, rank[:, None], 1 - rank[:, None])
    chance[:, 0] = 0.0
    return np.where(np.random.default_rng(seed).random(X.shape) < chance, np.nan, X)
