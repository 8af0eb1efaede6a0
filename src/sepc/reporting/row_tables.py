"""Tables of single rows: accepted but wrong, and to review."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.figures import ReportFigures
from sepc.reporting.markup import Markup, tag
from sepc.reporting.reported_rows import ReportedRow
from sepc.reporting.tables import Cell, Column, folded, table
from sepc.wording import decimal

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
        more = folded(f"{len(rest):,} more", _table("More rows", rest, figures, with_cause))
    return [tag("div", _table(caption, first, figures, with_cause), more, class_="row-list")]


def _table(caption: str, rows: Sequence[ReportedRow], figures: ReportFigures, with_cause: bool) -> Markup:
    some = rows[0]
    columns = [Column("row"), Column("predicted label", class_="filter")]
    columns += [] if some.true_label is None else [Column("true label", class_="filter")]
    columns += [Column("trust", True), *([Column("cause", class_="filter")] if with_cause else [])]
    columns += [Column("region", class_="filter where")] if some.region_name else []
    columns += [Column(name, class_="filter") for name, _ in some.groups]
    columns += [*([Column("values", class_="values")] if _shows_values(some) else []), Column("why", class_="why")]
    cells = [_cells(row, figures, with_cause) for row in rows]
    ids = [f"row-{row.position}" for row in rows]
    return table(caption, columns, cells, sortable=True, ids=ids, is_tall=False)


def _cells(row: ReportedRow, figures: ReportFigures, with_cause: bool) -> list[Cell]:
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
