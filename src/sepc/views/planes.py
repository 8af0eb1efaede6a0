"""Planes to draw in: two features or principal axes, and the exact shadows of ellipsoids on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from numbers import Integral

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.model.moments import mean_and_covariance
from sepc.model.sep_model import SEPModel
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.wording import percent

# Features with less than this share of the largest spread are not scaled up when principal axes are computed.
LEAST_SPREAD = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class Plane(ShownOnOneLine):
    """Two directions of the user's features, to draw in.

    Attributes
    ----------
    origin : (d,) array
        The row that is drawn at (0, 0).
    directions : (2, d) array
        A row is drawn at ``(row - origin) @ directions.T``.
    names : pair of str
        What to write on the axes.
    """

    origin: FloatArray
    directions: FloatArray
    names: tuple[str, str]

    def place(self, rows: FloatArray) -> FloatArray:
        """Where rows are drawn, of shape (n, 2)."""
        return np.asarray((np.asarray(rows, dtype=np.float64) - self.origin) @ self.directions.T)

    def shadow(self, ellipsoid: Ellipsoid) -> Ellipsoid:
        """The exact projection of an ellipsoid: an ellipse, which holds every row that the ellipsoid holds."""
        # Like `Ellipsoid.project`, but without its rank test, which fails for features in very different units.
        upper = np.linalg.qr((self.directions @ ellipsoid.inverse_root).T, mode="r")
        return Ellipsoid(self.place(ellipsoid.center[None, :])[0], np.linalg.inv(upper).T)


def feature_plane(names: Sequence[str], features: tuple[str | int, str | int]) -> Plane:
    """The plane of two features.

    Parameters
    ----------
    names : sequence of str
        Of all features.
    features : pair of str or int
        The two to draw, by name or position.

    Returns
    -------
    Plane
        Its origin is 0.

    Examples
    --------
    >>> plane = feature_plane(["area", "texture", "concavity"], ("concavity", 0))
    >>> plane.names
    ('concavity', 'area')
    >>> plane.place([[1.0, 2.0, 3.0]])
    array([[3., 1.]])
    """
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features is {features!r}; a picture needs a pair of them, by name or position.")
    first, second = (position_of(names, feature) for feature in features)
    if first == second:
        raise ValueError(f"features names {names[first]!r} twice; a picture needs two different ones.")
    directions = np.eye(len(names))[[first, second]]
    return Plane(np.zeros(len(names)), directions, (str(names[first]), str(names[second])))


def principal_plane(model: SEPModel) -> Plane:
    """The two directions in which a fitted model's ellipsoids spread most, in standard units.

    They estimate the principal axes of the standardised training rows from the ellipsoids and isolated rows.

    Raises
    ------
    ValueError
        If the model has a single feature.
    """
    if model.centers.shape[1] < 2:
        raise ValueError(f"A picture needs two features; this model has only {model.feature_names[0]!r}.")
    mean, covariance = mean_and_covariance(model)
    unit = _unit(model, covariance)
    lengths, axes = np.linalg.eigh(covariance / np.outer(unit, unit))
    first, second = (_turned(axes[:, -k]) for k in (1, 2))
    shares = np.maximum(lengths[::-1], 0.0) / max(float(lengths.sum()), np.finfo(float).tiny)
    return Plane(
        origin=model.shift + model.scale * mean,
        directions=np.stack([first, second]) / (unit * model.scale),
        names=(
            f"principal axis 1 ({percent(shares[0], 0)} of the spread)",
            f"principal axis 2 ({percent(shares[1], 0)})",
        ),
    )


def outline(ellipse: Ellipsoid, n: int = 120) -> FloatArray:
    """Points on the boundary of an ellipse, of shape (n, 2); the last repeats the first."""
    return ellipse.boundary(n)


def position_of(names: Sequence[str], feature: str | int) -> int:
    """The position of a feature given by name or position."""
    known = [str(name) for name in names]
    if isinstance(feature, Integral):
        if not 0 <= feature < len(known):
            raise ValueError(f"There is no feature {feature}; positions go from 0 to {len(known) - 1}.")
        return int(feature)
    n_found = known.count(str(feature))
    if n_found == 0:
        near = get_close_matches(str(feature), known, n=3, cutoff=0.5) or known[:3]
        raise ValueError(f"There is no feature {feature!r}; did you mean one of {', '.join(map(repr, near))}?")
    if n_found > 1:
        raise ValueError(f"{n_found} features are called {feature!r}; give the position of the one you mean.")
    return known.index(str(feature))


def _unit(model: SEPModel, covariance: FloatArray) -> FloatArray:
    """The scale of each feature of the model; ones if the model standardises already."""
    if np.ptp(model.scale) > 0.0 or np.any(model.shift != 0.0):
        return np.ones(len(model.scale))
    spread = np.sqrt(np.diag(covariance))
    largest = float(spread.max()) or 1.0
    return np.asarray(np.where(spread > LEAST_SPREAD * largest, spread, largest))


def _turned(axis: FloatArray) -> FloatArray:
    """The axis with its sign fixed: the largest entry is positive, so every machine draws the same picture."""
    return np.asarray(axis * np.sign(axis[np.abs(axis).argmax()]))


def half_widths(ellipsoid: Ellipsoid) -> FloatArray:
    """Half the width of an ellipsoid along each feature, of shape (d,)."""
    return np.asarray(np.linalg.norm(ellipsoid.inverse_root, axis=1))


def most_separating_features(ellipsoids: Sequence[Ellipsoid]) -> IntArray:
    """Positions of the features, starting with the one that separates the ellipsoids best.

    For two ellipsoids, the separation along a feature is the distance of their centres divided by the sum of their half
    widths: 0 if the centres agree, 1 if they just touch. Features are sorted by its mean over all pairs.

    Examples
    --------
    >>> left, right = Ellipsoid(np.array([0.0, 0.0]), np.eye(2)), Ellipsoid(np.array([0.1, 3.0]), np.eye(2))
    >>> most_separating_features([left, right])
    array([1, 0])
    """
    widths = [half_widths(ellipsoid) for ellipsoid in ellipsoids]
    apart = np.zeros(ellipsoids[0].n_features)
    for i, j in combinations(range(len(ellipsoids)), 2):
        apart += np.abs(ellipsoids[i].center - ellipsoids[j].center) / (widths[i] + widths[j])
    return np.argsort(-apart, kind="stable")
