"""The section on regions: the picture of the partition, and every region by name."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.figures import ReportFigures
from sepc.reporting.markup import Markup, tag
from sepc.reporting.partition_chart import beyond, line_id, partition_chart, place_id
from sepc.reporting.picture import Picture
from sepc.reporting.region_rows import RegionRow, RegionTable
from sepc.reporting.tables import Cell, Column, count, folded, percentage, share, table
from sepc.wording import NO_BREAK, decimal

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
