"""The first sections of the page: what to do with these rows, the regions, and the confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting._held_out import ClassScore, ConfusedPair, Confusion, Group, HeldOut, Score
from sepc.reporting._model_figures import RegionRow, RegionTable
from sepc.reporting._partition_chart import beyond, line_id, partition_chart, place_id
from sepc.reporting.figures import ReportFigures
from sepc.reporting.svg import LETTER, Picture, drawing, number, text_at
from sepc.reporting.tables import Cell, Column, Markup, count, folded, percentage, share, table, tag
from sepc.reporting.trust_check import TrustCheck
from sepc.wording import NO_BREAK, decimal, interval, percent, short

# Regions shown at once; more are folded.
N_SHOWN = 8


def region_section(figures: ReportFigures) -> list[Markup | None]:
    """The picture, and how many rows of each region are right."""
    regions = figures.regions
    if regions is None:
        return []
    intro = (
        "A region is where the same ellipsoids overlap and training rows lie. Its name holds for all held-out rows "
        f"in it, or for the share stated, and its figures are of these rows alone. {regions.summary()}"
    )
    return [
        tag("p", intro),
        None if figures.picture is None else _picture(figures.picture, figures),
        *_tables(regions, figures),
    ]


def _picture(picture: Picture, figures: ReportFigures) -> Markup:
    whose = "true" if picture.by_true_label else "predicted"
    caption = f"Marks are held-out rows by their {whose} labels. {_about_ellipses(picture)}{beyond(picture)}"
    how = "Follow the link of a row or a region in the tables to see it here; click on a mark to go back."
    return tag(
        "figure",
        partition_chart(picture, _marked_rows(figures), _marked_regions(figures.regions)),
        tag("p", how, class_="shown", role="status"),
        tag("figcaption", caption),
        id="picture",
    )


def _about_ellipses(picture: Picture) -> str:
    shadows = (
        ""
        if picture.is_exact
        else " They are projections onto this plane, which may overlap where the ellipsoids do not."
    )
    if picture.shows_ellipses:
        return f"Ellipses are the model's ellipsoids.{shadows} "
    return f"The ellipses of a region appear when you follow its link.{shadows} "


def _marked_rows(figures: ReportFigures) -> dict[int, str]:
    """The rows that the tables list, in words, by position."""
    texts = {}
    for row in (*figures.wrong, *figures.review):
        true = "" if row.true_label is None else f", true label {row.true_label}"
        where = f", {row.region_name}" if row.region_name else ""
        texts[row.position] = f"row {row.row}: {row.label} with trust {decimal(row.trust)}{true}{where}"
    return texts


def _marked_regions(regions: RegionTable | None) -> dict[int, tuple[str, tuple[int, ...]]]:
    """Name and ellipsoids of the regions that the tables list."""
    listed = () if regions is None else (*regions.rows, *regions.outside)
    return {row.region: (row.name, row.ellipsoids) for row in listed}


def _tables(regions: RegionTable, figures: ReportFigures) -> list[Markup | None]:
    first, rest = regions.rows[:N_SHOWN], regions.rows[N_SHOWN:]
    parts: list[Markup | None] = []
    if first:
        parts.append(_table("By region, those with the most held-out rows first", first, figures))
    if rest:
        n_more = regions.n_used - len(regions.rows)
        unlisted = f"; {n_more:,} are not listed" if n_more else ""
        parts.append(folded(f"{len(rest):,} more{unlisted}", _table("More regions", rest, figures)))
    if regions.outside:
        n, n_more = regions.n_rows_outside, regions.n_outside - len(regions.outside)
        unlisted = f"; {n_more:,} places are not listed" if n_more else ""
        caption = f"{n:,} held-out {'row' if n == 1 else 'rows'} outside the regions, by place"
        parts.append(folded(f"{caption}{unlisted}", _table(caption, regions.outside, figures)))
    return parts


def _table(caption: str, regions: Sequence[RegionRow], figures: ReportFigures) -> Markup:
    columns = [Column("region", class_="name"), Column("predicted labels"), Column("held\u2011out rows", True)]
    columns += [
        Column("accepted", True),
        *([] if regions[0].n_right is None else [Column("right, 95 % interval", True)]),
    ]
    columns += [Column("mean trust", True)]
    rows = []
    for region in regions:
        to = "" if figures.picture is None else place_id(region.region)
        row = [Cell(region.name, to=to), Cell(region.labels), count(region.n_rows), count(region.n_accepted)]
        rows.append([*row, *_right(region), share(region.trust)])
    ids = [line_id(region.region) for region in regions]
    return table(caption, columns, rows, sortable=True, ids=ids, is_tall=False)


def _right(region: RegionRow) -> list[Cell]:
    """The share of right labels, with its 95 % interval."""
    if region.n_right is None or region.right is None:
        return []
    ends = region.right[1].replace(" %", f"{NO_BREAK}%")
    return [percentage(region.n_right / region.n_rows, f"{region.n_right:,} of {region.n_rows:,}; {ends}")]


# With more classes than this, the most confused pairs come before the matrix, which is drawn as a heat map.
FEW_CLASSES = 8
SIZE = 18.0
# The darkest shade of a wrong cell stands for the largest count, and no wrong cell is fainter than this.
FAINTEST, DARKEST = 0.12, 0.75


def confusion_matrix(confusion: Confusion) -> Markup:
    """A table with a row for each true label and a column for each predicted one."""
    head = Column("true label")
    columns = [head, *(Column(f"predicted {name}", True) for name in confusion.classes)]
    rows = []
    for i, (name, counts, accepted) in enumerate(
        zip(confusion.truths, confusion.counts, confusion.accepted, strict=True)
    ):
        cells = [
            Cell(f"{n:,}", n, "hit" if i == j else "miss" if n else "", f"{m:,} accepted")
            for j, (n, m) in enumerate(zip(counts, accepted, strict=True))
        ]
        rows.append([Cell(name), *cells])
    return table("Rows by true and predicted label", columns, rows, class_="confusion")


def confused_pairs(confusion: Confusion) -> Markup | None:
    """A table of the pairs of labels that are confused most, with bars."""
    if not confusion.pairs:
        return None
    most = confusion.pairs[0].n_rows
    columns = [Column("labels"), Column("rows", True), Column("accepted", True)]
    rows = [
        [
            Cell(f"{pair.first} and {pair.second}", more=_both_ways(pair)),
            Cell(f"{pair.n_rows:,}", pair.n_rows, bar=pair.n_rows / most),
            Cell(f"{pair.n_accepted:,}", pair.n_accepted, "wrong" if pair.n_accepted else ""),
        ]
        for pair in confusion.pairs
    ]
    shown = (
        f"All {len(rows)} pairs of labels that are confused"
        if len(rows) == confusion.n_pairs
        else f"The {len(rows)} pairs of labels confused most, of {confusion.n_pairs:,}"
    )
    return table(shown, columns, rows, sortable=len(rows) > 5)


def _both_ways(pair: ConfusedPair) -> str:
    return f"{pair.first} as {pair.second} {pair.n_forth:,}, {pair.second} as {pair.first} {pair.n_back:,}"


def confusion_chart(confusion: Confusion) -> Markup | None:
    """A heat map of the matrix; None without one."""
    if not confusion.counts:
        return None
    n_rows, n = len(confusion.truths), len(confusion.classes)
    left = 12.0 + LETTER * min(max(map(len, confusion.truths)), 14)
    top = 34.0
    wrong = [c for i, row in enumerate(confusion.counts) for j, c in enumerate(row) if i != j]
    most = max([*wrong, 1])
    cells = [_heat(confusion, i, j, left, top, most) for i in range(n_rows) for j in range(n) if confusion.counts[i][j]]
    letters = max(2, int(SIZE / LETTER))
    names = [
        text_at(short(name, 14), left - 6, top + SIZE * (i + 0.5) + 4, "end") for i, name in enumerate(confusion.truths)
    ]
    names += [
        text_at(short(name, letters), left + SIZE * (j + 0.5), top - 6, "middle")
        for j, name in enumerate(confusion.classes)
    ]
    over = text_at("predicted label", left + SIZE * n / 2, 12, "middle", "axis")
    width, height = left + SIZE * n + 8, top + SIZE * n_rows + 8
    description = f"A row for each true label, a column for each predicted one; the darkest cell holds {most:,} rows."
    return drawing("confusion", "Confusion matrix", description, width, height, cells, names, over)


def _heat(confusion: Confusion, i: int, j: int, left: float, top: float, most: int) -> Markup:
    n, x, y = confusion.counts[i][j], left + SIZE * j, top + SIZE * i
    total = sum(confusion.counts[i])
    title = tag(
        "title", f"{confusion.truths[i]} predicted as {confusion.classes[j]}: {n:,} rows, {percent(n / total)} of them"
    )
    box = tag("rect", x=number(x), y=number(y), width=number(SIZE - 1), height=number(SIZE - 1))
    if i == j:
        return tag("g", title, box, class_="heat hit")
    shade = FAINTEST + (DARKEST - FAINTEST) * n / most
    text = text_at(f"{n}" if n < 1000 else "…", x + SIZE / 2, y + SIZE / 2 + 3.5, "middle")
    return tag("g", title, box, text, class_="heat miss", style=f"--share:{shade:.2f}")


# Signs repeat what the colours of the boxes say.
GOOD, BAD = "\u2713", "\u26a0"
# With many classes, only those with the lowest recall or precision are shown at once.
N_WEAKEST = 10


def first_section(figures: ReportFigures) -> list[Markup | None]:
    """How many rows are accepted and go to a person, whether trust is calibrated, and the results of every class."""
    held_out = figures.held_out
    tiles = (tag("div", tag("dt", name), values, class_="tile") for name, values in _tiles(held_out))
    scores = [_scores(figures.scores)] if figures.scores else [_labels(figures.labels)]
    confusion = figures.confusion
    if confusion is not None and confusion.counts and len(confusion.classes) <= FEW_CLASSES:
        scores.append(confusion_matrix(confusion))
    return [
        tag("dl", tiles, class_="tiles"),
        *(_promise(figures.promise) if figures.promise else []),
        *map(_check, figures.checks),
        *map(_warning, figures.warnings),
        _to_a_person(figures.causes),
        tag("div", scores, class_="beside"),
    ]


def _tiles(figures: HeldOut) -> list[tuple[str, list[Markup]]]:
    n, n_accepted = figures.n_rows, figures.n_accepted
    tiles = [_tile("accepted", percent(n_accepted / n), f"{n_accepted:,} of {n:,} rows")]
    if figures.low is not None and figures.high is not None and figures.n_right_accepted is not None:
        share = percent(figures.n_right_accepted / n_accepted)
        more = f"{figures.n_right_accepted:,} of {n_accepted:,}; 95 % interval {interval(figures.low, figures.high)}"
        tiles.append(_tile("right among accepted", share, more))
    tiles.append(_tile("for a person to decide", percent(1.0 - n_accepted / n), f"{n - n_accepted:,} of {n:,} rows"))
    if figures.n_right is not None:
        right = f"{figures.n_right:,} of {n:,} rows"
        tiles.append(_tile("right if all were accepted", percent(figures.n_right / n), right))
    return tiles


def _tile(name: str, value: str, more: str) -> tuple[str, list[Markup]]:
    return name, [tag("dd", value), tag("dd", more.replace(" %", f"{NO_BREAK}%"), class_="more")]


def _promise(promise: Sequence[str]) -> list[Markup]:
    return [tag("div", (tag("p", line) for line in promise), class_="promise")]


def _check(check: TrustCheck) -> Markup:
    kind, sign = ("warning", BAD) if check.is_contradicted else ("believed", GOOD)
    sign = sign if check.n_accepted else ""
    head = tag("strong", tag("span", sign, class_="sign", aria_hidden="true") if sign else None, check.head)
    return tag("div", tag("p", head, f" {check.text}"), class_=f"check {kind}")


def _warning(message: str) -> Markup:
    sign = tag("span", BAD, class_="sign", aria_hidden="true")
    return tag("div", tag("p", tag("strong", sign, "Warning."), f" {message}"), class_="check warning")


def _to_a_person(causes: Sequence[Group]) -> Markup | None:
    """Why rows are not accepted, the most frequent cause first."""
    refused = sorted((cause for cause in causes if not cause.n_accepted), key=lambda cause: -cause.n_rows)
    if not refused:
        return None
    n = sum(cause.n_rows for cause in refused)
    with_labels = refused[0].n_right is not None
    columns = [Column("because"), Column("rows", True), Column("share", True)]
    columns += [Column("label right anyway", True)] if with_labels else []
    rows = []
    for cause in refused:
        row = [
            Cell(cause.meaning, more=cause.name),
            count(cause.n_rows),
            Cell(percent(cause.n_rows / n), cause.n_rows / n, bar=cause.n_rows / n),
        ]
        row += [] if cause.n_right is None else [percentage(cause.n_right / cause.n_rows)]
        rows.append(row)
    return table(f"Why {n:,} {'row goes' if n == 1 else 'rows go'} to a person", columns, rows)


def _labels(labels: Sequence[Group]) -> Markup:
    """Rows by predicted label, if the true ones are unknown."""
    columns = [Column("predicted label"), Column("rows", True), Column("accepted", True)]
    rows = [[Cell(group.name), count(group.n_rows), count(group.n_accepted)] for group in labels]
    return table("Every label", columns, rows, sortable=len(rows) > 5)


def _scores(scores: Sequence[ClassScore]) -> Markup:
    """Recall and precision; of many classes, the weakest first and the rest folded."""
    caption = "Every label: how many of its rows are found (recall), and how often it is right (precision)"
    if len(scores) <= N_WEAKEST:
        return _score_table(caption, scores)
    ranked = sorted(scores, key=lambda score: score.weakest)
    weakest = f"The {N_WEAKEST} labels with the lowest recall (rows found) or precision (how often it is right)"
    rest = ranked[N_WEAKEST:]
    return tag(
        "div",
        _score_table(weakest, ranked[:N_WEAKEST]),
        folded(f"The other {len(rest):,} labels", _score_table("The other labels, the weakest first", rest)),
    )


def _score_table(caption: str, scores: Sequence[ClassScore]) -> Markup:
    columns = [Column("label"), Column("recall", True), Column("precision", True)]
    columns += [Column("recall, accepted", True), Column("precision, accepted", True)]
    rows = [[Cell(score.name), *_score(score.all_rows), *_score(score.accepted)] for score in scores]
    return table(caption, columns, rows, sortable=len(rows) > 5, is_tall=False)


def _score(score: Score) -> list[Cell]:
    return [
        percentage(score.recall, f"{score.n_right:,} of {score.n_true:,}" if score.n_true else "no rows"),
        percentage(score.precision, f"{score.n_right:,} of {score.n_predicted:,}" if score.n_predicted else "no rows"),
    ]
