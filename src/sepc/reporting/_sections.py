"""A report as a document: its sections, from the figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepc.documents.document import (
    NONE,
    Cell,
    Document,
    Facts,
    Figure,
    Note,
    Part,
    Row,
    Section,
    Slider,
    Steps,
    Table,
    Tiles,
    share_of,
)
from sepc.landscape.landscape import LandscapeFigures, overlaps_in_words
from sepc.reporting._held_out import Confusion, Group, HeldOut, Thresholds
from sepc.reporting._model_figures import RegionRow, WhatCounts
from sepc.reporting._partition_chart import line_id, place_id
from sepc.reporting._rows import ColumnResults, ReportedRow
from sepc.reporting.figures import ReportFigures
from sepc.statistics.rates import rate_interval
from sepc.views.charts import (
    confusion_chart,
    curve_charts,
    histogram_chart,
    overlap_chart,
    reliability_chart,
    risk_coverage_chart,
)
from sepc.views.outcomes import Score
from sepc.wording import NO_BREAK, counted, decimal, interval, name_of, percent

# Shown at once: rows of a list, regions and columns, labels.
N_ROWS, N_REGIONS, N_LABELS = 10, 8, 10
# With more classes than this, the most confused pairs come before the matrix, which is drawn as a heat map.
FEW_CLASSES = 8
# Pairs of classes listed, those with the most rows in both ellipsoids.
N_PAIRS = 15
HOW = "An ellipsoid is drawn around the training rows of each class, in columns of numbers, without rows with gaps."
# A runner-up with at least this probability is shown.
POSSIBLE = 0.05


def document_of(figures: ReportFigures) -> Document:
    """The report; sections without contents are left out."""
    made: list[Section] = [
        Section("What stands out in the table", _findings(figures), "findings"),
        Section("Results", _results(figures), "results"),
        Section("Other thresholds", _thresholds(figures.thresholds), "thresholds"),
        Section("Confused labels", _confusions(figures.confusion), "confusions"),
        Section("Results by column", _by_column(figures.results), "by-column"),
        Section("Rows to review", _review(figures), "review"),
        Section("Accepted but wrong", _wrong(figures), "wrong"),
        Section("Feature importance", _importances(figures.importances), "matters"),
        Section("What is proved", figures.proofs, "proofs"),
        Section("Shape functions and weights", _weights(figures.weights), "weights"),
        Section("Regions", _regions(figures), "regions"),
        Section("Trust", _trust(figures), "trust"),
        Section("Overlap of the classes in training", _landscape(figures.landscape), "landscape"),
        Section("Model", _model(figures), "model"),
        Section("Not in this report", tuple(figures.left_out.values()), "left-out"),
    ]
    sections = [section for section in made if section.parts]
    known = {section.id for section in sections}
    steps = [(one.do, one.why, one.section if one.section in known else "") for one in figures.actions]
    first = [Section("What to do first", [Steps(steps)], "first")]
    which = f"Held out: {figures.held_out_rows}." if figures.held_out_rows else ""
    return Document(figures.title, figures.verdict, [*first, *sections], which)


def _findings(figures: ReportFigures) -> list[Part]:
    head = ("about", "seen", "why it matters", "what to do")
    rows = [[one.about, one.seen, one.matters, one.advice] for one in figures.findings]
    return [Table("Check these before relying on the figures", head, rows, wide=head[1:])] if rows else []


def _results(figures: ReportFigures) -> list[Part]:
    """How many rows are accepted and go to a person, whether trust is calibrated, and the results of every class."""
    parts: list[Part] = [Tiles(_tiles(figures.held_out)), *(Note(line, "promise") for line in figures.promise)]
    for check in figures.checks:
        kind = "warning" if check.is_contradicted else "believed" if check.n_accepted else "promise"
        parts.append(Note(check.text, kind, check.head))
    parts += [Note(warning, "warning") for warning in figures.warnings]
    parts += _causes(figures.causes)
    if figures.scores:
        caption = "Every label: how many of its rows are found (recall), and how often it is right (precision)"
        ranked = figures.scores
        if len(ranked) > N_LABELS:
            ranked = tuple(sorted(ranked, key=lambda score: score.weakest))
            caption += ", those with the lowest recall or precision first"
        head = ("label", "recall", "precision", "recall, accepted", "precision, accepted")
        rows: list[Row] = [[one.name, *_score(one.all_rows), *_score(one.accepted)] for one in ranked]
        parts.append(Table(caption, head, rows, shown=N_LABELS))
    else:
        labels = [[one.name, f"{one.n_rows:,}", f"{one.n_accepted:,}"] for one in figures.labels]
        parts.append(Table("Every label", ("predicted label", "rows", "accepted"), labels, shown=N_LABELS))
    confusion = figures.confusion
    if confusion is not None and len(confusion.classes) <= FEW_CLASSES:
        names = ("true label", *confusion.classes)
        matrix: list[Row] = [
            [
                name,
                *(
                    Cell(f"{n:,}", f"{m:,} accepted", "hit" if i == j else "miss" if n else "")
                    for j, (n, m) in enumerate(zip(counts, accepted, strict=True))
                ),
            ]
            for i, (name, counts, accepted) in enumerate(
                zip(confusion.truths, confusion.counts, confusion.accepted, strict=True)
            )
        ]
        parts.append(Table("Rows by true label (down) and predicted label (across)", names, matrix))
    return parts


def _tiles(figures: HeldOut) -> list[tuple[str, str, str]]:
    n, n_accepted = figures.n_rows, figures.n_accepted
    tiles = [("accepted", percent(n_accepted / n), f"{n_accepted:,} of {n:,} rows")]
    if figures.low is not None and figures.high is not None and figures.n_right_accepted is not None:
        more = f"{figures.n_right_accepted:,} of {n_accepted:,}; 95 % interval {interval(figures.low, figures.high)}"
        tiles.append(("right among accepted", percent(figures.n_right_accepted / n_accepted), more))
    tiles.append(("for a person to decide", percent(1.0 - n_accepted / n), f"{n - n_accepted:,} of {n:,} rows"))
    if figures.n_right is not None:
        tiles.append(("right if all were accepted", percent(figures.n_right / n), f"{figures.n_right:,} of {n:,} rows"))
    return tiles


def _causes(causes: Sequence[Group]) -> list[Part]:
    """Why rows are not accepted, the most frequent cause first."""
    refused = sorted((cause for cause in causes if not cause.n_accepted), key=lambda cause: -cause.n_rows)
    if not refused:
        return []
    n = sum(cause.n_rows for cause in refused)
    right = [] if refused[0].n_right is None else ["label right anyway"]
    rows: list[Row] = [
        [
            cause.name,
            f"{cause.n_rows:,}",
            Cell(percent(cause.n_rows / n), bar=cause.n_rows / n),
            *([percent((cause.n_right or 0) / cause.n_rows)] if right else []),
            cause.meaning,
        ]
        for cause in refused
    ]
    caption = f"Why {n:,} {'row goes' if n == 1 else 'rows go'} to a person"
    return [Table(caption, ("cause", "rows", "share", *right, "because"), rows, wide=("because",))]


def _score(score: Score) -> list[Cell]:
    return [share_of(score.n_right, score.n_true), share_of(score.n_right, score.n_predicted)]


def _thresholds(thresholds: Thresholds) -> list[Part]:
    """What would be accepted if less or more trust were required."""
    now = f"{thresholds.at[thresholds.now]:.4g}"
    intro = f"The threshold in use is {now}. A lower one accepts more rows, usually with a smaller share of them right."
    if not thresholds.is_exact:
        intro = (
            "Here rows are accepted by trust alone, with one threshold for all. What the model accepts now depends on "
            f"more than trust; the nearest threshold is {now}."
        )
    n, n_right, low, high = thresholds.n_rows, thresholds.n_right, thresholds.low, thresholds.high
    numbers: list[tuple[str, Sequence[float]]] = [("at", thresholds.at), ("accepted", thresholds.n_accepted)]
    tiles, head = [("accepted", "accepted"), ("to a person", "person")], ["threshold", "accepted", "to a person"]
    if n_right is not None and low is not None and high is not None:
        numbers += [("right", n_right), ("low", [1000.0 * end // 1 for end in low])]
        numbers += [("high", [-(-1000.0 * end // 1) for end in high])]
        tiles.insert(1, ("right among accepted", "right"))
        head.insert(2, "right among accepted")
    rows = []
    for i in thresholds.short():
        n_accepted = thresholds.n_accepted[i]
        row = [Cell(f"{thresholds.at[i]:.4g}", "in use" if i == thresholds.now else ""), share_of(n_accepted, n)]
        if n_right is not None and low is not None and high is not None:
            row.append(share_of(n_right[i], n_accepted, (low[i], high[i])))
        rows.append([*row, Cell(f"{n - n_accepted:,}")])
    return [intro, Slider("Trust threshold", thresholds.now, tiles, numbers), Table("Some thresholds", head, rows)]


def _confusions(confusion: Confusion | None) -> list[Part]:
    """For many classes: the pairs confused most, and the whole matrix as a heat map."""
    if confusion is None or len(confusion.classes) <= FEW_CLASSES:
        return []
    most = confusion.pairs[0].n_rows if confusion.pairs else 1
    rows: list[Row] = [
        [
            Cell(
                f"{one.first} and {one.second}",
                f"{one.first} as {one.second} {one.n_forth:,}, {one.second} as {one.first} {one.n_back:,}",
            ),
            Cell(f"{one.n_rows:,}", bar=one.n_rows / most),
            Cell(f"{one.n_accepted:,}", mark="wrong" if one.n_accepted else ""),
        ]
        for one in confusion.pairs
    ]
    left_out = confusion.n_pairs - len(rows)
    pairs = Table("Pairs of labels confused most", ("labels", "rows", "accepted"), rows, unlisted=left_out)
    caption = "True labels down, predicted labels across. Numbers count wrong rows; the diagonal, in blue, is right."
    drawn = [Figure([confusion_chart(confusion)], caption)] if confusion.counts else []
    return [*([pairs] if rows else []), *drawn]


def _by_column(results: Sequence[ColumnResults]) -> list[Part]:
    if not results:
        return []
    made: list[Part] = ["Intervals have 95 % confidence. With many groups, some are extreme by chance alone."]
    for column in results:
        right = [] if column.groups[0].n_right_accepted is None else ["right among accepted"]
        rows: list[Row] = [
            [
                group.name,
                f"{group.n_rows:,}",
                _share_within(group.n_accepted, group.n_rows),
                *([_share_within(group.n_right_accepted, group.n_accepted)] if right else []),
                f"{group.n_rows - group.n_accepted:,}",
            ]
            for group in column.groups
        ]
        head = (column.column, "rows", "accepted", *right, "to a person")
        made.append(Table(f"By {column.column}", head, rows))
    return made


def _share_within(n: int | None, n_all: int) -> Cell:
    low, high = (0.0, 1.0) if n is None or not n_all else map(float, rate_interval(n, n_all))
    return share_of(n, n_all, (low, high))


def _wrong(figures: ReportFigures) -> list[Part]:
    held_out = figures.held_out
    if held_out.n_right_accepted is None:
        return []
    n = held_out.n_accepted - held_out.n_right_accepted
    if not n:
        return ["Every accepted row has the right label." if held_out.n_accepted else "No row is accepted."]
    told = f"{n:,} of {held_out.n_accepted:,} accepted rows {'has' if n == 1 else 'have'} a wrong label"
    return [_rows(f"{told}, the most trusted first", figures.wrong, n, figures)]


def _review(figures: ReportFigures) -> list[Part]:
    n = figures.held_out.n_rows - figures.held_out.n_accepted
    if not n:
        return ["Every row is accepted; there is nothing to review."]
    told = f"{n:,} {'row is' if n == 1 else 'rows are'} not accepted"
    return [_rows(f"{told}, the least trusted first", figures.review, n, figures, with_cause=True)]


def _rows(caption: str, rows: Sequence[ReportedRow], n: int, figures: ReportFigures, with_cause: bool = False) -> Table:
    """Single rows; those with terms name their values in the reason."""
    some = rows[0]
    true, cause = ["true label"] * (some.true_label is not None), ["cause"] * with_cause
    groups, values = [name for name, _ in some.groups], ["values"] * (bool(some.values) and not some.terms)
    region = ["region"] * bool(some.region_name)
    cells: list[Row] = []
    for row in rows:
        possible = row.runner_up is not None and (row.runner_up_trust or 0.0) >= POSSIBLE
        runner_up = f"or {row.runner_up}, {decimal(row.runner_up_trust or 0.0)}" if possible else ""
        wrong = "wrong" if row.right is False else ""
        cells.append(
            [
                Cell(row.row, to="" if figures.picture is None else f"at-{row.position}"),
                Cell(row.label, runner_up),
                *([Cell(row.true_label or "", "" if wrong else "as predicted", wrong)] if true else []),
                decimal(row.trust),
                *([row.cause] if cause else []),
                *([row.region_name] if region else []),
                *(value for _, value in row.groups),
                *([Cell(facts=row.values)] if values else []),
                row.why,
            ]
        )
    filters = ("predicted label", *true, *cause, *region, *groups)
    head = ("row", "predicted label", *true, "trust", *cause, *region, *groups, *values, "why")
    ids = [f"row-{row.position}" for row in rows]
    wide = (*region, *values, "why")
    return Table(caption, head, cells, wide, filters, ids, shown=N_ROWS, unlisted=n - len(rows))


def _importances(importances: Sequence[tuple[str, float]]) -> list[Part]:
    if not importances:
        return []
    intro = (
        "The importance of a column is its mean absolute term over the training rows, in log-odds. The terms of "
        "ellipsoids and isolated rows belong to no single column and are not included."
    )
    most = max(importances[0][1], 1e-300)
    rows: list[Row] = [[name, Cell(f"{size:.2f}", bar=size / most)] for name, size in importances]
    return [intro, Table("Columns, the most important first", ("column", "mean size"), rows, shown=N_REGIONS)]


def _weights(weights: WhatCounts | None) -> list[Part]:
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
    n = len(weights.curves)
    drawn = f"All {n} features" if n > 1 else "The only feature"
    if n < weights.n_features:
        others = " or that are monotone" if any(curve.proved for curve in weights.curves) else ""
        drawn = f"The {n} of {weights.n_features:,} features whose terms vary most over the held-out rows{others}"
    caption = (
        f"{drawn}, on one scale. The histogram at the foot shows where the held-out rows lie; a curve means little "
        "where there are none."
    )
    parts: list[Part] = [intro, Figure(curve_charts(weights.curves, weights.positions), caption)]
    if not weights.gives_labels:
        parts.insert(0, "Labels come from another model; this is the partition that their trust is based on.")
    if weights.by_class:
        rows: list[Row] = [
            [name, ", ".join(f"{feature}{NO_BREAK}{spread:.2f}" for feature, spread in most)]
            for name, most in weights.by_class
        ]
        told = "The most important features of each class against the average of the others, with their spread"
        shown = None if len(rows) <= FEW_CLASSES else 0
        parts.append(Table(told, ("class", "features"), rows, wide=("features",), shown=shown))
    return parts


def _regions(figures: ReportFigures) -> list[Part]:
    """The picture, and how many rows of each region are right."""
    regions = figures.regions
    if regions is None:
        return []
    intro = (
        "A region is where the same ellipsoids overlap and training rows lie. Its name holds for all held-out rows "
        f"in it, or for the share stated, and its figures are of these rows alone. {regions.summary()}"
    )
    parts: list[Part] = [intro, *([] if figures.picture is None else [figures.picture])]
    n, unlisted = regions.n_rows_outside, regions.n_outside - len(regions.outside)
    more = f"; {unlisted:,} places are not listed" if unlisted else ""
    outside = f"{n:,} held-out {'row' if n == 1 else 'rows'} outside the regions, by place{more}"
    tables = [
        ("By region, those with the most held-out rows first", regions.rows, N_REGIONS),
        (outside, regions.outside, 0),
    ]
    for caption, rows, shown in tables:
        if rows:
            cells = [_region(row, figures.picture is not None) for row in rows]
            right = [] if rows[0].n_right is None else ["right, 95 % interval"]
            head = ("region", "held-out rows", "accepted", *right, "mean trust", "predicted labels")
            left_out = regions.n_used - len(rows) if shown else 0
            ids = [line_id(row.region) for row in rows]
            parts.append(Table(caption, head, cells, ("region", "predicted labels"), (), ids, shown, left_out))
    return parts


def _region(row: RegionRow, is_drawn: bool) -> list[Cell | str]:
    right = []
    if row.n_right is not None and row.low is not None and row.high is not None:
        right = [share_of(row.n_right, row.n_rows, (row.low, row.high))]
    name = Cell(row.name, to=place_id(row.region) if is_drawn else "")
    return [name, f"{row.n_rows:,}", f"{row.n_accepted:,}", *right, decimal(row.trust), row.labels]


def _trust(figures: ReportFigures) -> list[Part]:
    parts: list[Part] = []
    held_out, curve, bins = figures.held_out, figures.curve, figures.bins
    if held_out.aurc is not None and held_out.ece is not None:
        parts.append(
            f"Averaged over all coverages, {percent(held_out.aurc, 2)} of the accepted rows are wrong (AURC). "
            f"Trust and accuracy differ by {decimal(held_out.ece)} on average (ECE)."
        )
    if curve is not None and bins is not None:
        n, accepted = held_out.n_accepted, None
        if n and held_out.n_right_accepted is not None:
            accepted = (n / held_out.n_rows, 1.0 - held_out.n_right_accepted / n)
        risk = "Selective risk: the share of wrong labels if only the most trusted rows are accepted. Lower is better."
        parts.append(Figure([risk_coverage_chart(curve, accepted)], risk))
        reliability = "Accuracy in bins of trust, with 95 % intervals. On the dashed line, calibration is perfect."
        parts.append(Figure([reliability_chart(bins)], reliability))
    histogram = figures.histogram
    chart = histogram_chart(histogram.names, histogram.first, histogram.second)
    return [*parts, Figure([chart], "Held-out rows by trust.")]


def _landscape(figures: LandscapeFigures | None) -> list[Part]:
    if figures is None:
        return []
    inside, names = figures.inside, list(map(name_of, figures.classes))
    parts: list[Part] = [f"{HOW} {overlaps_in_words(figures)}"]
    chart = overlap_chart(names, inside.tolist())
    if chart is not None:
        most = float(np.max(inside - np.eye(len(names))))
        caption = (
            "In each row, the share of that class's rows that also lie in the ellipsoid of the column's class. Darker "
            f"is more; the largest share is {percent(most)}."
        )
        parts.append(Figure([chart], caption))
    pairs = sorted(figures.overlaps, key=lambda one: -(one.n_first + one.n_second))
    rows: list[Row] = [
        [
            names[one.first],
            names[one.second],
            Cell(percent(inside[one.first, one.second]), counted(one.n_first, "row")),
            Cell(percent(inside[one.second, one.first]), counted(one.n_second, "row")),
            "disjoint" if one.disjoint else " and ".join(map(_ratio, (one.ratio_first, one.ratio_second))),
        ]
        for one in pairs[:N_PAIRS]
    ]
    head = ("class", "other class", "of the class in both", "of the other in both", "shares of volumes")
    caption = "Ellipsoids of two classes, the most rows in both first"
    return [*parts, *([Table(caption, head, rows, unlisted=len(pairs) - len(rows))] if rows else [])]


def _ratio(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.3g}"


def _model(figures: ReportFigures) -> list[Part]:
    facts = [("kind", figures.estimator), *figures.facts]
    return [Facts("Facts", facts), Facts("Parameters", figures.parameters, ("parameter", "value"), is_folded=True)]
