"""The section on thresholds: a slider that shows what each would accept, and a short table that needs no script."""

from __future__ import annotations

from collections.abc import Sequence

from sepc.reporting.markup import Markup, tag
from sepc.reporting.tables import Cell, Column, count, percentage, table
from sepc.reporting.thresholds import Thresholds
from sepc.wording import NO_BREAK, interval


def threshold_section(thresholds: Thresholds) -> list[Markup | None]:
    """What would be accepted if less or more trust were required."""
    now = shown_threshold(thresholds.at[thresholds.now])
    intro = f"The threshold in use is {now}. A lower one accepts more rows, usually with a smaller share of them right."
    if not thresholds.is_exact:
        intro = (
            "Here rows are accepted by trust alone, with one threshold for all. What the model accepts now depends on "
            f"more than trust; the nearest threshold is {now}."
        )
    return [tag("p", intro), _slider(thresholds), _table(thresholds)]


def shown_threshold(value: float) -> str:
    """A threshold with at most four digits."""
    return f"{value:.4g}"


def _slider(thresholds: Thresholds) -> Markup:
    """A slider with the figures of every threshold; the page shows it only where scripts run."""
    n_steps = len(thresholds.at) - 1
    field = tag(
        "input",
        type="range",
        id="threshold",
        min=0,
        max=n_steps,
        value=thresholds.now,
        step=1,
        aria_describedby="threshold-told",
    )
    tiles = [_tile("accepted", "accepted"), _tile("to a person", "person")]
    if thresholds.n_right is not None:
        tiles.insert(1, _tile("right among accepted", "right"))
    return tag(
        "div",
        tag("label", "Trust threshold: ", tag("output", for_="threshold"), for_="threshold"),
        field,
        tag("button", "Back to the threshold in use", type="button"),
        tag("dl", tiles, class_="tiles"),
        tag("p", id="threshold-told", class_="aside", role="status"),
        id="thresholds-tried",
        hidden=True,
        data_n=thresholds.n_rows,
        data_now=thresholds.now,
        data_at=_pack(thresholds.at),
        data_accepted=_pack(thresholds.n_accepted),
        data_right=None if thresholds.n_right is None else _pack(thresholds.n_right),
        data_low=None if thresholds.low is None else _pack([1000.0 * low // 1 for low in thresholds.low]),
        data_high=None if thresholds.high is None else _pack([-(-1000.0 * high // 1) for high in thresholds.high]),
    )


def _pack(values: Sequence[float]) -> str:
    return " ".join(f"{value:.10g}" for value in values)


def _tile(name: str, kind: str) -> Markup:
    numbers = [tag("dd", data_told=kind), tag("dd", class_="more", data_told=f"{kind}-more")]
    return tag("div", tag("dt", name), numbers, class_="tile")


def _table(thresholds: Thresholds) -> Markup:
    columns = [Column("threshold", True), Column("accepted", True)]
    columns += [] if thresholds.n_right is None else [Column("right among accepted", True)]
    columns += [Column("to a person", True)]
    rows = [_row(thresholds, i) for i in thresholds.short()]
    return table("Some thresholds", columns, rows, is_tall=False)


def _row(thresholds: Thresholds, i: int) -> list[Cell]:
    n, n_accepted = thresholds.n_rows, thresholds.n_accepted[i]
    cells = [
        Cell(shown_threshold(thresholds.at[i]), thresholds.at[i], more="in use" if i == thresholds.now else ""),
        percentage(n_accepted / n, f"{n_accepted:,} of {n:,}"),
    ]
    if thresholds.n_right is not None and thresholds.low is not None and thresholds.high is not None:
        share = thresholds.n_right[i] / n_accepted if n_accepted else None
        ends = interval(thresholds.low[i], thresholds.high[i]).replace(" %", f"{NO_BREAK}%") if n_accepted else ""
        cells.append(percentage(share, ends))
    return [*cells, count(n - n_accepted)]
