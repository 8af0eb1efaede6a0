"""Planes to draw in: two features, and the exact projections (shadows) of ellipsoids on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.model.sep_model import SEPModel, even_variance
from sepc.shapes.ellipsoid import Ellipsoid

# Added to the within-class variance, as a share of the total, to avoid dividing by zero for constant features.
LEAST_WITHIN = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Plane(ShownOnOneLine):
    """Two directions in the user's feature space, to draw in."""

    origin: FloatArray
    directions: FloatArray
    names: tuple[str, str]

    def place(self, rows: FloatArray) -> FloatArray:
        """Where rows are drawn, of shape (n, 2)."""
        return np.asarray((np.asarray(rows, dtype=np.float64) - self.origin) @ self.directions.T)

    def shadow(self, ellipsoid: Ellipsoid) -> Ellipsoid:
        """The exact projection of an ellipsoid: the ellipse in which all its points are drawn."""
        # Like `Ellipsoid.project`, but without its rank test, which fails for features in very different units.
        upper = np.linalg.qr((self.directions @ ellipsoid.inverse_root).T, mode="r")
        return Ellipsoid(self.place(ellipsoid.center[None, :])[0], np.linalg.inv(upper).T)


def placed_names(model: SEPModel) -> tuple[str, ...]:
    """Names of the features that a picture of ellipsoids can show: those that are not standalone."""
    return tuple(model.feature_names[j] for j in model.placed.tolist())


def ellipsoid_plane(model: SEPModel, features: tuple[str | int, str | int]) -> Plane:
    """The plane of two features of a model's ellipsoids, by name or by position among all features."""
    names, placed = model.feature_names, model.placed.tolist()
    for feature in () if isinstance(features, str) else features:
        j = position_of(names, feature)
        if j not in placed:
            raise ValueError(f"{names[j]!r} is standalone: ellipsoids have no extent along it. Choose another feature.")
    if isinstance(features, str) or len(features) != 2:
        return feature_plane(names, features)
    first, second = (placed.index(position_of(names, feature)) for feature in features)
    return feature_plane(placed_names(model), (first, second))


def feature_plane(names: Sequence[str], features: tuple[str | int, str | int]) -> Plane:
    """The plane of two features."""
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features is {features!r}; give a pair of features, by name or position.")
    first, second = (position_of(names, feature) for feature in features)
    if first == second:
        raise ValueError(f"features names {names[first]!r} twice; give two different features.")
    directions = np.eye(len(names))[[first, second]]
    return Plane(np.zeros(len(names)), directions, (str(names[first]), str(names[second])))


def best_plane(model: SEPModel) -> Plane:
    """The plane of the two features in which the classes of a model are farthest apart."""
    names = placed_names(model)
    if len(names) < 2:
        needed = "two features" if model.alone is None else "two features that are not standalone"
        raise ValueError(f"This plot needs {needed}; the model has only {names[0]!r}.")
    if len(names) == 2:
        return feature_plane(names, (0, 1))
    share = np.maximum(model.place_rows, 1) / np.maximum(model.place_rows, 1).sum()
    owners = np.concatenate([model.owners, model.isolated_owners])
    between, within = _scatters(np.concatenate([model.centers, model.isolated]), owners, share)
    for weight, root in zip(share.tolist(), model.roots, strict=False):
        axes = np.linalg.inv(root)
        within = within + even_variance(weight, len(names)) * (axes @ axes.T)
    return feature_plane(names, _best_pair(between, within))


def outline(ellipse: Ellipsoid, n: int = 120) -> FloatArray:
    """Points on the boundary of an ellipse, of shape (n, 2); the last repeats the first."""
    return ellipse.boundary(n)


def limits(points: FloatArray, margin: float = 0.04) -> list[list[float]]:
    """The lower left and the upper right corner of a picture that shows all points, even along a constant feature."""
    low, high = points.min(axis=0), points.max(axis=0)
    border = np.where(high > low, margin * (high - low), np.maximum(np.abs(low), 1.0) * 0.1)
    return [(low - border).tolist(), (high + border).tolist()]


def position_of(names: Sequence[str], feature: str | int) -> int:
    """The position of a feature given by name or position."""
    known = [str(name) for name in names]
    if isinstance(feature, Integral):
        if not 0 <= feature < len(known):
            raise ValueError(f"There is no feature {feature}; positions range from 0 to {len(known) - 1}.")
        return int(feature)
    n_found = known.count(str(feature))
    if n_found == 0:
        near = get_close_matches(str(feature), known, n=3, cutoff=0.5) or known[:3]
        raise ValueError(f"There is no feature {feature!r}; did you mean one of {', '.join(map(repr, near))}?")
    if n_found > 1:
        raise ValueError(f"{n_found} features are called {feature!r}; give the position of the one you mean.")
    return known.index(str(feature))


def half_widths(ellipsoid: Ellipsoid) -> FloatArray:
    """Half the width of an ellipsoid along each feature, of shape (d,)."""
    return np.asarray(np.linalg.norm(ellipsoid.inverse_root, axis=1))


def most_separating_features(ellipsoids: Sequence[Ellipsoid]) -> IntArray:
    """Positions of the features, starting with the one that separates the ellipsoids best."""
    widths = [half_widths(ellipsoid) for ellipsoid in ellipsoids]
    apart = np.zeros(ellipsoids[0].n_features)
    for i, j in combinations(range(len(ellipsoids)), 2):
        apart += np.abs(ellipsoids[i].center - ellipsoids[j].center) / (widths[i] + widths[j])
    return np.argsort(-apart, kind="stable")


def most_separating_pair(rows: FloatArray, labels: NDArray[Any]) -> tuple[int, int]:
    """Positions of the two features in which the classes are farthest apart, the better one first."""
    return _best_pair(*_scatters(rows, labels, np.full(len(rows), 1.0 / len(rows))))


def _best_pair(between: FloatArray, within: FloatArray) -> tuple[int, int]:
    separation, spread = np.diag(between), np.diag(within)
    alone = separation / spread
    # The trace of `inverse(within) @ between` for every pair of features, written out.
    crossed = np.outer(spread, separation) + np.outer(separation, spread) - 2.0 * within * between
    of_pairs = np.triu(crossed / np.maximum(np.outer(spread, spread) - within**2, np.finfo(float).tiny), 1)
    pair = np.unravel_index(of_pairs.argmax(), of_pairs.shape)
    first, second = sorted(map(int, pair), key=lambda j: -alone[j])
    return first, second


def _scatters(rows: FloatArray, labels: NDArray[Any], share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The between-class and the within-class covariance of rows that are these shares of all."""
    centered = rows - share @ rows
    which = np.unique(labels, return_inverse=True)[1]
    of_class = np.bincount(which, share)
    means = np.stack([np.bincount(which, share * column) for column in centered.T], axis=1) / of_class[:, np.newaxis]
    inner, total = centered - means[which], share @ centered**2
    ridge = LEAST_WITHIN * np.where(total > 0.0, total, 1.0)
    return (means.T * of_class) @ means, (inner.T * share) @ inner + np.diag(ridge)
