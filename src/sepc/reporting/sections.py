"""The sections of the HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.charts import (
    histogram_chart,
    overlap_chart,
    region_chart,
    reliability_chart,
    risk_coverage_chart,
)
from sepc.reporting.class_overlaps import ClassOverlaps
from sepc.reporting.figures import ReportFigures
from sepc.reporting.held_out import Group, HeldOut
from sepc.reporting.markup import Markup, tag
from sepc.reporting.partition_chart import beyond, partition_chart
from sepc.reporting.picture import Picture
from sepc.reporting.region_rows import RegionTable
from sepc.reporting.tables import Cell, Column, count, share, table
from sepc.reporting.weights_chart import curve_charts, ellipsoid_chart
from sepc.reporting.what_counts import WhatCounts
from sepc.views.recall import Recall, warnings_of
from sepc.wording import NO_BREAK, counted, decimal, interval, percent, signed

Section = tuple[str, str, list[Markup | None]]


def sections_of(figures: ReportFigures) -> list[Section]:
    """Id, title and contents of every section; the page skips those without contents."""
    return [
        ("glance", "At a glance", _glance(figures)),
        ("promise", "Promise", _promise(figures)),
        ("weights", "What counts", _weights(figures.weights)),
        ("landscape", "Overlap of the classes in training", _landscape(figures.landscape)),
        ("partition", "Partition", _partition(figures.picture)),
        ("regions", "Regions", _regions(figures.regions)),
        ("trust", "Trust", _trust(figures)),
        ("review", "Rows to review", _review(figures)),
        ("model", "Model", _model(figures)),
        ("left-out", "Not in this report", [tag("p", reason) for reason in figures.left_out.values()]),
    ]


def _glance(figures: ReportFigures) -> list[Markup | None]:
    held_out = figures.held_out
    tiles = (tag("div", tag("dt", name), values, class_="tile") for name, values in _tiles(held_out))
    warnings = list(warnings_of(figures.recalls))
    if held_out.n_unknown:
        named = ", ".join(held_out.unknown)
        warnings.append(
            f"{held_out.n_unknown:,} rows have a label that is not a class of the model ({named}); they count as wrong."
        )
    groups = [_groups("By predicted label", "label", figures.labels)]
    if figures.recalls:
        groups.append(_recalls(figures.recalls))
    if figures.causes:
        groups.append(_groups("Outcomes", "cause", figures.causes))
    warned = tag("div", (tag("p", message) for message in warnings), class_="warning") if warnings else None
    return [tag("dl", tiles, class_="tiles"), warned, *groups]


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
    tiles.append(_tile("ECE", f"{figures.ece:.3f}", "mean gap between trust and accuracy; 0 is best"))
    return tiles


def _tile(name: str, value: str, more: str) -> tuple[str, list[Markup]]:
    return name, [tag("dd", value), tag("dd", more, class_="more")]


def _groups(caption: str, kind: str, groups: Sequence[Group]) -> Markup:
    with_labels, with_meaning = groups[0].n_right is not None, any(group.meaning for group in groups)
    columns = [Column(kind), *([Column("meaning")] if with_meaning else []), Column("rows", True)]
    columns += [Column("accepted", True)] if not with_meaning else []
    columns += [Column("right", True), Column("wrong", True)] if with_labels else []
    columns += [Column("wrong among accepted", True)] if with_labels and not with_meaning else []
    rows = []
    for group in groups:
        row = [Cell(group.name), *([Cell(group.meaning)] if with_meaning else []), count(group.n_rows)]
        row += [count(group.n_accepted)] if not with_meaning else []
        if group.n_right is not None and group.n_right_accepted is not None:
            row += [count(group.n_right), _wrong(group.n_rows - group.n_right)]
            row += [_wrong(group.n_accepted - group.n_right_accepted)] if not with_meaning else []
        rows.append(row)
    return table(caption, columns, rows, sortable=len(rows) > 5)


def _recalls(classes: Sequence[Recall]) -> Markup:
    columns = [Column("label"), Column("rows", True), Column("found", True), Column("share found", True)]
    columns += [Column("accepted", True), Column("accepted as another", True)]
    rows = [
        [
            Cell(own.name),
            count(own.n_rows),
            count(own.n_found),
            Cell(percent(own.share), own.share, "wrong" if own.is_missed else ""),
            count(own.n_accepted),
            _wrong(own.n_accepted - own.n_found_accepted),
        ]
        for own in classes
    ]
    return table("By true label", columns, rows, sortable=len(rows) > 5)


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
        "A row gets the label with the largest sum of terms: one term for each feature, read off its curve, and one "
        f"for each ellipsoid. Terms are log-odds, here of {label} against {against}: 0.7 doubles the odds, 2.3 "
        f"multiplies them by ten, and negative terms speak against {label}.{which}"
    )
    curves = (
        f"The {len(weights.curves)} of {weights.n_features:,} features whose terms spread most over the held-out rows, "
        "on one scale. The histogram at the foot shows where these rows lie; a curve means little where there are none."
    )
    drawn = ellipsoid_chart(weights)
    caption = (
        f"{_how_many(len(weights.ellipsoids), weights.n_ellipsoids)}, the largest terms first. A bar shows what lying "
        "inside adds, in the colour of the ellipsoid's class; the line covers the terms of 90 % of the held-out "
        "rows, inside or not."
    )
    figure = tag("figure", tag("div", curve_charts(weights), class_="curves"), tag("figcaption", curves))
    return [
        tag("p", intro),
        figure,
        None if drawn is None else _figure(drawn, caption),
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
    caption = (
        "The features that count most for each class against the average of the others, and how much their terms vary"
    )
    columns = [Column("class"), Column("features")]
    rows = [
        [name, ", ".join(f"{feature}{NO_BREAK}{spread:.2f}" for feature, spread in most)]
        for name, most in weights.by_class
    ]
    return table(caption, columns, rows, sortable=len(rows) > 5)


def _landscape(classes: ClassOverlaps | None) -> list[Markup | None]:
    if classes is None:
        return []
    drawn = overlap_chart(classes)
    caption = (
        "In each row, the share of that class's rows that also lie in the ellipsoid of the column's class. Darker is "
        f"more; the largest share is {percent(classes.most_inside)}."
    )
    return [
        tag("p", classes.words),
        None if drawn is None else _figure(drawn, caption),
        _pairs(classes),
        table(
            "Training rows",
            [Column("class"), Column("rows", True)],
            [[Cell(name), count(n)] for name, n in zip(classes.names, classes.n_rows, strict=True)],
            sortable=len(classes.names) > 5,
        ),
        table("A partition of the training rows", [Column("fact"), Column("value")], classes.figures),
    ]


def _pairs(classes: ClassOverlaps) -> Markup:
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
    shadows = "Ellipses are exact shadows on this plane; ellipsoids whose shadows overlap may still be disjoint. "
    note = "" if picture.is_exact else shadows
    whose = "their true labels" if picture.by_true_label else "their predicted labels"
    caption = f"Marks are held-out rows by {whose}; ellipses are ellipsoids, coloured by class. {note}"
    return [_figure(partition_chart(picture), f"{caption}{beyond(picture)}")]


def _regions(regions: RegionTable | None) -> list[Markup | None]:
    if regions is None:
        return []
    chart = region_chart(regions)
    caption = "Bars count held-out rows. The vertical line is their mean trust, the dot the share of right labels."
    intro = (
        "A region is all rows in the same ellipsoids, given by their numbers; rows outside all ellipsoids go to the "
        "nearest one. The label is the one its training rows vote for, with a 95 % interval of how often it is right "
        "there; held-out rows count as right or wrong by their own predicted labels."
    )
    return [tag("p", intro), None if chart is None else _figure(chart, caption), _region_table(regions)]


def _region_table(regions: RegionTable) -> Markup:
    with_labels = any(row.n_right is not None for row in regions.rows)
    columns = [
        Column("id", True),
        Column("region", class_="name"),
        Column("label"),
        Column("training rows", True),
        Column("by class", class_="name"),
    ]
    columns += [Column("right, 95 % interval", True), Column("held\u2011out rows", True), Column("accepted", True)]
    columns += [Column("right", True), Column("wrong", True)] if with_labels else []
    columns += [Column("mean trust", True)]
    rows = []
    for region in regions.rows:
        low, high = region.low, region.high
        interval = Cell("") if low is None or high is None else Cell(f"{decimal(low)} to {decimal(high)}", low)
        row = [count(region.region), Cell(region.name), Cell(region.label or "several"), count(region.n_training)]
        row += [Cell(region.classes), interval, count(region.n_rows), count(region.n_accepted)]
        row += [] if region.n_right is None else [count(region.n_right), _wrong(region.n_rows - region.n_right)]
        rows.append([*row, share(region.trust)])
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
        risk = "The share of wrong labels if only the most trusted rows are accepted. Lower is better."
        charts.append(_figure(risk_coverage_chart(figures.curves, figures.held_out), risk))
        reliability = "Accuracy in bins of trust, with 95 % intervals. On the dashed line, trust is exactly right."
        charts.append(_figure(reliability_chart(figures.curves), reliability))
    charts.append(_figure(histogram_chart(figures.histogram), "Held-out rows by trust."))
    return [tag("div", charts, class_="charts")]


def _review(figures: ReportFigures) -> list[Markup | None]:
    n = figures.held_out.n_rows - figures.held_out.n_accepted
    if not figures.review:
        return [tag("p", "Every row is accepted; there is nothing to review.")]
    with_labels = figures.review[0].true_label is not None
    with_causes = figures.review[0].cause is not None
    columns = [Column("row"), Column("predicted label"), *([Column("true label")] if with_labels else [])]
    columns += [Column("trust", True), *([Column("cause")] if with_causes else []), Column("why", class_="why")]
    with_terms = figures.review[0].runner_up is not None
    columns += [Column("counts most", class_="terms")] if with_terms else []
    rows = []
    for case in figures.review:
        row = [Cell(case.row), Cell(case.label)]
        row += [] if case.true_label is None else [Cell(case.true_label, None, "wrong" if case.right is False else "")]
        row += [share(case.trust), *([Cell(case.cause)] if case.cause else []), Cell(case.why)]
        rows.append([*row, *([Cell(f"against {case.runner_up}: {signed(case.terms)}")] if with_terms else [])])
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
