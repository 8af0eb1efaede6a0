"""The first section of the page: what to do with these rows, and whether trust is calibrated."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.class_scores import ClassScore, Score
from sepc.reporting.confusion_view import FEW_CLASSES, confusion_matrix
from sepc.reporting.figures import ReportFigures
from sepc.reporting.held_out import Group, HeldOut
from sepc.reporting.markup import Markup, tag
from sepc.reporting.tables import Cell, Column, count, folded, percentage, table
from sepc.reporting.trust_check import TrustCheck
from sepc.wording import NO_BREAK, interval, percent

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
