"""A report as plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sepc.estimators.selective.groups import GroupComparison, regions_in_words
from sepc.reporting._actions import Action
from sepc.reporting._held_out import ClassScore, Confusion, Curves, Group, HeldOut, Score, Thresholds
from sepc.reporting._model_figures import ClassOverlaps, RegionRow, RegionTable, WhatCounts
from sepc.reporting._rows import ColumnResults, ReportedRow
from sepc.reporting.figures import ReportFigures
from sepc.wording import columns_of, counted, decimal, interval, percent, short

WIDTH = 96
N_REGIONS = 8
N_COLUMNS = 8
N_REVIEW = 10
N_WRONG = 6
N_LABELS = 30
N_PAIRS = 8
LONGEST_CELL = 40
LONGEST_VALUE = 240
# Coverages at which the risk-coverage curve is printed.
COVERAGES = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0)

Row = Sequence[str]


def lines(figures: ReportFigures) -> Iterator[str]:
    """The report line by line."""
    yield from (figures.title, "=" * min(columns_of(figures.title), WIDTH), "")
    yield from _wrap(figures.verdict)
    if figures.held_out_rows:
        yield from _wrap(f"Held out: {figures.held_out_rows}.")
    parts: list[tuple[str, Iterator[str]]] = [
        ("What to do first", _actions(figures.actions)),
        ("What stands out in the table", _paragraphs([str(finding) for finding in figures.findings])),
        ("Results", _first(figures)),
        ("Other thresholds", _thresholds(figures.thresholds)),
        ("Why rows go to a person", _causes(figures.causes)),
        ("Every label", _scores(figures)),
        ("Confused labels", _confusion(figures.confusion)),
        *((f"Results by {column.column}", _results(column)) for column in figures.results),
        ("Groups", _groups(figures.groups)),
        ("Rows to review", _review(figures)),
        ("Accepted but wrong", _wrong(figures)),
        ("Feature importance", _importances(figures.importances)),
        ("What is proved", _paragraphs(figures.proofs)),
        ("Shape functions and weights", _weights(figures.weights)),
        ("Regions", _regions(figures.regions)),
        ("Trust and errors", _curves(figures.curves)),
        ("Overlap of the classes in training", _landscape(figures.landscape)),
        ("Model", _pairs([("kind", figures.estimator), *figures.facts])),
        ("Parameters", _pairs(figures.parameters)),
        ("Not in this report", _paragraphs(_reasons(figures))),
    ]
    for title, part in parts:
        if body := list(part):
            yield from ("", title, "-" * len(title), *body)


def _reasons(figures: ReportFigures) -> tuple[str, ...]:
    """Why parts of the report are missing; a terminal shows no picture anyway."""
    return tuple(reason for part, reason in figures.left_out.items() if part != "picture")


def _actions(actions: Sequence[Action]) -> Iterator[str]:
    for i, action in enumerate(actions, start=1):
        first, *rest = _wrap(f"{i}. {action.do}. {action.why}")
        yield first
        yield from _wrap(" ".join(rest), indent="   ")


def _thresholds(thresholds: Thresholds) -> Iterator[str]:
    if not thresholds.is_exact:
        yield from _wrap("Rows accepted by trust alone, with one threshold for all:")
    n, right = thresholds.n_rows, thresholds.n_right
    rows = []
    for i in thresholds.short():
        n_accepted = thresholds.n_accepted[i]
        cells = [f"{thresholds.at[i]:.4g}", f"{n_accepted:,}", percent(n_accepted / n)]
        if right is not None:
            cells.append(percent(right[i] / n_accepted) if n_accepted else "-")
        rows.append([*cells, f"{n - n_accepted:,}", "in use" if i == thresholds.now else ""])
    head = ["threshold", "accepted", "share", *([] if right is None else ["right among them"]), "to a person", ""]
    yield from _table(head, rows, text=(-1,))


def _results(results: ColumnResults) -> Iterator[str]:
    rows = []
    for group in results.groups:
        cells = [group.name, f"{group.n_rows:,}", percent(group.n_accepted / group.n_rows), interval(*group.accepted)]
        if group.n_right_accepted is not None:
            share = group.n_right_accepted / group.n_accepted if group.n_accepted else None
            cells.append("-" if share is None else percent(share))
            cells.append("" if group.right is None else interval(*group.right))
        rows.append([*cells, f"{group.n_rows - group.n_accepted:,}"])
    right = [] if results.groups[0].n_right_accepted is None else ["right among them", "95 % interval"]
    head = [results.column, "rows", "accepted", "95 % interval", *right, "to a person"]
    yield from _table(head, rows, text=(0,))


def _importances(importances: Sequence[tuple[str, float]]) -> Iterator[str]:
    if importances:
        yield from _wrap("The mean absolute term of each column over the training rows, in log-odds:")
        yield from _table(
            ["column", "mean size"], [[name, f"{size:.2f}"] for name, size in importances[:N_COLUMNS]], text=(0,)
        )
        yield from _more(len(importances) - N_COLUMNS, "columns")


def _first(figures: ReportFigures) -> Iterator[str]:
    yield from _figures(figures.held_out)
    for line in figures.promise:
        yield from ("", *_wrap(line))
    for check in figures.checks:
        head = f"WARNING: {check.head}" if check.is_contradicted else check.head
        yield from ("", *_wrap(f"{head} {check.text}"))
    for warning in figures.warnings:
        yield from ("", *_wrap(f"WARNING: {warning}"))


def _figures(figures: HeldOut) -> Iterator[str]:
    n, n_accepted = figures.n_rows, figures.n_accepted
    rows = [("accepted", f"{n_accepted:,} of {n:,} ({percent(n_accepted / n)})")]
    if figures.low is not None and figures.high is not None and figures.n_right_accepted is not None:
        share = percent(figures.n_right_accepted / n_accepted)
        ends = f"95 % interval {interval(figures.low, figures.high)}"
        rows.append(("right among accepted", f"{figures.n_right_accepted:,} ({share}, {ends})"))
    rows.append(("for a person to decide", f"{n - n_accepted:,} ({percent(1.0 - n_accepted / n)})"))
    if figures.n_right is not None:
        rows.append(("right if all were accepted", f"{figures.n_right:,} ({percent(figures.n_right / n)})"))
        rows.append(("AURC", f"{figures.aurc:.4f}"))
        rows.append(("ECE", f"{figures.ece:.3f}"))
    yield from _pairs(rows)


def _causes(causes: Sequence[Group]) -> Iterator[str]:
    refused = sorted((cause for cause in causes if not cause.n_accepted), key=lambda cause: -cause.n_rows)
    if not refused:
        return
    with_labels = refused[0].n_right is not None
    rows = []
    for cause in refused:
        right = [] if cause.n_right is None else [f"{cause.n_right:,}"]
        rows.append([cause.name, f"{cause.n_rows:,}", *right, cause.meaning])
    yield from _table(["cause", "rows", *(["label right anyway"] if with_labels else []), "because"], rows)


def _scores(figures: ReportFigures) -> Iterator[str]:
    if not figures.scores:
        largest = sorted(figures.labels, key=lambda group: -group.n_rows)[:N_LABELS]
        rows = [[group.name, f"{group.n_rows:,}", f"{group.n_accepted:,}"] for group in largest]
        yield from _table(["label", "rows", "accepted"], rows, text=(0,))
        yield from _more(len(figures.labels) - len(rows), "labels")
        return
    is_long = len(figures.scores) > N_LABELS
    shown = sorted(figures.scores, key=lambda score: score.weakest)[:N_LABELS] if is_long else figures.scores
    head = ["label", "recall", "of", "precision", "of", "recall, accepted", "of", "precision, accepted", "of"]
    yield from _table(head, [_score_cells(score) for score in shown], text=(0,))
    yield from _more(len(figures.scores) - len(shown), "labels")


def _score_cells(class_score: ClassScore) -> list[str]:
    def cells(score: Score) -> list[str]:
        shares = ["-" if share is None else percent(share) for share in (score.recall, score.precision)]
        return [shares[0], f"{score.n_true:,}", shares[1], f"{score.n_predicted:,}"]

    return [short(class_score.name, 20), *cells(class_score.all_rows), *cells(class_score.accepted)]


def _confusion(confusion: Confusion | None) -> Iterator[str]:
    if confusion is None or not confusion.pairs:
        return
    rows = [
        [
            f"{short(pair.first, 18)} and {short(pair.second, 18)}",
            f"{pair.n_rows:,}",
            f"{pair.n_accepted:,}",
            f"{pair.n_forth:,}",
            f"{pair.n_back:,}",
        ]
        for pair in confusion.pairs
    ]
    yield from _table(["labels", "rows", "accepted", "first as second", "second as first"], rows, text=(0,))
    yield from _more(confusion.n_pairs - len(rows), "pairs")


def _groups(groups: GroupComparison | None) -> Iterator[str]:
    if groups is None:
        return
    rows = [
        [
            row.name,
            f"{row.n_rows:,}",
            percent(row.accepted),
            "-" if row.wrong is None else percent(row.wrong),
            "-" if row.refused_wrong is None else percent(row.refused_wrong),
            "yes" if row.has_promise else "no",
        ]
        for row in (*groups.rows[:N_LABELS], groups.everyone)
    ]
    head = ["group", "rows", "accepted", "wrong among accepted", "wrong among the rest", "promise"]
    yield from _table(head, rows)
    yield from _more(len(groups.rows) - N_LABELS, "groups")
    differing = [row for row in groups.rows[:N_LABELS] if row.regions]
    if differing:
        yield from ("", "Where coverage differs most from that of all rows, in percentage points:")
    for row in differing:
        yield from _wrap(f"{row.name}: {regions_in_words(row)}")


def _weights(weights: WhatCounts | None) -> Iterator[str]:
    if weights is None:
        return
    against = short(weights.against, LONGEST_CELL) if weights.against else "the average of the others"
    yield from _wrap(f"Log-odds of {short(weights.label, LONGEST_CELL)} against {against}:")
    rows = []
    for curve in weights.curves:
        least, most = (choose(range(len(curve.x)), key=curve.term.__getitem__) for choose in (min, max))
        ends = [cell for i in (least, most) for cell in (f"{curve.term[i]:+.2f}", curve.value(i))]
        rows.append([f"{curve.name} ({curve.proved})" if curve.proved else curve.name, f"{curve.spread:.2f}", *ends])
    yield from _table(["feature", "spread", "lowest", "at", "highest", "at"], rows, text=(0,))
    yield from _more(weights.n_features - len(rows), "features")
    if weights.disagreement is not None:
        yield from ("", *_wrap(weights.disagreement.summary()))


def _landscape(classes: ClassOverlaps | None) -> Iterator[str]:
    if classes is None:
        return
    yield from _wrap(classes.words)
    rows = [
        [
            short(pair.first, 24),
            short(pair.second, 24),
            f"{pair.n_first:,} ({percent(pair.share_first)})",
            f"{pair.n_second:,} ({percent(pair.share_second)})",
            "disjoint" if pair.disjoint else " and ".join(_ratio(pair.ratio_first, pair.ratio_second)),
        ]
        for pair in classes.pairs[:N_PAIRS]
    ]
    yield from (
        "",
        *_table(["class", "other class", "its rows in both", "other's rows in both", "shares of volumes"], rows),
    )
    yield from _more(classes.n_pairs - len(rows), "pairs")


def _ratio(*ratios: float | None) -> list[str]:
    return ["-" if ratio is None else f"{ratio:.3g}" for ratio in ratios]


def _regions(regions: RegionTable | None) -> Iterator[str]:
    if regions is None:
        return
    yield from _wrap(regions.summary())
    if not regions.rows:
        return
    right = [] if regions.rows[0].n_right is None else ["right", "95 % interval"]
    head = ["region", "held-out rows", "accepted", *right, "mean trust"]
    shown = regions.rows[:N_REGIONS]
    first, *others = _table(head, [_region_cells(region) for region in shown], text=())
    yield from ("", first)
    for line, region in zip(others, shown, strict=True):
        yield from (line, *_wrap(region.name, indent="    "))
    yield from _more(regions.n_used - N_REGIONS, "regions with held-out rows")


def _region_cells(region: RegionRow) -> list[str]:
    counts = [f"{region.region}", f"{region.n_rows:,}", f"{region.n_accepted:,}"]
    return [*counts, *(region.right or ()), decimal(region.trust)]


def _curves(curves: Curves | None) -> Iterator[str]:
    if curves is None:
        return
    at = [min(range(len(curves.coverage)), key=lambda i: abs(curves.coverage[i] - share)) for share in COVERAGES]
    yield from _table(
        ["coverage", *(percent(share) for share in COVERAGES)],
        [["selective risk", *(percent(curves.risk[i]) for i in at)]],
    )
    yield ""
    columns = (curves.bin_trust, curves.bin_right, curves.bin_low, curves.bin_high, curves.bin_rows)
    rows = [
        [decimal(trust), decimal(right), f"{decimal(low)} to {decimal(high)}", f"{n:,}"]
        for trust, right, low, high, n in zip(*columns, strict=True)
    ]
    yield from _table(["mean trust", "accuracy", "95 % interval", "rows"], rows, text=())


def _wrong(figures: ReportFigures) -> Iterator[str]:
    if figures.held_out.n_right_accepted is None:
        return
    n = figures.held_out.n_accepted - figures.held_out.n_right_accepted
    if not n:
        yield "Every accepted row has the right label." if figures.held_out.n_accepted else "No row is accepted."
        return
    shown = figures.wrong[:N_WRONG]
    wrong = f"{counted(n, 'accepted row')} {'is' if n == 1 else 'are'} wrong"
    yield f"{wrong}; the {len(shown)} most trusted:" if len(shown) < n else f"{wrong}:"
    yield from _rows(shown)


def _review(figures: ReportFigures) -> Iterator[str]:
    n = figures.held_out.n_rows - figures.held_out.n_accepted
    if not n:
        yield "Every row is accepted; there is nothing to review."
        return
    shown = figures.review[:N_REVIEW]
    refused = f"{counted(n, 'row')} {'is' if n == 1 else 'are'} not accepted"
    yield f"{refused}; the {len(shown)} least trusted:" if len(shown) < n else f"{refused}:"
    yield from _rows(shown)


def _rows(rows: Sequence[ReportedRow]) -> Iterator[str]:
    for row in rows:
        yield _head(row)
        yield from _wrap(row.why, indent="    ")
        if row.values:
            yield from _wrap(", ".join(f"{name} {value}" for name, value in row.values), indent="    ")


def _head(row: ReportedRow) -> str:
    text = f"row {short(row.row, 20)}: {short(row.label, 20)}"
    true = "" if row.true_label is None else f" (true: {short(row.true_label, 20)})"
    return f"{text}{true}, trust {decimal(row.trust)}{'' if row.cause == 'ACCEPTED' else f', {row.cause}'}"


def _paragraphs(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from _wrap(sentence)


def _pairs(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Names and values in two columns; long values wrap."""
    width = max(columns_of(name) for name, _ in rows)
    for name, value in rows:
        first, *rest = textwrap.wrap(short(value, LONGEST_VALUE), WIDTH - width - 2) or [""]
        yield f"{_pad(name, width)}  {first}".rstrip()
        yield from (f"{' ' * width}  {line}" for line in rest)


def _table(head: Row, rows: Sequence[Row], text: Sequence[int] = (0, -1)) -> Iterator[str]:
    """Aligned columns: those listed in `text` to the left, the others to the right."""
    cells = [[short(cell, LONGEST_CELL) for cell in row] for row in (head, *rows)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    left = {i % len(widths) for i in text}
    for row in cells:
        padded = [_pad(cell, width, i not in left) for i, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(padded).rstrip()


def _pad(cell: str, width: int, right: bool = False) -> str:
    space = " " * (width - columns_of(cell))
    return f"{space}{cell}" if right else f"{cell}{space}"


def _more(n: int, what: str) -> Iterator[str]:
    if n > 0:
        yield f"and {n:,} more {what}"


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
