"""The data of the partition chart: shadows of ellipsoids and some held-out rows, in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.sep_model import SEPModel
from sepc.views.log_odds import contrast_of, sample, spreads_of
from sepc.views.planes import Plane, feature_plane, principal_plane
from sepc.wording import name_of

N_POINTS = 1500
N_SHADOWS = 120
# Features with fewer distinct values make rows hide one another.
N_VALUES = 20
# On each side, at most this share of the rows lies beyond the edge of the picture.
BEYOND = 0.005
# Ellipses may enlarge the picture by this share of the rows' range, on each side.
ROOM = 0.35


@dataclass(frozen=True)
class Shadow:
    """An ellipse: all ``center + axes @ u`` with u in the unit circle; `axes` row by row."""

    number: int
    owner: int
    center: tuple[float, float]
    axes: tuple[float, float, float, float]
    n_rows: int


@dataclass(frozen=True)
class Point:
    """A held-out row; `owner` is the position of its label among the classes, -1 if it is none of them.

    `region` and `position` say in which region it lies and which of the held-out rows it is.
    """

    x: float
    y: float
    owner: int
    accepted: bool
    right: bool | None
    region: int = -1
    position: int = -1


@dataclass(frozen=True)
class Picture:
    """What is drawn, in the units of the axes.

    Attributes
    ----------
    axes : pair of str
        Names of the axes.
    is_exact : bool
        Whether the two axes are all the features of the model.
    classes : tuple of str
    by_true_label : bool
        Whether points show true labels, or predicted ones.
    box : x from, x to, y from, y to
    shadows : tuple of Shadow
        Those with the most training rows, of `n_ellipsoids`.
    points : tuple of Point
        Drawn at random from `n_rows`; rows that the report lists are always among them.
    """

    axes: tuple[str, str]
    is_exact: bool
    classes: tuple[str, ...]
    by_true_label: bool
    box: tuple[float, float, float, float]
    shadows: tuple[Shadow, ...]
    n_ellipsoids: int
    points: tuple[Point, ...]
    n_rows: int


def picture(
    decisions: SEPDecisions,
    accepted: BoolArray,
    right: BoolArray | None,
    y: NDArray[Any] | None,
    label: NDArray[Any],
    listed: Sequence[int] = (),
) -> Picture | None:
    """The picture of a partition and of rows it decided on; None for a single feature.

    `label` are the labels given to the rows, and `listed` the positions of rows that must be in the picture.
    """
    model = decisions.model
    n_features = len(model.feature_names)
    if n_features < 2:
        return None
    plane = plane_of(decisions)
    shadows = _shadows(model, plane)
    chosen = _some(len(decisions), listed)
    places = plane.place(decisions.features[chosen])
    owners = _positions(model.classes, (label if y is None else y)[chosen])
    marks = [None] * len(chosen) if right is None else right[chosen].tolist()
    return Picture(
        axes=(name_of(plane.names[0]), name_of(plane.names[1])),
        is_exact=n_features == 2,
        classes=tuple(map(name_of, model.classes)),
        by_true_label=y is not None,
        box=_box(places, shadows),
        shadows=shadows,
        n_ellipsoids=model.n_ellipsoids,
        points=tuple(
            map(
                Point,
                *places.T.tolist(),
                owners,
                accepted[chosen].tolist(),
                marks,
                decisions.region[chosen].tolist(),
                chosen.tolist(),
            )
        ),
        n_rows=len(decisions),
    )


def _shadows(model: SEPModel, plane: Plane) -> tuple[Shadow, ...]:
    held = model.place_rows[: model.n_ellipsoids]
    largest = np.sort(np.argsort(-held, kind="stable")[:N_SHADOWS]).tolist()
    shadows = []
    for k in largest:
        shadow = plane.shadow(model.ellipsoid(k))
        (x, y), (a, b, c, d) = shadow.center.tolist(), shadow.inverse_root.ravel().tolist()
        shadows.append(Shadow(k, int(model.owners[k]), (x, y), (a, b, c, d), int(held[k])))
    return tuple(shadows)


def plane_of(decisions: SEPDecisions) -> Plane:
    """The plane to draw in: two features that a reader knows or, if too few are continuous, two principal axes.

    The features are those whose terms vary most over the rows.
    """
    model = decisions.model
    if len(model.feature_names) == 2:
        return feature_plane(model.feature_names, (0, 1))
    continuous = [j for j, values in enumerate(sample(decisions.features).T) if len(np.unique(values)) >= N_VALUES]
    if model.weights is None or len(model.classes) < 2 or len(continuous) < 2:
        return principal_plane(model)
    contrasts = np.column_stack([contrast_of(model, label).coefficients for label in model.classes.tolist()])
    spreads = spreads_of(model, contrasts, decisions.rows).mean(axis=1)
    first, second = sorted(continuous, key=lambda j: -spreads[j])[:2]
    return feature_plane(model.feature_names, (first, second))


def _some(n: int, listed: Sequence[int]) -> NDArray[np.int64]:
    """Positions of the rows to draw, in order."""
    if n <= N_POINTS:
        return np.arange(n)
    random = np.random.default_rng(0).choice(n, size=N_POINTS, replace=False)
    others = random[~np.isin(random, listed)][: N_POINTS - len(listed)]
    return np.sort(np.concatenate([others, np.asarray(listed, dtype=np.int64)]))


def _positions(classes: NDArray[Any], labels: NDArray[Any]) -> list[int]:
    known = {label: k for k, label in enumerate(classes.tolist())}
    return [known.get(label, -1) for label in labels.tolist()]


def _box(places: FloatArray, shadows: tuple[Shadow, ...]) -> tuple[float, float, float, float]:
    """Limits that show most rows, and as much of the ellipses as leaves the rows large enough."""
    low, high = np.quantile(places, [BEYOND, 1.0 - BEYOND], axis=0)
    middle = np.array([shadow.center for shadow in shadows]).reshape(-1, 2)
    reach = np.array([np.hypot(*np.reshape(shadow.axes, (2, 2)).T) for shadow in shadows]).reshape(-1, 2)
    range_ = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    low = np.maximum(low - ROOM * range_, np.minimum(low, (middle - reach).min(axis=0, initial=np.inf)))
    high = np.minimum(high + ROOM * range_, np.maximum(high, (middle + reach).max(axis=0, initial=-np.inf)))
    pad = 0.03 * (high - low) + 1e-12 * range_ + np.where(high > low, 0.0, 0.5 * range_)
    (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
    return left, right, bottom, top
