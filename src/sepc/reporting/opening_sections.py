"""Sections of the page on what to do first, on the importance of columns, and on results by column."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.actions import Action
from sepc.reporting.by_columns import ColumnResults, GroupResult
from sepc.reporting.markup import Markup, tag
from sepc.reporting.tables import Cell, Column, count, folded, percentage, table
from sepc.wording import NO_BREAK, interval

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
