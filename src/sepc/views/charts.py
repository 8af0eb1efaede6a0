"""Charts of trust, of overlapping and confused classes, of shape functions, and of pairs of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc.documents.charts import Area, Axis, Bars, Chart, Line, Look, Points, Words, tick_text
from sepc.views.log_odds import Curve
from sepc.views.outcomes import Bins, RiskCoverage
from sepc.wording import counted, decimal, percent, short

# Below this coverage the risk is mostly noise, and the curve may leave the chart.
SETTLED = 0.05
# Shares of rows for which the description of a risk-coverage curve gives the risk.
COVERAGES = (0.2, 0.4, 0.6, 0.8, 0.9)
Numbers = Sequence[float]


def risk_coverage_chart(
    curve: RiskCoverage, accepted: tuple[float, float] | None = None, key: str = "", look: Look = 0
) -> Chart:
    """The risk-coverage curve: the error rate among accepted rows, for every share of rows accepted."""
    coverage, risk = curve.coverage.tolist(), curve.risk.tolist()
    settled = [one for at, one in zip(coverage, risk, strict=True) if at >= SETTLED]
    highest = min(max(1.25 * max(settled), 0.01), 1.0)
    marks: list[Any] = [Line(coverage, risk, look, key, width=2.0, is_series=True)]
    if accepted is not None:
        share, wrong = accepted
        told = f"accepts {percent(share)}, {percent(wrong)} of them wrong" if share else "accepts no row"
        marks.append(Points([share], [min(wrong, highest)], look, told, size=5.0))
    shown = [int(np.searchsorted(coverage, share)) for share in COVERAGES]
    at = ", ".join(f"{percent(risk[i])} at {percent(share)}" for i, share in zip(shown, COVERAGES, strict=True))
    description = f"Wrong among the most trusted rows: {at}, and {percent(risk[-1])} of all."
    x = Axis("coverage: share of rows accepted", 0.0, 1.0, is_share=True)
    return Chart("risk", "Risk-coverage curve", description, x, Axis("selective risk", 0.0, highest, True), marks)


def reliability_chart(bins: Bins, key: str = "", look: Look = 0) -> Chart:
    """The reliability diagram: how often labels are right, by their trust."""
    trust, right, n_rows = bins.trust.tolist(), bins.right.tolist(), bins.n_rows.tolist()
    low, high = bins.low.tolist(), bins.high.tolist()
    start = math.floor(10.0 * min(*trust, *low, 0.9)) / 10.0
    marks: list[Any] = [Line([start, 1.0], [start, 1.0], "quiet", "perfectly calibrated", is_dashed=True)]
    marks += [Line([at, at], [a, b], look) for at, a, b in zip(trust, low, high, strict=True)]
    texts = [
        f"{counted(n, 'row')}: trust {decimal(at)}, right {percent(share)}"
        for at, share, n in zip(trust, right, n_rows, strict=True)
    ]
    marks += [Line(trust, right, look, key, is_series=True), Points(trust, right, look, size=4.0, texts=texts)]
    description = f"In bins of trust, with 95 % intervals. {'; '.join(texts)}."
    x, y = Axis("mean trust", start, 1.0), Axis("accuracy", start, 1.0, is_share=True)
    return Chart("reliability", "Reliability diagram", description, x, y, marks)


def histogram_chart(names: tuple[str, str], first: Sequence[int], second: Sequence[int]) -> Chart:
    """Rows by trust, in bins of equal width, of two kinds."""
    n = len(first)
    highest = max(a + b for a, b in zip(first, second, strict=True))
    texts = [
        f"trust {i / n:.2f} to {(i + 1) / n:.2f}: {first[i]:,} {names[0]}, {second[i]:,} {names[1]}" for i in range(n)
    ]
    sides = [((i + 0.08) / n, (i + 0.92) / n) for i in range(n)]
    lower = [(*side, 0.0, float(a)) for side, a in zip(sides, first, strict=True)]
    upper = [(*side, float(a), float(a + b)) for side, a, b in zip(sides, first, second, strict=True)]
    marks = [Bars(lower, "accent", names[0], texts), Bars(upper, "wrong", names[1], texts, is_hatched=True)]
    description = f"{sum(first):,} {names[0]}, {sum(second):,} {names[1]}."
    x, y = Axis("trust"), Axis("held-out rows", 0.0, 1.08 * highest)
    return Chart("trust-bars", "Rows by trust", description, x, y, marks)


# With more classes than this, overlaps are not drawn; cells of more than the next number have no room for text.
MOST_CLASSES, MOST_WRITTEN = 30, 14
# The darkest shade stands for the largest share, or for this one if all are smaller.
LEAST_SHADED = 0.05
# No wrong cell is fainter than the first of these, and none darker than the second.
FAINTEST, DARKEST = 0.12, 0.75
CELL = 22.0
Cells = Sequence[tuple[int, int, float, str, str]]


def heat_map(
    name: str,
    title: str,
    description: str,
    names: tuple[Sequence[str], Sequence[str]],
    axes: tuple[str, str],
    cells: dict[Look, Cells],
) -> Chart:
    """Cells in rows and columns with these names: row, column, shade, what it is, and what is written in it."""
    rows, columns = names
    marks: list[Any] = []
    for look, some in cells.items():
        boxes = [(j - 0.48, j + 0.48, i - 0.48, i + 0.48) for i, j, *_ in some]
        marks.append(Bars(boxes, look, texts=[cell[3] for cell in some], shades=[cell[2] for cell in some]))
        marks += [Words(j, i, written, "tick") for i, j, _, _, written in some if written]
    x = Axis(axes[0], -0.5, len(columns) - 0.5, ticks=list(enumerate(columns)))
    y = Axis(axes[1], len(rows) - 0.5, -0.5, ticks=list(enumerate(rows)))
    size = max(CELL, min(2.0 * CELL, 460.0 / len(columns)))
    return Chart(name, title, description, x, y, marks, 140.0 + size * len(columns), 70.0 + size * len(rows))


def confusion_chart(confusion: Any) -> Chart:
    """Rows by true and predicted label; wrong ones are counted."""
    wrong, right = [], []
    most = max([n for i, row in enumerate(confusion.counts) for j, n in enumerate(row) if i != j] + [1])
    for i, row in enumerate(confusion.counts):
        for j, n in enumerate(row):
            of_all = percent(n / sum(row)) if n else ""
            told = f"{confusion.truths[i]} predicted as {confusion.classes[j]}: {n:,} rows, {of_all} of them"
            if n and i == j:
                right.append((i, j, 0.3, told, ""))
            elif n:
                shade = FAINTEST + (DARKEST - FAINTEST) * n / most
                wrong.append((i, j, shade, told, f"{n}" if n < 1000 else "…"))
    description = f"A row for each true label, a column for each predicted one; the darkest cell holds {most:,} rows."
    names, axes = (confusion.truths, confusion.classes), ("predicted label", "true label")
    return heat_map("confusion", "Confusion matrix", description, names, axes, {"accent": right, "wrong": wrong})


def overlap_chart(names: Sequence[str], inside: Sequence[Numbers], fewest: int = 3) -> Chart | None:
    """For each class, the share of its rows in every other class's ellipsoid; None for fewer classes or too many."""
    n = len(names)
    if not fewest <= n <= MOST_CLASSES:
        return None
    most = max(inside[i][j] for i in range(n) for j in range(n) if i != j)
    cells = [
        (
            i,
            j,
            0.6 * inside[i][j] / max(most, LEAST_SHADED),
            f"{percent(inside[i][j])} of {names[i]} lie in the ellipsoid of {names[j]}",
            percent(inside[i][j], 0) if n <= MOST_WRITTEN else "",
        )
        for i in range(n)
        for j in range(n)
        if i != j
    ]
    description = (
        "One row of cells per class: the darker, the more of its rows also lie in the other class's ellipsoid."
    )
    axes = ("also in the ellipsoid of", "rows of")
    return heat_map("overlap", "How classes overlap", description, (names, names), axes, {"accent": cells})


# The share of a chart's height, at its foot, for the histogram of rows.
FOOT = 0.17
# Of a discrete feature with more values than this, only some get a tick.
MOST_TICKS = 8


def curve_charts(curves: Sequence[Curve], looks: tuple[Look, Look], axis: str = "log-odds") -> list[Chart]:
    """What each feature adds, on one scale; `looks` are those of terms for and against."""
    terms = np.concatenate([[0.0], *(curve.term for curve in curves)])
    room = 0.08 * float(np.ptp(terms)) or 0.1
    low, high = float(terms.min()) - room, float(terms.max()) + room
    return [_curve(f"curve-{i}", curve, looks, Axis(axis, low, high)) for i, curve in enumerate(curves)]


def _curve(name: str, curve: Curve, looks: tuple[Look, Look], scale: Axis) -> Chart:
    low, high = scale.low, scale.high
    x, term, n = curve.x.tolist(), curve.term.tolist(), len(curve.x)
    start, end = (-0.6, n - 0.4) if curve.is_discrete else (x[0], x[-1])
    floor = low - FOOT / (1.0 - FOOT) * (high - low)
    marks: list[Any] = [*_foot(curve, floor, high), Line([start, end], [0.0, 0.0], "quiet", width=1.0)]
    ticks = None
    if curve.is_discrete:
        step = 1 + (n - 1) // MOST_TICKS
        ticks = [(k, curve.categories[k] if curve.categories else tick_text(x[k])) for k in range(0, n, step)]
        for look, is_for in zip(looks, (True, False), strict=True):
            chosen = [k for k in range(n) if (term[k] > 0.0) == is_for]
            boxes = [(k - 0.4, k + 0.4, min(term[k], 0.0), max(term[k], 0.0)) for k in chosen]
            counts = [f", {counted(int(curve.n_rows[k]), 'row')}" if len(curve.n_rows) else "" for k in chosen]
            texts = [f"{curve.value(k, 6)}: {term[k]:+.2f}{more}" for k, more in zip(chosen, counts, strict=True)]
            marks.append(Bars(boxes, look, texts=texts))
    else:
        at, vertices = _crossing_zero(x, term)
        marks += [Area(at, np.maximum(vertices, 0.0).tolist(), looks[0])]
        marks += [Area(at, np.minimum(vertices, 0.0).tolist(), looks[1]), Line(x, term)]
    least, most = int(np.argmin(term)), int(np.argmax(term))
    description = f"From {term[least]:+.2f} at {curve.value(least)} to {term[most]:+.2f} at {curve.value(most)}."
    proved = f" ({curve.proved})" if curve.proved else ""
    named = Axis(f"{short(curve.name, 46 - len(proved))}{proved}", start, end, ticks=ticks)
    height = Axis(scale.name, floor, high, least=low)
    return Chart(name, f"What {curve.name}{proved} adds", description, named, height, marks, 330.0, 240.0)


def _crossing_zero(x: Numbers, term: Numbers) -> tuple[list[float], Any]:
    """The vertices of a curve, and those where it crosses zero."""
    at, height = np.asarray(x), np.asarray(term)
    k = np.flatnonzero(height[:-1] * height[1:] < 0.0)
    cross = at[k] + (at[k + 1] - at[k]) * height[k] / (height[k] - height[k + 1])
    return np.insert(at, k + 1, cross).tolist(), np.insert(height, k + 1, 0.0)


def _foot(curve: Curve, floor: float, high: float) -> list[Bars]:
    """The histogram of the rows or, without rows, ticks where the curve may step."""
    unit = 0.85 * FOOT * (high - floor)
    if not len(curve.n_rows):
        wide = 0.002 * float(curve.x[-1] - curve.x[0])
        return [Bars([(at - wide, at + wide, floor, floor + 0.4 * unit) for at in curve.knots.tolist()], "other")]
    edges = [(k - 0.4, k + 0.4) for k in range(len(curve.x))]
    if not curve.is_discrete:
        edges = list(zip(curve.edges[:-1].tolist(), curve.edges[1:].tolist(), strict=True))
    tall = (floor + unit * curve.n_rows / curve.n_rows.max()).tolist()
    boxes = [(*edge, floor, top) for edge, top in zip(edges, tall, strict=True)]
    return [Bars(boxes, "other", shades=[0.55] * len(boxes))]


# Charts show at most this many entries, the first of those given.
MOST_SHOWN = 20


@dataclass(frozen=True)
class Pair:
    """Two values of the same thing, such as a rate before and now; `note` says more about it."""

    name: str
    first: float
    second: float
    note: str = ""


def pair_chart(title: str, axis: str, keys: tuple[str, str], pairs: Sequence[Pair], is_share: bool = True) -> Chart:
    """Two marks on one line for every pair, joined: the first hollow, the second filled."""
    shown = pairs[:MOST_SHOWN]
    first, second = [pair.first for pair in shown], [pair.second for pair in shown]
    marks: list[Any] = [Line([a, b], [i, i], "accent") for i, (a, b) in enumerate(zip(first, second, strict=True))]
    marks.append(Points(first, range(len(shown)), "ink", keys[0], is_hollow=True, size=5.0))
    marks.append(Points(second, range(len(shown)), "accent", keys[1], size=5.5))
    return _chart_of(title, Axis(axis, 0.0, max([*first, *second, 0.0]), is_share), keys, pairs, marks)


def bar_chart(title: str, axis: str, keys: tuple[str, str], pairs: Sequence[Pair]) -> Chart:
    """Bars of two parts for every entry, such as right and wrong labels; the first part plain, the second hatched."""
    shown = list(enumerate(pairs[:MOST_SHOWN]))
    first = [(0.0, pair.first, i - 0.2, i + 0.2) for i, pair in shown]
    second = [(pair.first, pair.first + pair.second, i - 0.2, i + 0.2) for i, pair in shown]
    longest = max([box[1] for box in second], default=0.0)
    marks = [Bars(first, "accent", keys[0]), Bars(second, "wrong", keys[1], is_hatched=True)]
    return _chart_of(title, Axis(axis, 0.0, longest), keys, pairs, marks)


def _chart_of(title: str, axis: Axis, keys: tuple[str, str], pairs: Sequence[Pair], marks: Sequence[Any]) -> Chart:
    shown = pairs[:MOST_SHOWN]
    told = []
    for pair in shown:
        values = [percent(one) if axis.is_share else f"{one:,.4g}" for one in (pair.first, pair.second)]
        named = f"{pair.name}: {pair.note}" if pair.note else pair.name
        told.append(f"{named}: {values[0]} {keys[0]}, {values[1]} {keys[1]}")
    if len(shown) < len(pairs):
        title += f", the first {len(shown)} of {len(pairs):,}"
    rows = [(pair.name, pair.note) for pair in shown]
    axis = Axis(axis.name, 0.0, 1.04 * axis.high or 1.0, axis.is_share)
    return Chart("result", title, "; ".join(told), axis, Axis(ticks=()), marks, rows=rows)
