"""How the classes of the training rows overlap, as a report shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from sepc.columns.number_columns import number_columns
from sepc.columns.table import is_table, with_columns
from sepc.landscape.figures import LandscapeFigures
from sepc.landscape.landscape import Landscape
from sepc.landscape.wording import overlaps_in_words
from sepc.wording import name_of, visible

# Pairs of classes listed, those with the most rows in both ellipsoids.
N_PAIRS = 15
HOW = "An ellipsoid is drawn around the training rows of each class, in columns of numbers, without rows with gaps."


@dataclass(frozen=True)
class Pair:
    """Two classes, and how many rows of each lie in the ellipsoids of both: as a count, and as a share."""

    first: str
    second: str
    disjoint: bool
    n_first: int
    n_second: int
    share_first: float
    share_second: float
    ratio_first: float | None
    ratio_second: float | None


@dataclass(frozen=True)
class ClassOverlaps:
    """The classes of the training rows and how they overlap.

    Attributes
    ----------
    words : str
        How they overlap, in a few sentences.
    names : tuple of str
        The classes.
    pairs : tuple of Pair
        Those that overlap most, of `n_pairs`.
    inside : tuple of tuples of float
        Entry ``inside[i][j]`` is the share of the rows of class i that lie in the ellipsoids of both i and j.
    """

    words: str
    names: tuple[str, ...]
    pairs: tuple[Pair, ...]
    n_pairs: int
    inside: tuple[tuple[float, ...], ...]

    @property
    def most_inside(self) -> float:
        """The largest share of one class in the ellipsoid of another."""
        pairs = (share for i, row in enumerate(self.inside) for j, share in enumerate(row) if i != j)
        return max(pairs, default=0.0)


def class_overlaps_of(X: Any, y: ArrayLike | None) -> tuple[ClassOverlaps | None, str]:
    """The overlaps of the classes and an empty text, or None and the reason why there are none."""
    if X is None or y is None:
        return None, "The landscape needs the training rows; give X_train and y_train."
    try:
        numbers, names = number_columns(X)
        if not names:
            return None, "There is no landscape of these training rows: they have no numeric column."
        complete = np.flatnonzero(~np.isnan(numbers).any(axis=1))
        table = with_columns(X, names) if is_table(X) else numbers
        landscape = Landscape(_safe_indexing(table, complete), _safe_indexing(y, complete))
    except ValueError as error:
        return None, f"There is no landscape of these training rows: {error}"
    return _from_figures(landscape.figures), ""


def _from_figures(figures: LandscapeFigures) -> ClassOverlaps:
    names = tuple(map(name_of, figures.classes))
    overlaps = sorted(figures.overlaps, key=lambda overlap: -(overlap.n_first + overlap.n_second))
    inside = [[1.0] * len(names) for _ in names]
    for overlap in overlaps:
        inside[overlap.first][overlap.second] = overlap.n_first / max(figures.n_rows[overlap.first], 1)
        inside[overlap.second][overlap.first] = overlap.n_second / max(figures.n_rows[overlap.second], 1)
    pairs = tuple(
        Pair(
            names[overlap.first],
            names[overlap.second],
            bool(overlap.disjoint),
            int(overlap.n_first),
            int(overlap.n_second),
            inside[overlap.first][overlap.second],
            inside[overlap.second][overlap.first],
            overlap.ratio_first,
            overlap.ratio_second,
        )
        for overlap in overlaps[:N_PAIRS]
    )
    return ClassOverlaps(
        words=visible(f"{HOW} {overlaps_in_words(figures)}"),
        names=names,
        pairs=pairs,
        n_pairs=len(overlaps),
        inside=tuple(map(tuple, inside)),
    )
