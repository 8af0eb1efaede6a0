"""The picture of a partition: held-out rows and the projections of ellipsoids, linked to the tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.documents.charts import N_COLOURS, N_STYLES, Axis, Chart, Linked, Look, Oval, Points, Words
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.sep_model import SEPModel
from sepc.reporting._model_figures import RegionRow
from sepc.reporting._partitions import named_ellipsoid
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
from sepc.wording import name_of, short

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
MARGIN = 0.35


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
    """A held-out row; `owner` is the position of its label among the classes, -1 if it is not among them."""

    x: float
    y: float
    owner: int
    accepted: bool
    right: bool | None
    region: int = -1
    position: int = -1


@dataclass(frozen=True)
class Picture:
    """What is drawn, in the units of the axes."""

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
    """The picture of a partition and of rows it decided on; None for a single feature."""
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
    """The plane to draw in: the two continuous features that separate the labels best."""
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
    low = np.maximum(low - MARGIN * range_, np.minimum(low, (middle - reach).min(axis=0, initial=np.inf)))
    high = np.minimum(high + MARGIN * range_, np.maximum(high, (middle + reach).max(axis=0, initial=-np.inf)))
    pad = 0.03 * (high - low) + 1e-12 * range_ + np.where(high > low, 0.0, 0.5 * range_)
    (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
    return left, right, bottom, top


def partition_chart(
    picture: Picture, rows: Mapping[int, str] | None = None, regions: Mapping[int, RegionRow] | None = None
) -> Chart:
    """Ellipses and rows in the plane of the picture; listed rows and regions are linked to their tables."""
    regions = regions or {}
    inside = [point for point in picture.points if _is_inside(picture, point)]
    # Many ellipses on top of one another would hide the rows.
    n = max(len(picture.shadows), 1)
    marks: list[Any] = [
        Oval(
            shadow.center,
            shadow.axes,
            "other" if picture.has_many_classes else shadow.owner,
            f"{shadow.name}, {shadow.n_rows:,} training rows",
            f"ellipse-{shadow.number}",
            fill=min(0.07, 0.5 / n),
            stroke=min(0.9, max(0.35, 20 / n)),
            is_hidden=not picture.shows_ellipses,
        )
        for shadow in picture.shadows
    ]
    by_region: dict[int, list[Point]] = {region: [] for region in regions}
    for point in inside:
        by_region.setdefault(point.region, []).append(point)
    drawn = {shadow.number for shadow in picture.shadows}
    for region, points in sorted(by_region.items(), key=lambda item: -len(item[1])):
        if region not in regions:
            marks += _marks(points, picture)
            continue
        place = regions[region]
        ovals = [f"ellipse-{k}" for k in place.ellipsoids if k in drawn]
        marks.append(Linked(place_id(region), line_id(region), place.name, _marks(points, picture), ovals, "place"))
    if picture.has_many_classes:
        for k, name in enumerate(picture.classes):
            if of_class := [(point.x, point.y) for point in inside if point.owner == k]:
                x, y = np.median(of_class, axis=0).tolist()
                marks.append(Words(x, y, short(name, 12), "class-name"))
    marks += [
        _spot(picture, point, rows[point.position]) for point in picture.points if rows and point.position in rows
    ]
    left, right, bottom, top = picture.box
    description = f"{len(picture.shadows)} ellipses and {len(inside)} held-out rows, by class. {beyond(picture)}"
    x, y = Axis(picture.axes[0], left, right), Axis(picture.axes[1], bottom, top)
    return Chart("partition", "The partition", description, x, y, marks, 552.0, 470.0)


def place_id(region: int) -> str:
    """The id of a region in the picture."""
    return f"in-{region}" if region >= 0 else "in-new"


def line_id(region: int) -> str:
    """The id of a region's line in its table."""
    return f"region-{region}" if region >= 0 else "region-new"


def beyond(picture: Picture) -> str:
    """A note on rows and ellipsoids that the picture leaves out."""
    n_beyond = sum(not _is_inside(picture, point) for point in picture.points)
    sentences = []
    if len(picture.points) < picture.n_rows:
        sentences.append(f"{len(picture.points):,} of {picture.n_rows:,} rows are drawn, chosen at random.")
    if n_beyond:
        sentences.append(f"{n_beyond:,} {'row lies' if n_beyond == 1 else 'rows lie'} beyond the edges.")
    if len(picture.shadows) < picture.n_ellipsoids:
        sentences.append(
            f"Of {picture.n_ellipsoids:,} ellipsoids, the {len(picture.shadows):,} with the most rows are drawn."
        )
    return " ".join(sentences)


def _is_inside(picture: Picture, point: Point) -> bool:
    left, right, bottom, top = picture.box
    return left <= point.x <= right and bottom <= point.y <= top


def _marks(points: list[Point], picture: Picture) -> list[Points]:
    """Rows that look alike together, and crosses for wrong rows on top."""
    alike: dict[tuple[Look, bool], list[Point]] = {}
    for point in points:
        is_other = picture.has_many_classes or not 0 <= point.owner < N_STYLES
        alike.setdefault(("other" if is_other else point.owner, point.accepted), []).append(point)
    marks = []
    for (look, accepted), some in sorted(alike.items(), key=lambda item: -len(item[1])):
        name = "" if picture.has_many_classes else "other labels" if isinstance(look, str) else picture.classes[look]
        key = (name or "accepted") if accepted else ", ".join(filter(None, (name, "not accepted")))
        marks.append(Points([one.x for one in some], [one.y for one in some], look, key, is_hollow=not accepted))
    wrong = [one for one in points if one.right is False]
    crosses = Points([one.x for one in wrong], [one.y for one in wrong], "ink", "wrong label", shape="cross", size=4.2)
    return [*marks, crosses] if wrong else marks


def _spot(picture: Picture, point: Point, text: str) -> Linked:
    """A listed row: a click leads to its line in the table, and a link from there marks it."""
    left, right, bottom, top = picture.box
    x, y = [min(max(point.x, left), right)], [min(max(point.y, bottom), top)]
    marks, outline = Points(x, y, "ink", shape="circle", size=6.0), Points(x, y, "ink", shape="circle", size=11.0)
    return Linked(f"at-{point.position}", f"row-{point.position}", text, [marks], [outline], "spot")
