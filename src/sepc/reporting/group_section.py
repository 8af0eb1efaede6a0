"""The section on groups: how many rows of each are accepted and wrong, and which regions make the difference."""

from __future__ import annotations

from sepc.estimators.selective.group_comparison import GroupRow
from sepc.reporting.figures import ReportFigures
from sepc.reporting.markup import Markup, tag
from sepc.reporting.tables import Cell, Column, count, percentage, table
from sepc.wording import points

COLUMNS = (
    Column("group"),
    Column("rows", True),
    Column("accepted", True),
    Column("wrong of these", True),
    Column("wrong of the others", True),
    Column("promise"),
    Column("differs from all rows most in"),
)


def group_section(figures: ReportFigures) -> list[Markup | None]:
    """How groups fare, beside all rows together."""
    groups = figures.groups
    if groups is None:
        return []
    intro = (
        "Abstaining should help every group: its accepted rows should be wrong less often than the others. The last "
        "column names the regions that make the largest difference between a group and all rows in the share that is "
        "accepted, in points of per cent; over all regions these points add up to the difference."
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
