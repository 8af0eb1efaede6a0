"""A report as one self-contained HTML page, section by section."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from sepc.estimators.selective.groups import GroupRow
from sepc.looking.findings import Finding
from sepc.reporting._actions import Action
from sepc.reporting._first_section import FEW_CLASSES, confused_pairs, confusion_chart, first_section, region_section
from sepc.reporting._held_out import Confusion, Thresholds
from sepc.reporting._model_figures import ClassOverlaps, WhatCounts
from sepc.reporting._page_style import SCRIPT, STYLE
from sepc.reporting._partition_chart import curve_charts
from sepc.reporting._rows import ColumnResults, GroupResult, ReportedRow
from sepc.reporting.figures import ReportFigures
from sepc.reporting.svg import histogram_chart, overlap_chart, reliability_chart, risk_coverage_chart
from sepc.reporting.tables import Cell, Column, Markup, count, folded, percentage, table, tag
from sepc.wording import NO_BREAK, counted, decimal, interval, percent, points


def threshold_section(thresholds: Thresholds) -> list[Markup | None]:
    """What would be accepted if less or more trust were required."""
    now = shown_threshold(thresholds.at[thresholds.now])
    intro = f"The threshold in use is {now}. A lower one accepts more rows, usually with a smaller share of them right."
    if not thresholds.is_exact:
        intro = (
            "Here rows are accepted by trust alone, with one threshold for all. What the model accepts now depends on "
            f"more than trust; the nearest threshold is {now}."
        )
    return [tag("p", intro), _slider(thresholds), _threshold_table(thresholds)]


def shown_threshold(value: float) -> str:
    """A threshold with at most four digits."""
    return f"{value:.4g}"


def _slider(thresholds: Thresholds) -> Markup:
    """A slider with the figures of every threshold; the page shows it only where scripts run."""
    n_steps = len(thresholds.at) - 1
    field = tag(
        "input",
        type="range",
        id="threshold",
        min=0,
        max=n_steps,
        value=thresholds.now,
        step=1,
        aria_describedby="threshold-told",
    )
    tiles = [_tile("accepted", "accepted"), _tile("to a person", "person")]
    if thresholds.n_right is not None:
        tiles.insert(1, _tile("right among accepted", "right"))
    return tag(
        "div",
        tag("label", "Trust threshold: ", tag("output", for_="threshold"), for_="threshold"),
        field,
        tag("button", "Back to the threshold in use", type="button"),
        tag("dl", tiles, class_="tiles"),
        tag("p", id="threshold-told", class_="aside", role="status"),
        id="thresholds-tried",
        hidden=True,
        data_n=thresholds.n_rows,
        data_now=thresholds.now,
        data_at=_pack(thresholds.at),
        data_accepted=_pack(thresholds.n_accepted),
        data_right=None if thresholds.n_right is None else _pack(thresholds.n_right),
        data_low=None if thresholds.low is None else _pack([1000.0 * low // 1 for low in thresholds.low]),
        data_high=None if thresholds.high is None else _pack([-(-1000.0 * high // 1) for high in thresholds.high]),
    )


def _pack(values: Sequence[float]) -> str:
    return " ".join(f"{value:.10g}" for value in values)


def _tile(name: str, kind: str) -> Markup:
    numbers = [tag("dd", data_told=kind), tag("dd", class_="more", data_told=f"{kind}-more")]
    return tag("div", tag("dt", name), numbers, class_="tile")


def _threshold_table(thresholds: Thresholds) -> Markup:
    columns = [Column("threshold", True), Column("accepted", True)]
    columns += [] if thresholds.n_right is None else [Column("right among accepted", True)]
    columns += [Column("to a person", True)]
    rows = [_row(thresholds, i) for i in thresholds.short()]
    return table("Some thresholds", columns, rows, is_tall=False)


def _row(thresholds: Thresholds, i: int) -> list[Cell]:
    n, n_accepted = thresholds.n_rows, thresholds.n_accepted[i]
    cells = [
        Cell(shown_threshold(thresholds.at[i]), thresholds.at[i], more="in use" if i == thresholds.now else ""),
        percentage(n_accepted / n, f"{n_accepted:,} of {n:,}"),
    ]
    if thresholds.n_right is not None and thresholds.low is not None and thresholds.high is not None:
        share = thresholds.n_right[i] / n_accepted if n_accepted else None
        ends = interval(thresholds.low[i], thresholds.high[i]).replace(" %", f"{NO_BREAK}%") if n_accepted else ""
        cells.append(percentage(share, ends))
    return [*cells, count(n - n_accepted)]


# Rows shown at once; more are folded.
N_SHOWN = 10
# A runner-up with at least this probability is shown.
POSSIBLE = 0.05


def wrong_section(figures: ReportFigures) -> list[Markup | None]:
    """Rows that were accepted with a wrong label."""
    held_out = figures.held_out
    if held_out.n_right_accepted is None:
        return []
    n = held_out.n_accepted - held_out.n_right_accepted
    if not n:
        none = "No row is accepted." if not held_out.n_accepted else "Every accepted row has the right label."
        return [tag("p", none)]
    told = f"{n:,} of {held_out.n_accepted:,} accepted rows {'has' if n == 1 else 'have'} a wrong label"
    return _tables(f"{told}{_order(len(figures.wrong), n, 'most')}", figures.wrong, figures, with_cause=False)


def review_section(figures: ReportFigures) -> list[Markup | None]:
    """Rows that were not accepted, with the reasons."""
    n = figures.held_out.n_rows - figures.held_out.n_accepted
    if not n:
        return [tag("p", "Every row is accepted; there is nothing to review.")]
    told = f"{n:,} {'row is' if n == 1 else 'rows are'} not accepted"
    return _tables(f"{told}{_order(len(figures.review), n, 'least')}", figures.review, figures, with_cause=True)


def _order(n_listed: int, n: int, which: str) -> str:
    if n_listed == n:
        return f", the {which} trusted first" if n > 1 else ""
    return f"; here are the {n_listed:,} {which} trusted"


def _tables(
    caption: str, rows: Sequence[ReportedRow], figures: ReportFigures, *, with_cause: bool
) -> list[Markup | None]:
    first, rest = rows[:N_SHOWN], rows[N_SHOWN:]
    more = None
    if rest:
        more = folded(f"{len(rest):,} more", _row_table("More rows", rest, figures, with_cause))
    return [tag("div", _row_table(caption, first, figures, with_cause), more, class_="row-list")]


def _row_table(caption: str, rows: Sequence[ReportedRow], figures: ReportFigures, with_cause: bool) -> Markup:
    some = rows[0]
    columns = [Column("row"), Column("predicted label", class_="filter")]
    columns += [] if some.true_label is None else [Column("true label", class_="filter")]
    columns += [Column("trust", True), *([Column("cause", class_="filter")] if with_cause else [])]
    columns += [Column("region", class_="filter where")] if some.region_name else []
    columns += [Column(name, class_="filter") for name, _ in some.groups]
    columns += [*([Column("values", class_="values")] if _shows_values(some) else []), Column("why", class_="why")]
    cells = [_row_cells(row, figures, with_cause) for row in rows]
    ids = [f"row-{row.position}" for row in rows]
    return table(caption, columns, cells, sortable=True, ids=ids, is_tall=False)


def _row_cells(row: ReportedRow, figures: ReportFigures, with_cause: bool) -> list[Cell]:
    cells = [Cell(row.row, to="" if figures.picture is None else f"at-{row.position}"), _label(row)]
    if row.true_label is not None:
        is_wrong = row.right is False
        cells.append(Cell(row.true_label, None, "wrong" if is_wrong else "", "" if is_wrong else "as predicted"))
    cells.append(Cell(decimal(row.trust), row.trust))
    cells += [Cell(row.cause)] if with_cause else []
    cells += [Cell(row.region_name)] if row.region_name else []
    cells += [Cell(value) for _, value in row.groups]
    return [*cells, *([Cell("", facts=row.values)] if _shows_values(row) else []), Cell(row.why)]


def _label(row: ReportedRow) -> Cell:
    """The label, and below it the runner-up if that is likely enough."""
    if row.runner_up is None or row.runner_up_trust is None or row.runner_up_trust < POSSIBLE:
        return Cell(row.label)
    return Cell(row.label, more=f"or {row.runner_up}, {decimal(row.runner_up_trust)}")


def _shows_values(row: ReportedRow) -> bool:
    """Whether values have their own column; if the row has terms, its reason already names them."""
    return bool(row.values) and not row.terms


# The most important columns, shown at once; more are folded.
N_COLUMNS = 8


def action_section(actions: Sequence[Action], sections: Sequence[str]) -> list[Markup | None]:
    """A list of actions; each leads to the section with its details, if the page has it."""
    return [tag("ol", (tag("li", *_action(action, sections)) for action in actions), class_="actions")]


def _action(action: Action, sections: Sequence[str]) -> list[Markup | str]:
    why = f" {action.why}".replace(" %", f"{NO_BREAK}%")
    has_more = action.section in sections
    head = tag("a", action.do, href=f"#{action.section}") if has_more else action.do
    return [tag("strong", head, "."), why]


def matters_section(importances: Sequence[tuple[str, float]]) -> list[Markup | None]:
    """The importance of each column, the largest first."""
    if not importances:
        return []
    intro = (
        "The importance of a column is its mean absolute term over the training rows, in log-odds. The terms of "
        "ellipsoids and isolated rows belong to no single column and are not included."
    )
    first, rest = importances[:N_COLUMNS], importances[N_COLUMNS:]
    most = max(importances[0][1], 1e-300)
    more = folded(f"{len(rest):,} more columns", _sizes("The other columns", rest, most)) if rest else None
    return [tag("p", intro), _sizes("The columns that matter most" if rest else "Every column", first, most), more]


def _sizes(caption: str, sizes: Sequence[tuple[str, float]], most: float) -> Markup:
    rows = [[Cell(name), Cell(f"{size:.2f}", size, bar=size / most)] for name, size in sizes]
    return table(caption, [Column("column"), Column("mean size", True)], rows, is_tall=False)


def column_section(results: Sequence[ColumnResults]) -> list[Markup | None]:
    """Results by the values of columns."""
    if not results:
        return []
    intro = "Intervals have 95 % confidence. With many groups, some are extreme by chance alone."
    return [tag("p", intro), *(_results(column) for column in results)]


def _results(results: ColumnResults) -> Markup:
    with_labels = results.groups[0].n_right_accepted is not None
    columns = [Column(results.column), Column("rows", True), Column("accepted", True)]
    columns += [Column("right among accepted", True)] if with_labels else []
    columns += [Column("to a person", True)]
    rows = [_group(group, with_labels) for group in results.groups]
    return table(f"By {results.column}", columns, rows, sortable=len(rows) > 2, cards=True, is_tall=False)


def _group(group: GroupResult, with_labels: bool) -> list[Cell]:
    accepted = percentage(group.n_accepted / group.n_rows, _of(group.n_accepted, group.n_rows, group.accepted))
    right = []
    if with_labels:
        n_right = group.n_right_accepted or 0
        share = n_right / group.n_accepted if group.n_accepted else None
        right = [percentage(share, "" if group.right is None else _of(n_right, group.n_accepted, group.right))]
    return [Cell(group.name), count(group.n_rows), accepted, *right, count(group.n_rows - group.n_accepted)]


def _of(n: int, n_all: int, ends: tuple[float, float]) -> str:
    return f"{n:,} of {n_all:,}; {interval(*ends)}".replace(" %", f"{NO_BREAK}%")


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
    rows = [_group_cells(row, names) for row in (*groups.rows, groups.everyone)]
    return [tag("p", intro), table("Acceptance and errors by group", list(COLUMNS), rows, sortable=len(rows) > 5)]


def _region_names(figures: ReportFigures) -> dict[int, str]:
    regions = figures.regions
    return {} if regions is None else {row.region: row.name for row in (*regions.rows, *regions.outside)}


def _group_cells(row: GroupRow, names: dict[int, str]) -> list[Cell]:
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


POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src '{script}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page(figures: ReportFigures) -> str:
    """The HTML of the page."""
    sections = [section for section in sections_of(figures) if section[2]]
    links = (tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in sections)
    verdict = figures.verdict.replace(" %", "\u00a0%")
    which = tag("p", f"Held out: {figures.held_out_rows}.".replace(" %", "\u00a0%")) if figures.held_out_rows else None
    header = tag("header", tag("h1", figures.title), tag("p", verdict, class_="verdict"), which)
    body = tag(
        "body",
        header,
        tag("nav", tag("ul", links), aria_label="Sections"),
        tag("main", (tag("section", tag("h2", title), parts, id=name) for name, title, parts in sections)),
        tag("footer", f"Made by {dict(figures.facts)['library']}. This page loads nothing from the network."),
        tag("script", Markup(SCRIPT)),
    )
    return f"<!DOCTYPE html>\n{tag('html', _head(figures.title), body, lang='en')}\n"


def _head(title: str) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY.format(script=fingerprint())),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )


def fingerprint() -> str:
    """The script's hash, as a Content-Security-Policy names it: a browser runs this script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
