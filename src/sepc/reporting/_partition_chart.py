"""The picture of a partition: held-out rows and the projections of ellipsoids, linked to the tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.documents.charts import N_COLOURS, N_STYLES, Axis, Chart, Linked, Look, Oval, Points, Words
from sepc.documents.document import Figure
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.reporting._model_figures import RegionRow
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.views.log_odds import sample
from sepc.views.planes import Plane, best_plane, ellipsoid_plane, half_widths, most_separating_pair
from sepc.wording import counted, name_of, short

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
HINT = "Follow the link of a row or a region in the tables to see it here; click on a mark to go back."


class _Drawn(NamedTuple):
    """Rows of the picture: where they are, how they look, and what became of them."""

    places: FloatArray
    looks: list[Look]
    accepted: BoolArray
    wrong: BoolArray

    def marks(self, rows: Iterable[int]) -> list[Points]:
        """Rows that look alike together, and crosses for wrong rows on top."""
        alike: dict[tuple[Look, bool], list[int]] = {}
        for i in rows:
            alike.setdefault((self.looks[i], bool(self.accepted[i])), []).append(i)
        marks = []
        for (look, accepted), some in sorted(alike.items(), key=lambda item: -len(item[1])):
            x, y = self.places[some].T.tolist()
            marks.append(Points(x, y, look, is_hollow=not accepted))
        if wrong := [i for i in rows if self.wrong[i]]:
            x, y = self.places[wrong].T.tolist()
            marks.append(Points(x, y, "ink", "wrong label", shape="cross", size=4.2))
        return marks


def partition_figure(
    decisions: SEPDecisions,
    accepted: BoolArray,
    right: BoolArray | None,
    y: NDArray[Any] | None,
    label: NDArray[Any],
    listed: Mapping[int, str],
    regions: Mapping[int, RegionRow],
    categories: Collection[int],
) -> Figure | None:
    """Ellipses and held-out rows; `listed` rows and regions are linked to their tables. None for a single feature."""
    model, n = decisions.model, len(decisions)
    if len(model.placed) < 2:
        return None
    plane, chosen = plane_of(decisions, categories), _sample(n, list(listed))
    places = plane.place(decisions.features[chosen][:, model.placed])
    held = model.place_rows[: model.n_ellipsoids]
    numbers = np.sort(np.argsort(-held, kind="stable")[:N_SHADOWS]).tolist()
    shadows = {k: plane.shadow(model.ellipsoid(k)) for k in numbers}
    is_exact, has_names = len(model.feature_names) == 2, len(model.classes) > N_COLOURS
    shows_ovals = not has_names and (is_exact or len(shadows) <= MOST_SHADOWS)
    low, high = _box(places, list(shadows.values()) if shows_ovals else [])
    owners = _positions(model.classes, (label if y is None else y)[chosen])
    looks: list[Look] = ["other" if has_names or not 0 <= k < N_STYLES else k for k in owners]
    wrong = np.zeros(len(chosen), dtype=bool) if right is None else ~right[chosen]
    rows, names = _Drawn(places, looks, accepted[chosen], wrong), list(map(name_of, model.classes))
    is_inside = ((low <= places) & (places <= high)).all(axis=1)
    # Many ellipses on top of one another would hide the rows.
    thin = max(len(shadows), 1)
    marks: list[Any] = [
        Oval(
            shadow.center.tolist(),
            shadow.inverse_root.ravel().tolist(),
            "other" if has_names else int(model.owners[k]),
            f"{names[model.owners[k]]}: ellipsoid {k}, {held[k]:,} training rows",
            f"ellipse-{k}",
            fill=min(0.07, 0.5 / thin),
            stroke=min(0.9, max(0.35, 20 / thin)),
            is_hidden=not shows_ovals,
        )
        for k, shadow in shadows.items()
    ]
    marks += _keys(owners, names, has_names)
    by_region: dict[int, list[int]] = {region: [] for region in regions}
    for i in np.flatnonzero(is_inside).tolist():
        by_region.setdefault(int(decisions.region[chosen[i]]), []).append(i)
    for region, inner in sorted(by_region.items(), key=lambda item: -len(item[1])):
        own: list[Any] = list(rows.marks(inner))
        if region in regions:
            outline = [f"ellipse-{k}" for k in regions[region].ellipsoids if k in shadows]
            own = [Linked(place_id(region), line_id(region), regions[region].name, own, outline, "place")]
        marks += own
    for k, name in enumerate(names if has_names else ()):
        if len(of_class := places[is_inside & (np.asarray(owners) == k)]):
            x_middle, y_middle = np.median(of_class, axis=0).tolist()
            marks.append(Words(x_middle, y_middle, short(name, 12), "class-name"))
    for i, position in enumerate(chosen.tolist()):
        if position in listed:
            marks.append(_spot(position, np.clip(places[i], low, high), listed[position]))
    beyond = _left_out(len(chosen), n, int((~is_inside).sum()), len(shadows), model.n_ellipsoids)
    description = f"{len(shadows)} ellipses and {is_inside.sum()} held-out rows, by class. {beyond}"
    ends = zip(plane.names, low.tolist(), high.tolist(), strict=True)
    across, up = (Axis(name_of(name), start, end) for name, start, end in ends)
    chart = Chart("partition", "The partition", description, across, up, marks, 552.0, 470.0)
    ovals = "Ellipses are the model's ellipsoids."
    if not shows_ovals:
        ovals = "The ellipses of a region appear when you follow its link."
    if not is_exact:
        ovals += " They are projections onto this plane, which may overlap where the ellipsoids do not."
    whose = "predicted" if y is None else "true"
    caption = f"Marks are held-out rows by their {whose} labels. {ovals} {beyond}".strip()
    return Figure([chart], caption, "picture", HINT)


def plane_of(decisions: SEPDecisions, categories: Collection[int] = ()) -> Plane:
    """The plane to draw in: the two continuous features that separate the labels best."""
    model = decisions.model
    rows, labels = sample(decisions.features), sample(decisions.label)
    hidden = {*categories, *np.flatnonzero(~model.is_placed).tolist()}
    continuous = [j for j, values in enumerate(rows.T) if j not in hidden and _is_continuous(values)]
    if len(model.placed) > 2 and len(continuous) > 1 and len(np.unique(labels)) > 1:
        first, second = most_separating_pair(rows[:, continuous], labels)
        return ellipsoid_plane(model, (continuous[first], continuous[second]))
    return best_plane(model)


def _is_continuous(values: FloatArray) -> bool:
    _, counts = np.unique(values, return_counts=True)
    return len(counts) >= N_VALUES and bool(counts.max() <= MOST_EQUAL * len(values))


def _sample(n: int, listed: Sequence[int]) -> IntArray:
    """Positions of the rows to draw, in order."""
    if n <= N_POINTS:
        return np.arange(n)
    random = np.random.default_rng(0).choice(n, size=N_POINTS, replace=False)
    others = random[~np.isin(random, listed)][: N_POINTS - len(listed)]
    return np.sort(np.concatenate([others, np.asarray(listed, dtype=np.int64)]))


def _positions(classes: NDArray[Any], labels: NDArray[Any]) -> list[int]:
    known = {label: k for k, label in enumerate(classes.tolist())}
    return [known.get(label, -1) for label in labels.tolist()]


def _box(places: FloatArray, shadows: Sequence[Ellipsoid]) -> tuple[FloatArray, FloatArray]:
    """Limits that show most rows, and as much of the ellipses as leaves the rows large enough."""
    low, high = np.quantile(places, [BEYOND, 1.0 - BEYOND], axis=0)
    middle = np.array([shadow.center for shadow in shadows]).reshape(-1, 2)
    reach = np.array([half_widths(shadow) for shadow in shadows]).reshape(-1, 2)
    range_ = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    low = np.maximum(low - MARGIN * range_, np.minimum(low, (middle - reach).min(axis=0, initial=np.inf)))
    high = np.minimum(high + MARGIN * range_, np.maximum(high, (middle + reach).max(axis=0, initial=-np.inf)))
    pad = 0.03 * (high - low) + 1e-12 * range_ + np.where(high > low, 0.0, 0.5 * range_)
    return low - pad, high + pad


def place_id(region: int) -> str:
    """The id of a region in the picture."""
    return f"in-{region}" if region >= 0 else "in-new"


def line_id(region: int) -> str:
    """The id of a region's line in its table."""
    return f"region-{region}" if region >= 0 else "region-new"


def _left_out(n_drawn: int, n: int, n_beyond: int, n_shadows: int, n_ellipsoids: int) -> str:
    """A note on rows and ellipsoids that the picture leaves out."""
    sentences = []
    if n_drawn < n:
        sentences.append(f"{n_drawn:,} of {n:,} rows are drawn, chosen at random.")
    if n_beyond:
        sentences.append(f"{counted(n_beyond, 'row lies', 'rows lie')} beyond the edges.")
    if n_shadows < n_ellipsoids:
        sentences.append(f"Of {n_ellipsoids:,} ellipsoids, the {n_shadows:,} with the most rows are drawn.")
    return " ".join(sentences)


def _keys(owners: Sequence[int], names: Sequence[str], has_names: bool) -> list[Points]:
    """The entries of the legend; of many classes, names are written among the rows instead."""
    looks = sorted({k if 0 <= k < N_STYLES else -1 for k in owners})
    keys: list[tuple[str, Look]] = [("other labels", "other") if k < 0 else (names[k], k) for k in looks]
    filled = [Points([], [], look, name) for name, look in ([("accepted", "other")] if has_names else keys)]
    return [*filled, Points([], [], "other", "not accepted", is_hollow=True)]


def _spot(position: int, place: FloatArray, text: str) -> Linked:
    """A listed row: a click leads to its line in the table, and a link from there marks it."""
    x, y = place.reshape(2, 1).tolist()
    marks, outline = Points(x, y, "ink", shape="circle", size=6.0), Points(x, y, "ink", shape="circle", size=11.0)
    return Linked(f"at-{position}", f"row-{position}", text, [marks], [outline], "spot")
