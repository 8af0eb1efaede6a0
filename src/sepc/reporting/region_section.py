"""The section on regions: the picture of the partition, and every region by name."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.figures import ReportFigures
from sepc.reporting.markup import Markup, tag
from sepc.reporting.partition_chart import beyond, line_id, partition_chart, place_id
from sepc.reporting.picture import Picture
from sepc.reporting.region_rows import RegionRow, RegionTable
from sepc.reporting.tables import Cell, Column, count, folded, share, table
from sepc.wording import decimal

# Regions shown at once; more are folded.
N_SHOWN = 8


def region_section(figures: ReportFigures) -> list[Markup | None]:
    """The picture, and how many rows of each region are right."""
    regions = figures.regions
    if regions is None:
        return []
    intro = (
        "A region is where the same ellipsoids overlap and training rows lie; it is named by the ranges of the "
        f"features that distinguish these ellipsoids. {regions.summary()}"
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
    most = "" if not rest else f": the {len(first)} with the most held-out rows"
    parts: list[Markup | None] = [_table(f"{_regions(regions.n_regions)}{most}", first, figures)]
    if rest:
        n_more = regions.n_regions - len(regions.rows)
        unlisted = f"; {n_more:,} are not listed" if n_more else ""
        parts.append(folded(f"{len(rest):,} more regions{unlisted}", _table("More regions", rest, figures)))
    return [*parts, *_outside(regions, figures)]


def _outside(regions: RegionTable, figures: ReportFigures) -> list[Markup]:
    if not regions.outside:
        return []
    n, n_more = regions.n_rows_outside, regions.n_outside - len(regions.outside)
    unlisted = f"; {n_more:,} places are not listed" if n_more else ""
    caption = f"{n:,} held-out {'row' if n == 1 else 'rows'} outside the regions, by place"
    return [folded(f"{caption}{unlisted}", _table(caption, regions.outside, figures))]


def _regions(n: int) -> str:
    return "The only region" if n == 1 else f"All {n:,} regions"


def _table(caption: str, regions: Sequence[RegionRow], figures: ReportFigures) -> Markup:
    with_labels = any(row.n_right is not None for row in regions)
    columns = [Column("region", class_="name"), Column("label"), Column("held\u2011out rows", True)]
    columns += [Column("accepted", True), *([Column("wrong", True)] if with_labels else []), Column("mean trust", True)]
    with_training = any(row.n_training for row in regions)
    if with_training:
        columns += [Column("training rows", class_="name"), Column("right there, 95 % interval", True)]
    rows = []
    for region in regions:
        low, high = region.low, region.high
        interval = Cell("") if low is None or high is None else Cell(f"{decimal(low)} to {decimal(high)}", low)
        to = "" if figures.picture is None else place_id(region.region)
        row = [Cell(region.name, to=to), Cell(region.label or "several"), count(region.n_rows)]
        row += [count(region.n_accepted)]
        row += [] if region.n_right is None else [_wrong(region.n_rows - region.n_right)]
        rows.append([*row, share(region.trust), *([Cell(region.classes), interval] if with_training else [])])
    ids = [line_id(region.region) for region in regions]
    return table(caption, columns, rows, sortable=True, cards=True, ids=ids, is_tall=False)


def _wrong(n: int) -> Cell:
    return Cell(f"{n:,}", n, "wrong" if n else "")
