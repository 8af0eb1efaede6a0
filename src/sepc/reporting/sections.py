"""The sections of the HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.estimators.selective.group_comparison import GroupRow
from sepc.looking.findings import Finding
from sepc.reporting.charts import histogram_chart, overlap_chart, reliability_chart, risk_coverage_chart
from sepc.reporting.class_overlaps import ClassOverlaps
from sepc.reporting.confusion import Confusion
from sepc.reporting.confusion_view import FEW_CLASSES, confused_pairs, confusion_chart
from sepc.reporting.figures import ReportFigures
from sepc.reporting.first_section import first_section
from sepc.reporting.markup import Markup, tag
from sepc.reporting.opening_sections import action_section, column_section, matters_section
from sepc.reporting.region_section import region_section
from sepc.reporting.row_tables import review_section, wrong_section
from sepc.reporting.tables import Cell, Column, count, folded, percentage, table
from sepc.reporting.threshold_section import threshold_section
from sepc.reporting.weights_chart import curve_charts
from sepc.reporting.what_counts import WhatCounts
from sepc.wording import NO_BREAK, counted, decimal, percent, points

Section = tuple[str, str, list[Markup | None]]

COLUMNS = (
    Column("group"),
    Column("rows", True),
    Column("accepted", True),
    Column("wrong among accepted", True),
    Column("wrong among the rest", True),
    Column("promise"),
    Column("largest differences from all rows"),
)


def sections_of(figures: ReportFigures) -> list[Section]:
    """Id, title and contents of every section; the page skips those without contents."""
    made: list[Section] = [
        ("findings", "What stands out in the table", _findings(figures.findings)),
        ("results", "Results", first_section(figures)),
        ("thresholds", "Other thresholds", threshold_section(figures.thresholds)),
        ("confusions", "Confused labels", _confusions(figures.confusion)),
        ("by-column", "Results by column", column_section(figures.results)),
        ("groups", "Groups", _group_section(figures)),
        ("review", "Rows to review", review_section(figures)),
        ("wrong", "Accepted but wrong", wrong_section(figures)),
        ("matters", "Feature importance", matters_section(figures.importances)),
        ("proofs", "What is proved", [tag("p", line) for line in figures.proofs]),
        ("weights", "Shape functions and weights", _weights(figures.weights)),
        ("regions", "Regions", region_section(figures)),
        ("trust", "Trust", _trust(figures)),
        ("landscape", "Overlap of the classes in training", _landscape(figures.landscape)),
        ("model", "Model", _model(figures)),
        ("left-out", "Not in this report", [tag("p", reason) for reason in figures.left_out.values()]),
    ]
    with_contents = [name for name, _, parts in made if parts]
    return [("first", "What to do first", action_section(figures.actions, with_contents)), *made]


def _findings(findings: Sequence[Finding]) -> list[Markup | None]:
    """What `sepc.look` found in the table, the worst first."""
    if not findings:
        return []
    columns = [Column(name) for name in ("about", "seen", "why it matters", "what to do")]
    rows = [[finding.about, finding.seen, finding.matters, finding.advice] for finding in findings]
    return [table("Check these before relying on the figures", columns, rows, cards=True)]


def _confusions(confusion: Confusion | None) -> list[Markup | None]:
    """For many classes: the pairs confused most, and the whole matrix as a heat map."""
    if confusion is None or len(confusion.classes) <= FEW_CLASSES:
        return []
    chart = confusion_chart(confusion)
    caption = "True labels down, predicted labels across. Numbers count wrong rows; the diagonal, in blue, is right."
    return [
        tag("div", confused_pairs(confusion), None if chart is None else _figure(chart, caption), class_="beside"),
    ]


def _weights(weights: WhatCounts | None) -> list[Markup | None]:
    if weights is None:
        return []
    label, against = weights.label, weights.against or "the average of the others"
    which = ""
    if weights.against is None:
        which = f" {label} is the label most often predicted for rows that are not accepted."
    intro = (
        "A row gets the label with the largest sum of terms: one term for each feature, read off its curve (shape "
        f"function), and one for each ellipsoid. Terms are log-odds, here of {label} against {against}: 0.7 doubles "
        f"the odds, 2.3 multiplies them by ten, and negative terms count against {label}.{which}"
    )
    curves = (
        f"{_features_drawn(weights)}, on one scale. The histogram at the foot shows where the held-out rows lie; a "
        "curve means little where there are none."
    )
    figure = tag("figure", tag("div", curve_charts(weights), class_="curves"), tag("figcaption", curves))
    whose = None
    if weights.disagreement is None:
        whose = tag("p", "Labels come from another model; this is the partition that their trust is based on.")
    return [
        whose,
        tag("p", intro),
        figure,
        _by_class(weights),
        None if weights.disagreement is None else tag("p", weights.disagreement.summary()),
    ]


def _features_drawn(weights: WhatCounts) -> str:
    n = len(weights.curves)
    if n == weights.n_features:
        return f"All {n} features" if n > 1 else "The only feature"
    others = " or that are monotone" if any(curve.proved for curve in weights.curves) else ""
    return f"The {n} of {weights.n_features:,} features whose terms vary most over the held-out rows{others}"


def _by_class(weights: WhatCounts) -> Markup | None:
    if not weights.by_class:
        return None
    caption = (
        "The most important features of each class against the average of the others, and the spread of their terms"
    )
    columns = [Column("class"), Column("features")]
    rows = [
        [name, ", ".join(f"{feature}{NO_BREAK}{spread:.2f}" for feature, spread in most)]
        for name, most in weights.by_class
    ]
    shown = table(caption, columns, rows, sortable=len(rows) > 5, is_tall=False)
    return shown if len(rows) <= FEW_CLASSES else folded(f"The most important features of {len(rows):,} classes", shown)


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
    ]


def _pairs(classes: ClassOverlaps) -> Markup:
    columns = [Column("class"), Column("other class"), Column("of the class in both", True)]
    columns += [Column("of the other in both", True), Column("share of its volume", True)]
    columns += [Column("share of the other's volume", True)]
    rows = [
        [
            Cell(pair.first),
            Cell(pair.second),
            percentage(pair.share_first, counted(pair.n_first, "row")),
            percentage(pair.share_second, counted(pair.n_second, "row")),
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


def _trust(figures: ReportFigures) -> list[Markup | None]:
    charts = []
    if figures.curves is not None:
        risk = "Selective risk: the share of wrong labels if only the most trusted rows are accepted. Lower is better."
        charts.append(_figure(risk_coverage_chart(figures.curves, figures.held_out), risk))
        reliability = "Accuracy in bins of trust, with 95 % intervals. On the dashed line, calibration is perfect."
        charts.append(_figure(reliability_chart(figures.curves), reliability))
    charts.append(_figure(histogram_chart(figures.histogram), "Held-out rows by trust."))
    told = None
    if figures.held_out.aurc is not None and figures.held_out.ece is not None:
        told = tag(
            "p",
            f"Averaged over all coverages, {percent(figures.held_out.aurc, 2)} of the accepted rows are wrong (AURC). "
            f"Trust and accuracy differ by {decimal(figures.held_out.ece)} on average (ECE).",
        )
    return [told, tag("div", charts, class_="charts")]


def _model(figures: ReportFigures) -> list[Markup | None]:
    facts = [("kind", figures.estimator), *figures.facts]
    return [
        table("Facts", [Column("fact"), Column("value", class_="why")], facts),
        folded(
            "Parameters", table("Parameters", [Column("parameter"), Column("value", class_="why")], figures.parameters)
        ),
    ]


def _figure(drawing: Markup, caption: str) -> Markup:
    return tag("figure", drawing, tag("figcaption", caption))


def _group_section(figures: ReportFigures) -> list[Markup | None]:
    """How groups compare with all rows together."""
    groups = figures.groups
    if groups is None:
        return []
    intro = (
        "Abstaining should help every group: its accepted rows should be wrong less often than the rest. The last "
        "column names the regions that contribute most to the difference in coverage between the group and all rows, "
        "in percentage points; over all regions these points add up to the difference."
    )
    names = _region_names(figures)
    rows = [_cells(row, names) for row in (*groups.rows, groups.everyone)]
    return [tag("p", intro), table("Acceptance and errors by group", list(COLUMNS), rows, sortable=len(rows) > 5)]


def _region_names(figures: ReportFigures) -> dict[int, str]:
    regions = figures.regions
    return {} if regions is None else {row.region: row.name for row in (*regions.rows, *regions.outside)}


def _cells(row: GroupRow, names: dict[int, str]) -> list[Cell]:
    n_accepted = f"{row.n_accepted:,} of {row.n_rows:,}"
    wrong = "" if row.n_wrong is None else f"{row.n_wrong:,} of {row.n_accepted:,}"
    refused = "" if row.n_refused_wrong is None else f"{row.n_refused_wrong:,} of {row.n_rows - row.n_accepted:,}"
    differs = tuple(
        (names.get(one.region) or f"region {one.region}", f"{points(one.accepted)} points") for one in row.regions
    )
    return [
        Cell(row.name),
        count(row.n_rows),
        percentage(row.accepted, n_accepted),
        percentage(row.wrong, wrong),
        percentage(row.refused_wrong, refused),
        Cell("yes" if row.has_promise else "no"),
        Cell("", facts=differs),
    ]
