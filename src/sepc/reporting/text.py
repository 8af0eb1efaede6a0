"""A report as plain text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sepc.reporting.class_overlaps import ClassOverlaps
from sepc.reporting.figures import ReportFigures, ReviewRow
from sepc.reporting.held_out import Curves, Group, HeldOut
from sepc.reporting.region_rows import RegionTable
from sepc.reporting.what_counts import WhatCounts
from sepc.views.recall import Recall, warnings_of
from sepc.wording import columns_of, decimal, interval, percent, short, signed

WIDTH = 96
N_REGIONS = 12
N_REVIEW = 10
N_LABELS = 30
N_PAIRS = 8
LONGEST_CELL = 40
LONGEST_VALUE = 240
# Shares of rows at which the risk-coverage curve is printed.
COVERAGES = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0)

Row = Sequence[str]


def lines(figures: ReportFigures) -> Iterator[str]:
    """The report line by line."""
    yield from (figures.title, "=" * min(columns_of(figures.title), WIDTH), "")
    yield from _wrapped(figures.verdict)
    parts: list[tuple[str, Iterator[str]]] = [
        ("Promise", _paragraphs(figures.promise)),
        ("What counts", _weights(figures.weights)),
        ("Overlap of the classes in training", _landscape(figures.landscape)),
        ("Held-out rows", _figures(figures.held_out)),
        ("By predicted label", _groups("label", figures.labels)),
        ("By true label", _recalls(figures.recalls)),
        ("Outcomes", _groups("cause", figures.causes)),
        ("Regions", _regions(figures.regions)),
        ("Trust and errors", _curves(figures.curves)),
        ("Rows to review", _review(figures)),
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


def _figures(figures: HeldOut) -> Iterator[str]:
    n, n_accepted = figures.n_rows, figures.n_accepted
    rows = [("rows", f"{n:,}"), ("accepted", f"{n_accepted:,} ({percent(n_accepted / n)})")]
    if figures.n_right is not None and figures.n_right_accepted is not None:
        if figures.low is not None and figures.high is not None:
            share = percent(figures.n_right_accepted / n_accepted)
            ends = f"95 % interval {interval(figures.low, figures.high)}"
            rows.append(("right among accepted", f"{figures.n_right_accepted:,} ({share}, {ends})"))
        rows.append(("right among all", f"{figures.n_right:,} ({percent(figures.n_right / n)})"))
        rows.append(("AURC", f"{figures.aurc:.4f}"))
        rows.append(("ECE", f"{figures.ece:.3f}"))
    yield from _pairs(rows)
    if figures.n_unknown:
        named = ", ".join(short(name, LONGEST_CELL) for name in figures.unknown)
        yield from _wrapped(
            f"{figures.n_unknown:,} rows have a label that is not a class of the model ({named}); they count as wrong."
        )


def _groups(kind: str, groups: Sequence[Group]) -> Iterator[str]:
    if not groups:
        return
    by_cause, labelled = bool(groups[0].meaning), groups[0].n_right is not None
    head = [kind, "rows", *([] if by_cause else ["accepted"])]
    head += ["right", "wrong" if by_cause else "wrong among accepted"] if labelled else []
    largest = sorted(groups, key=lambda group: -group.n_rows)[:N_LABELS]
    rows = []
    for group in groups:
        if group not in largest:
            continue
        row = [group.name, f"{group.n_rows:,}", *([] if by_cause else [f"{group.n_accepted:,}"])]
        if group.n_right is not None and group.n_right_accepted is not None:
            n_wrong = group.n_rows - group.n_right if by_cause else group.n_accepted - group.n_right_accepted
            row += [f"{group.n_right:,}", f"{n_wrong:,}"]
        rows.append([*row, group.meaning])
    head.append("")
    yield from _table(head, rows)
    yield from _more(len(groups) - len(rows), "labels")


def _recalls(classes: Sequence[Recall]) -> Iterator[str]:
    if not classes:
        return
    largest = sorted(classes, key=lambda own: -own.n_rows)[:N_LABELS]
    # A rare class that is missed is never left out.
    shown = [own for own in classes if own in largest or own.is_missed]
    rows = [
        [
            own.name,
            f"{own.n_rows:,}",
            f"{own.n_found:,}",
            percent(own.share),
            f"{own.n_accepted:,}",
            f"{own.n_accepted - own.n_found_accepted:,}",
        ]
        for own in shown
    ]
    head = ["label", "rows", "found", "share found", "accepted", "accepted as another"]
    yield from _table(head, rows, text=(0,))
    yield from _more(len(classes) - len(rows), "labels")
    for sentence in warnings_of(classes):
        yield from ("", *_wrapped(sentence))


def _weights(weights: WhatCounts | None) -> Iterator[str]:
    if weights is None:
        return
    against = short(weights.against, LONGEST_CELL) if weights.against else "the average of the others"
    yield from _wrapped(f"Log-odds of {short(weights.label, LONGEST_CELL)} against {against}:")
    rows = []
    for curve in weights.curves:
        least, most = (choose(range(len(curve.x)), key=curve.term.__getitem__) for choose in (min, max))
        ends = [cell for i in (least, most) for cell in (f"{curve.term[i]:+.2f}", curve.value(i))]
        rows.append([curve.name, f"{curve.spread:.2f}", *ends])
    yield from _table(["feature", "spread", "lowest", "at", "highest", "at"], rows, text=(0,))
    yield from _more(weights.n_features - len(rows), "features")
    if weights.ellipsoids:
        inside = []
        for part in weights.ellipsoids:
            wide = "" if part.low is None else f"{part.low:+.2f} to {part.high:+.2f}"
            inside.append([f"{part.number} of {weights.classes[part.owner]}", f"{part.inside:+.2f}", wide])
        yield from ("", *_table(["ellipsoid", "inside adds", "90 % of rows"], inside, text=(0,)))
        yield from _more(weights.n_ellipsoids - len(inside), "ellipsoids")
    yield from ("", *_wrapped(weights.disagreement.summary()))


def _landscape(classes: ClassOverlaps | None) -> Iterator[str]:
    if classes is None:
        return
    yield from _wrapped(classes.words)
    rows = [
        [
            short(pair.first, 24),
            short(pair.second, 24),
            f"{pair.n_first:,}",
            f"{pair.n_second:,}",
            "disjoint" if pair.disjoint else " and ".join(_ratio(pair.ratio_first, pair.ratio_second)),
        ]
        for pair in classes.pairs[:N_PAIRS]
    ]
    yield from (
        "",
        *_table(["class", "other class", "its rows in both", "other's rows in both", "shares of volumes"], rows),
    )
    yield from _more(classes.n_pairs - len(rows), "pairs")
    yield from ("", *_pairs(classes.figures))


def _ratio(*ratios: float | None) -> list[str]:
    return ["-" if ratio is None else f"{ratio:.3g}" for ratio in ratios]


def _regions(regions: RegionTable | None) -> Iterator[str]:
    if regions is None:
        return
    rows = []
    for region in regions.rows[:N_REGIONS]:
        n_wrong = "" if region.n_right is None else f"{region.n_rows - region.n_right:,}"
        trust = "" if region.trust is None else decimal(region.trust)
        low, high = region.low, region.high
        interval = "" if low is None or high is None else f"{decimal(low)} to {decimal(high)}"
        named = [f"{region.region}", short(region.name, 24), short(region.label or "several", 16)]
        rows.append([*named, f"{region.n_training:,}", interval, f"{region.n_rows:,}", n_wrong, trust])
    head = ["id", "region", "label", "training", "right, 95 %", "held-out", "wrong", "trust"]
    yield from _table(head, rows, text=(1, 2))
    yield from _more(regions.n_all - len(rows), "regions")


def _curves(curves: Curves | None) -> Iterator[str]:
    if curves is None:
        return
    at = [min(range(len(curves.coverage)), key=lambda i: abs(curves.coverage[i] - share)) for share in COVERAGES]
    yield from _table(
        ["accepting the most trusted", *(percent(share) for share in COVERAGES)],
        [["wrong among them", *(percent(curves.risk[i]) for i in at)]],
    )
    yield ""
    columns = (curves.bin_trust, curves.bin_right, curves.bin_low, curves.bin_high, curves.bin_rows)
    rows = [
        [decimal(trust), decimal(right), f"{decimal(low)} to {decimal(high)}", f"{n:,}"]
        for trust, right, low, high, n in zip(*columns, strict=True)
    ]
    yield from _table(["mean trust", "was right", "95 % interval", "rows"], rows, text=())


def _review(figures: ReportFigures) -> Iterator[str]:
    n = figures.held_out.n_rows - figures.held_out.n_accepted
    if not n:
        yield "Every row is accepted; there is nothing to review."
        return
    shown = figures.review[:N_REVIEW]
    yield f"{n:,} not accepted; the {len(shown)} least trusted:" if len(shown) < n else f"{n:,} not accepted:"
    for row in shown:
        yield _head(row)
        yield from _wrapped(row.why, indent="    ")
        if row.runner_up is not None:
            counts = f"What counts most against {short(row.runner_up, 20)}: {signed(row.terms)}."
            yield from _wrapped(counts, indent="    ")


def _head(row: ReviewRow) -> str:
    text = f"row {short(row.row, 20)}: {short(row.label, 20)}"
    true = "" if row.true_label is None else f" (true: {short(row.true_label, 20)})"
    return f"{text}{true}, trust {decimal(row.trust)}{f', {row.cause}' if row.cause else ''}"


def _paragraphs(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from _wrapped(sentence)


def _pairs(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Names and values in two columns; long values wrap."""
    width = max(columns_of(name) for name, _ in rows)
    for name, value in rows:
        first, *rest = textwrap.wrap(short(value, LONGEST_VALUE), WIDTH - width - 2) or [""]
        yield f"{_padded(name, width)}  {first}".rstrip()
        yield from (f"{' ' * width}  {line}" for line in rest)


def _table(head: Row, rows: Sequence[Row], text: Sequence[int] = (0, -1)) -> Iterator[str]:
    """Aligned columns: those listed in `text` to the left, the others to the right."""
    cells = [[short(cell, LONGEST_CELL) for cell in row] for row in (head, *rows)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    left = {i % len(widths) for i in text}
    for row in cells:
        padded = [_padded(cell, width, i not in left) for i, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(padded).rstrip()


def _padded(cell: str, width: int, right: bool = False) -> str:
    space = " " * (width - columns_of(cell))
    return f"{space}{cell}" if right else f"{cell}{space}"


def _more(n: int, what: str) -> Iterator[str]:
    if n > 0:
        yield f"and {n:,} more {what}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
