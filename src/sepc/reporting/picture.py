"""The data of the partition chart: projected ellipsoids (shadows) and some held-out rows, in a plane."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.sep_model import SEPModel
from sepc.reporting.partitions import named_ellipsoid
from sepc.reporting.svg import N_COLOURS
from sepc.views.log_odds import sample
from sepc.views.planes import (
    Plane,
    ellipsoid_plane,
    feature_plane,
    most_separating_pair,
    placed_names,
    principal_plane,
    separating_plane,
)
from sepc.wording import name_of

N_POINTS = 1500
N_SHADOWS = 120
# More projected ellipsoids than this hide one another.
MOST_SHADOWS = 12
# Rows hide one another along features with fewer distinct values than this, or with one value in more than this share
# of the rows.
N_VALUES, MOST_EQUAL = 20, 0.5
# On each side, at most this share of the rows lies beyond the edge of the picture.
BEYOND = 0.005
# Ellipses may enlarge the picture by this share of the rows' range, on each side.
ROOM = 0.35


@dataclass(frozen=True)
class Shadow:
    """A projected ellipsoid: all ``center + axes @ u`` with u in the unit circle; `axes` row by row."""

    number: int
    name: str
    owner: int
    center: tuple[float, float]
    axes: tuple[float, float, float, float]
    n_rows: int


@dataclass(frozen=True)
class Point:
    """A held-out row; `owner` is the position of its label among the classes, -1 if it is not among them.

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

    @property
    def has_many_classes(self) -> bool:
        """Whether there are too many classes for colours; their names are written among the rows instead."""
        return len(self.classes) > N_COLOURS

    @property
    def shows_ellipses(self) -> bool:
        """Whether all ellipses are drawn; if there are many, only those of a region that the reader selects."""
        return _are_few(len(self.classes), len(self.shadows), self.is_exact)


def picture(
    decisions: SEPDecisions,
    accepted: BoolArray,
    right: BoolArray | None,
    y: NDArray[Any] | None,
    label: NDArray[Any],
    listed: Sequence[int] = (),
    categories: Collection[int] = (),
) -> Picture | None:
    """The picture of a partition and of rows it decided on; None for a single feature.

    `label` are the labels given to the rows, `listed` the positions of rows that must be in the picture, and
    `categories` those of features that stand for categories.
    """
    model = decisions.model
    if len(model.placed) < 2:
        return None
    is_exact = len(model.feature_names) == 2
    plane = plane_of(decisions, categories)
    shadows = _shadows(model, plane)
    chosen = _sample(len(decisions), listed)
    places = plane.place(decisions.features[chosen][:, model.placed])
    owners = _positions(model.classes, (label if y is None else y)[chosen])
    marks = [None] * len(chosen) if right is None else right[chosen].tolist()
    return Picture(
        axes=(name_of(plane.names[0]), name_of(plane.names[1])),
        is_exact=is_exact,
        classes=tuple(map(name_of, model.classes)),
        by_true_label=y is not None,
        box=_box(places, shadows if _are_few(len(model.classes), len(shadows), is_exact) else ()),
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


def _are_few(n_classes: int, n_shadows: int, is_exact: bool) -> bool:
    return n_classes <= N_COLOURS and (is_exact or n_shadows <= MOST_SHADOWS)


def _shadows(model: SEPModel, plane: Plane) -> tuple[Shadow, ...]:
    held = model.place_rows[: model.n_ellipsoids]
    largest = np.sort(np.argsort(-held, kind="stable")[:N_SHADOWS]).tolist()
    shadows = []
    for k in largest:
        shadow = plane.shadow(model.ellipsoid(k))
        (x, y), (a, b, c, d) = shadow.center.tolist(), shadow.inverse_root.ravel().tolist()
        shadows.append(Shadow(k, named_ellipsoid(model, k), int(model.owners[k]), (x, y), (a, b, c, d), int(held[k])))
    return tuple(shadows)


def plane_of(decisions: SEPDecisions, categories: Collection[int] = ()) -> Plane:
    """The plane to draw in: the two continuous features that separate the labels best.

    If fewer than two features are continuous, so that rows would hide one another, it is the plane of the two linear
    discriminants or, for two labels, of two principal axes. `categories` are positions of encoded categories.
    """
    model = decisions.model
    if len(model.placed) == 2:
        return feature_plane(placed_names(model), (0, 1))
    rows, labels = sample(decisions.features), sample(decisions.label)
    hidden = {*categories, *np.flatnonzero(~model.is_placed).tolist()}
    continuous = [j for j, values in enumerate(rows.T) if j not in hidden and _is_continuous(values)]
    if len(continuous) > 1 and len(np.unique(labels)) > 1:
        first, second = most_separating_pair(rows[:, continuous], labels)
        return ellipsoid_plane(model, (continuous[first], continuous[second]))
    return separating_plane(model, rows, labels) or principal_plane(model)


def _is_continuous(values: FloatArray) -> bool:
    _, counts = np.unique(values, return_counts=True)
    return len(counts) >= N_VALUES and bool(counts.max() <= MOST_EQUAL * len(values))


def _sample(n: int, listed: Sequence[int]) -> NDArray[np.int64]:
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
