"""The data sets of the comparison: numeric columns, complete rows up to a limit, classes of ten rows and more.

The constants of our own model were chosen with `SETS` in sight; `UNSEEN` took no part in any choice, and most of them
have more classes. `LARGE` are the sets of both kinds with more usable rows than the comparison takes of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from sepc.datasets import load

MOST_ROWS, FULL_SIZE = 2_000, 100_000
FEWEST_OF_A_CLASS = 10
FROM_SKLEARN = {"iris": load_iris, "wdbc": load_breast_cancer, "digits": load_digits, "wine": load_wine}
SMALLEST = {
    **dict.fromkeys(("models", "together", "full size", "by time", "layers"), ("iris",)),
    "unseen": ("wine",),
}
SETS = (
    *("parkinsons", "haberman", "vertebral_column_2c", "glass", "ecoli", "blood_transfusion"),
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
EQUAL_ROWS = (  # those of `SETS` in which some rows are equal
    *("haberman", "glass", "blood_transfusion", "ionosphere", "ilpd", "australian_credit", "mammographic_masses"),
    *("banknote_authentication", "skin_segmentation", "phoneme", "adult", "magic_gamma_telescope", "spambase"),
    *("page_blocks", "wine_quality_red"),
)
UNSEEN = ("iris", "wine", "segment", "yeast", "wine_quality_white", "pendigits", "digits", "covertype", "letter")
LARGE = (
    "segment",
    "spambase",
    "wine_quality_white",
    "phoneme",
    "page_blocks",
    "satimage",
    "pendigits",
    "htru2",
    "magic_gamma_telescope",
    "letter",
    "adult",
    "electricity",
    "shuttle",
    "skin_segmentation",
    "covertype",
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


def rows_of(name: str, cache: Path, most_rows: int = MOST_ROWS) -> Rows:
    """A data set, read from the cache if it was prepared before."""
    path = cache / "data" / f"{name}-{most_rows}.npz"
    if not path.exists():
        rows = _prepared(*_read(name), most_rows)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part.npz")
        np.savez_compressed(unfinished, X=rows.X, y=rows.y)
        unfinished.replace(path)  # another run may be waiting for it
    with np.load(path) as stored:
        return Rows(stored["X"], stored["y"])


def _read(name: str) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    if name in FROM_SKLEARN:
        return FROM_SKLEARN[name](return_X_y=True)
    data = load(name)
    return data.numeric.to_numpy(dtype=float), np.asarray(data.target)


def _prepared(X: NDArray[np.float64], y: NDArray[np.generic], most_rows: int) -> Rows:
    kept = np.flatnonzero(np.isfinite(X).all(axis=1))
    if len(kept) > most_rows:
        kept = np.random.default_rng(0).choice(kept, most_rows, replace=False)
    labels, counts = np.unique(y[kept], return_counts=True)
    kept = kept[np.isin(y[kept], labels[counts >= FEWEST_OF_A_CLASS])]
    return Rows(X[kept], np.unique(y[kept], return_inverse=True)[1])
