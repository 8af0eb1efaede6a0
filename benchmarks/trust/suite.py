"""The data sets of the comparison: numeric columns, complete rows, at most 2,000 of them, classes of ten rows and more.

Left out of those in SEPC_DATA_HOME: sets of more than six classes, since the time of most learners grows with their
number (covertype, letter, pendigits, segment, yeast), and wine_quality_white, the sister of the red.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris

from sepc.datasets import load

MOST_ROWS = 2_000
FEWEST_OF_A_CLASS = 10
FROM_SKLEARN = {"iris": load_iris, "wdbc": load_breast_cancer}
SMALLEST = ("iris",)
QUICK = ("parkinsons", "haberman", "vertebral_column_2c", "glass", "ecoli", "blood_transfusion")
SETS = (  # the quick ones first, so that a run that was stopped says something
    *QUICK,
    "sonar",
    "heart_cleveland",
    "ionosphere",
    "wdbc",
    "ilpd",
    "australian_credit",
    "mammographic_masses",
    "banknote_authentication",
    "german_credit_numeric",
    "vehicle",
    "skin_segmentation",
    "htru2",
    "phoneme",
    "electricity",
    "adult",
    "magic_gamma_telescope",
    "spambase",
    "page_blocks",
    "shuttle",
    "wine_quality_red",
    "satimage",
)


@dataclass(frozen=True)
class Rows:
    """One data set as the learners see it: rows, and classes numbered from 0."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.y.max()) + 1


def rows_of(name: str, cache: Path) -> Rows:
    """A data set, read from the cache if it was prepared before."""
    path = cache / "data" / f"{name}.npz"
    if not path.exists():
        rows = _prepared(*_read(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, X=rows.X, y=rows.y)
    with np.load(path) as stored:
        return Rows(stored["X"], stored["y"])


def _read(name: str) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    if name in FROM_SKLEARN:
        return FROM_SKLEARN[name](return_X_y=True)
    data = load(name)
    return data.numeric.to_numpy(dtype=float), np.asarray(data.target)


def _prepared(X: NDArray[np.float64], y: NDArray[np.generic]) -> Rows:
    kept = np.flatnonzero(np.isfinite(X).all(axis=1))
    if len(kept) > MOST_ROWS:
        kept = np.random.default_rng(0).choice(kept, MOST_ROWS, replace=False)
    labels, counts = np.unique(y[kept], return_counts=True)
    kept = kept[np.isin(y[kept], labels[counts >= FEWEST_OF_A_CLASS])]
    return Rows(X[kept], np.unique(y[kept], return_inverse=True)[1])
