"""Two directions to draw in, and the exact shadows of ellipsoids on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral

import numpy as np

from sepc._typing import FloatArray
from sepc.cards import ShownOnOneLine
from sepc.model.moments import mean_and_covariance
from sepc.model.sep_model import SEPModel
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.wording import percent

# A feature that varies less than this share of the one that varies most gets no say of its own in principal axes.
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
        # As `Ellipsoid.project`, without its test of rank: directions of features in very different units fail that.
        upper = np.linalg.qr((self.directions @ ellipsoid.inverse_root).T, mode="r")
        return Ellipsoid(self.place(ellipsoid.center[None, :])[0], np.linalg.inv(upper).T)


def feature_plane(names: Sequence[str], features: tuple[str | int, str | int]) -> Plane:
    """Two features as they are.

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

    They are the principal axes of the training rows in standardised features, as far as ellipsoids and isolated rows
    tell.

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
    """Points on the boundary of an ellipse, of shape (n, 2); the last is the first again."""
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
    """The length of one unit along every feature of the model; ones if the model is standardised already."""
    if np.any(model.scale != 1.0):
        return np.ones(len(model.scale))
    spread = np.sqrt(np.diag(covariance))
    largest = float(spread.max()) or 1.0
    return np.asarray(np.where(spread > LEAST_SPREAD * largest, spread, largest))


def _turned(axis: FloatArray) -> FloatArray:
    """The axis or its opposite, such that its largest entry is positive: the same picture on every machine."""
    return np.asarray(axis * np.sign(axis[np.abs(axis).argmax()]))
