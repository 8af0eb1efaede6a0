"""The sections of a page, each from its part of the figures."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.charts import (
    histogram_chart,
    overlap_chart,
    region_chart,
    reliability_chart,
    risk_coverage_chart,
)
from sepc.reporting.classes import Classes
from sepc.reporting.figures import ReportFigures
from sepc.reporting.held_out import Group, HeldOut
from sepc.reporting.markup import Markup, tag
from sepc.reporting.partition_chart import beyond, partition_chart
from sepc.reporting.picture import Picture
from sepc.reporting.region_rows import RegionTable
from sepc.reporting.tables import Cell, Column, count, decimal, table
from sepc.reporting.weights_chart import curve_charts, ellipsoid_chart
from sepc.reporting.what_counts import WhatCounts
from sepc.wording import NO_BREAK, counted, interval, percent, signed

Section = tuple[str, str, list[Markup | None]]


def sections_of(figures: ReportFigures) -> list[Section]:
    """Name, title and contents of every section; those without contents are left out."""
    return [
        ("glance", "At a glance", _glance(figures)),
        ("promise", "The promise", _promise(figures)),
        ("weights", "What counts", _weights(figures.weights)),
        ("landscape", "The landscape of the training rows", _landscape(figures.landscape)),
        ("partition", "The partition", _partition(figures.picture)),
        ("regions", "Regions", _regions(figures.regions)),
        ("trust", "Trust", _trust(figures)),
        ("review", "Rows to review", _review(figures)),
        ("model", "The model", _model(figures)),
        ("left-out", "Left out", [tag("p", told) for told in figures.left_out.values()]),
    ]


def _glance(figures: ReportFigures) -> list[Markup | None]:
    held_out = figures.held_out
    tiles = (tag("div", tag("dt", name), values, class_="tile") for name, values in _tiles(held_out))
    warning = None
    if held_out.n_unknown:
        named = ", ".join(held_out.unknown)
        told = f"{held_out.n_unknown:,} rows have a label that the model does not know ({named}); they count as wrong."
        warning = tag("div", tag("p", told), class_="warning")
    groups = [_groups("By the label given", "label", figures.labels)]
    if figures.causes:
        groups.append(_groups("By what became of them", "cause", figures.causes))
    return [tag("dl", tiles, class_="tiles"), warning, *groups]


def _tiles(figures: HeldOut) -> list[tuple[str, list[Markup]]]:
    n, n_accepted = figures.n_rows, figures.n_accepted
    tiles = [_tile("accepted", percent(n_accepted / n), f"{n_accepted:,} of {n:,} rows")]
    if figures.n_right is None or figures.n_right_accepted is None:
        return tiles
    if figures.low is not None and figures.high is not None:
        more = f"95 % interval {interval(figures.low, figures.high)}"
        tiles.append(_tile("right among accepted", percent(figures.n_right_accepted / n_accepted), more))
    tiles.append(_tile("right among all", percent(figures.n_right / n), f"{figures.n_right:,} of {n:,} rows"))
    tiles.append(_tile("AURC", f"{figures.aurc:.4f}", "mean error rate over all coverages; 0 is best"))
    tiles.append(_tile("ECE", f"{figures.ece:.3f}", "mean distance of trust from the share that is right"))
    return tiles


def _tile(name: str, value: str, more: str) -> tuple[str, list[Markup]]:
    return name, [tag("dd", value), tag("dd", more, class_="more")]


def _groups(caption: str, kind: str, groups: Sequence[Group]) -> Markup:
    with_labels, with_meaning = groups[0].n_right is not None, any(one.meaning for one in groups)
    columns = [Column(kind), *([Column("meaning")] if with_meaning else []), Column("rows", True)]
    columns += [Column("accepted", True)] if not with_meaning else []
    columns += [Column("right", True), Column("wrong", True)] if with_labels else []
    columns += [Column("wrong among accepted", True)] if with_labels and not with_meaning else []
    rows = []
    for one in groups:
        row = [Cell(one.name), *([Cell(one.meaning)] if with_meaning else []), count(one.n_rows)]
        row += [count(one.n_accepted)] if not with_meaning else []
        if one.n_right is not None and one.n_right_accepted is not None:
            row += [count(one.n_right), _wrong(one.n_rows - one.n_right)]
            row += [_wrong(one.n_accepted - one.n_right_accepted)] if not with_meaning else []
        rows.append(row)
    return table(caption, columns, rows, sortable=len(rows) > 5)


def _wrong(n: int) -> Cell:
    return Cell(f"{n:,}", n, "wrong" if n else "")


def _promise(figures: ReportFigures) -> list[Markup | None]:
    if not figures.promise:
        return []
    held_out, seen = figures.held_out, None
    if held_out.n_right_accepted is not None and held_out.n_accepted:
        share = percent(1.0 - held_out.n_right_accepted / held_out.n_accepted)
        seen = tag("p", f"On these held-out rows, {share} of the accepted are wrong.")
    return [tag("div", (tag("p", line) for line in figures.promise), class_="promise"), seen]


def _weights(weights: WhatCounts | None) -> list[Markup | None]:
    if weights is None:
        return []
    label, against = weights.label, weights.against or "the average of the others"
    which = ""
    if weights.against is None:
        which = f" Shown is {label}, the label most often given to rows that are not accepted."
    intro = (
        "The label of a row is that with the largest sum of terms: one for each feature, which its curve tells, and "
        f"one for each ellipsoid. Terms are log-odds, here of {label} against {against}: 0.7 doubles the odds, 2.3 "
        f"makes them ten times as large, and what is below zero speaks against {label}.{which}"
    )
    curves = (
        f"The {len(weights.curves)} of {weights.n_features:,} features whose terms spread most over the held-out rows, "
        "on one scale. At the foot is where these rows lie; a curve means little where there are none."
    )
    drawn = ellipsoid_chart(weights)
    told = (
        f"{_how_many(len(weights.ellipsoids), weights.n_ellipsoids)}, that with the largest terms first. The bar is "
        "what lying inside adds, in the colour of the class the ellipsoid was made for; the line holds the terms of "
        "nine in ten held-out rows, inside or not."
    )
    figure = tag("figure", tag("div", curve_charts(weights), class_="curves"), tag("figcaption", curves))
    return [
        tag("p", intro),
        figure,
        None if drawn is None else _figure(drawn, told),
        _by_class(weights),
        tag("p", weights.disagreement.summary()),
    ]


def _how_many(n: int, n_all: int) -> str:
    if n < n_all:
        return f"{n:,} of {n_all:,} ellipsoids"
    return "The only ellipsoid" if n == 1 else f"All {n:,} ellipsoids"


def _by_class(weights: WhatCounts) -> Markup | None:
    if not weights.by_class:
        return None
    caption = "The features that count most for each class against the average of the others, with the spread of terms"
    columns = [Column("class"), Column("features")]
    rows = [
        [name, ", ".join(f"{one}{NO_BREAK}{spread:.2f}" for one, spread in most)] for name, most in weights.by_class
    ]
    return table(caption, columns, rows, sortable=len(rows) > 5)


def _landscape(classes: Classes | None) -> list[Markup | None]:
    if classes is None:
        return []
    drawn = overlap_chart(classes)
    told = (
        "Of the class in each line, the share of rows that lie in the other class's ellipsoid too; darker is more, and "
        f"the darkest is {percent(classes.most_inside)}."
    )
    return [
        tag("p", classes.words),
        None if drawn is None else _figure(drawn, told),
        _pairs(classes),
        table(
            "Training rows",
            [Column("class"), Column("rows", True)],
            [[Cell(name), count(n)] for name, n in zip(classes.names, classes.n_rows, strict=True)],
            sortable=len(classes.names) > 5,
        ),
        table("A partition of them", [Column("fact"), Column("value")], classes.figures),
    ]


def _pairs(classes: Classes) -> Markup:
    columns = [Column("class"), Column("other class"), Column("rows of the class in both", True)]
    columns += [Column("rows of the other in both", True), Column("share of its volume", True)]
    columns += [Column("share of the other's volume", True)]
    rows = [
        [
            Cell(pair.first),
            Cell(pair.second),
            count(pair.n_first),
            count(pair.n_second),
            Cell("disjoint", 0.0) if pair.disjoint else _ratio(pair.ratio_first),
            Cell("disjoint", 0.0) if pair.disjoint else _ratio(pair.ratio_second),
        ]
        for pair in classes.pairs
    ]
    shown = (
        "" if len(rows) == classes.n_pairs else f", the {len(rows)} with the most rows in both of {classes.n_pairs:,}"
    )
    return table(f"Ellipsoids of two classes{shown}", columns, rows, sortable=len(rows) > 5)


def _ratio(ratio: float | None) -> Cell:
    return Cell("") if ratio is None else Cell(f"{ratio:.3g}", ratio)


def _partition(picture: Picture | None) -> list[Markup | None]:
    if picture is None:
        return []
    shadows = "Ellipses are exact shadows on this plane: what overlaps here may lie apart in other directions. "
    told = "" if picture.is_exact else shadows
    whose = "their true labels" if picture.by_true_label else "the labels given to them"
    caption = f"Marks are held-out rows, with {whose}; ellipses are ellipsoids of the class in that colour. {told}"
    return [_figure(partition_chart(picture), f"{caption}{beyond(picture)}")]


def _regions(regions: RegionTable | None) -> list[Markup | None]:
    if regions is None:
        return []
    chart = region_chart(regions)
    told = "Bars count held-out rows. The upright line is their mean trust, the dot how often labels were right."
    intro = (
        "A region is the set of rows that lie in the same ellipsoids, here by their numbers; rows in none belong to "
        "the one that is nearest. The label is that of its training rows, and the interval where the share of rows "
        "lies that have it, with 95 % probability; held-out rows are right or wrong by the labels given to each."
    )
    return [tag("p", intro), None if chart is None else _figure(chart, told), _region_table(regions)]


def _region_table(regions: RegionTable) -> Markup:
    with_labels = any(row.n_right is not None for row in regions.rows)
    columns = [
        Column("id", True),
        Column("region", class_="name"),
        Column("label"),
        Column("training rows", True),
        Column("of them", class_="name"),
    ]
    columns += [Column("right, 95 % interval", True), Column("held\u2011out rows", True), Column("accepted", True)]
    columns += [Column("right", True), Column("wrong", True)] if with_labels else []
    columns += [Column("mean trust", True)]
    rows = []
    for one in regions.rows:
        interval = Cell("") if one.low is None else Cell(f"{one.low:.3f} to {one.high:.3f}", one.low)
        row = [count(one.region), Cell(one.name), Cell(one.label or "several"), count(one.n_training)]
        row += [Cell(one.classes), interval, count(one.n_rows), count(one.n_accepted)]
        row += [] if one.n_right is None else [count(one.n_right), _wrong(one.n_rows - one.n_right)]
        rows.append([*row, decimal(one.trust)])
    shown = (
        f"All {regions.n_all:,} regions"
        if len(rows) == regions.n_all
        else f"{len(rows):,} of {regions.n_all:,} regions"
    )
    held = f"{regions.n_training:,} hold training rows, {regions.n_used:,} held-out rows"
    caption = f"{shown}, those with the most held-out rows first; {held}"
    return table(caption, columns, rows, sortable=True)


def _trust(figures: ReportFigures) -> list[Markup | None]:
    charts = []
    if figures.curves is not None:
        risk = "How many labels are wrong if only the most trusted share of the rows is accepted. Lower is better."
        charts.append(_figure(risk_coverage_chart(figures.curves, figures.held_out), risk))
        told = "Rows in bins by trust, with 95 % intervals. On the dashed line labels are right as often as trust says."
        charts.append(_figure(reliability_chart(figures.curves), told))
    charts.append(_figure(histogram_chart(figures.histogram), "Held-out rows by the trust in their labels."))
    return [tag("div", charts, class_="charts")]


def _review(figures: ReportFigures) -> list[Markup | None]:
    n = figures.held_out.n_rows - figures.held_out.n_accepted
    if not figures.review:
        return [tag("p", "Every row is accepted; there is none to review.")]
    with_labels = figures.review[0].true_label is not None
    with_causes = figures.review[0].cause is not None
    columns = [Column("row"), Column("label given"), *([Column("true label")] if with_labels else [])]
    columns += [Column("trust", True), *([Column("cause")] if with_causes else []), Column("why", class_="why")]
    with_terms = figures.review[0].runner_up is not None
    columns += [Column("counts most", class_="terms")] if with_terms else []
    rows = []
    for one in figures.review:
        row = [Cell(one.row), Cell(one.label)]
        row += [] if one.true_label is None else [Cell(one.true_label, None, "wrong" if one.right is False else "")]
        row += [decimal(one.trust), *([Cell(one.cause)] if one.cause else []), Cell(one.why)]
        rows.append([*row, *([Cell(f"against {one.runner_up}: {signed(one.terms)}")] if with_terms else [])])
    shown = "" if len(rows) == n else f", the {len(rows)} least trusted"
    return [table(f"{counted(n, 'row')} not accepted{shown}", columns, rows, sortable=True, cards=True)]


def _model(figures: ReportFigures) -> list[Markup | None]:
    facts = [("kind", figures.estimator), *figures.facts]
    return [
        table("Facts", [Column("fact"), Column("value", class_="why")], facts),
        table("Parameters", [Column("parameter"), Column("value", class_="why")], figures.parameters),
    ]


def _figure(drawing: Markup, caption: str) -> Markup:
    return tag("figure", drawing, tag("figcaption", caption))
