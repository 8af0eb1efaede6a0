"""HTML tables with columns of text and numbers, sortable on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.reporting.markup import Markup, tag
from sepc.wording import decimal, percent

# Tables with more rows scroll within the page.
LONG = 15
# A phone has room for this many columns.
MOST_COLUMNS = 4


@dataclass(frozen=True)
class Column:
    """A column: its header, whether it holds numbers, and an extra CSS class for its cells."""

    head: str
    is_number: bool = False
    class_: str = ""

    def classes(self) -> str | None:
        """The CSS classes of its cells."""
        return " ".join(name for name in ("number" if self.is_number else "", self.class_) if name) or None


@dataclass(frozen=True)
class Cell:
    """A cell: its text, the number it is sorted by (None comes last), and an extra CSS class.

    `more` is small print below the text, `to` the id of the element that the text links to, `bar` the length of a bar
    below it, from 0 to 1, and `facts` are names and values, one to a line.
    """

    text: str
    number: float | None = None
    class_: str = ""
    more: str = ""
    to: str = ""
    bar: float | None = None
    facts: tuple[tuple[str, str], ...] = ()


def count(n: int | None) -> Cell:
    """A whole number."""
    return Cell("" if n is None else f"{n:,}", n)


def percentage(value: float | None, more: str = "", class_: str = "") -> Cell:
    """A share in percent, with small print below it."""
    return Cell("–" if value is None else percent(value), value, class_, more)


def share(value: float | None) -> Cell:
    """A probability or a trust."""
    return Cell("" if value is None else decimal(value), value)


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell | str]],
    *,
    sortable: bool = False,
    cards: bool | None = None,
    ids: Sequence[str] = (),
    class_: str = "",
    is_tall: bool | None = None,
) -> Markup:
    """A table that scrolls, also by keyboard, if it is too large for the screen.

    With `cards`, by default if it has more than `MOST_COLUMNS`, a narrow screen shows each row as a list instead. `ids`
    are those of the rows; a row with an id is marked when the reader follows a link to it. `is_tall` says whether a
    long table scrolls within the page.
    """
    cards = len(columns) > MOST_COLUMNS if cards is None else cards
    head = tag("tr", (tag("th", column.head, scope="col", class_=column.classes()) for column in columns))
    body = (
        tag("tr", (_cell(*pair, cards) for pair in zip(row, columns, strict=True)), id=name or None)
        for row, name in zip(rows, ids or [""] * len(rows), strict=True)
    )
    kinds = [name for name, is_so in (("sortable", sortable), ("cards", cards), (class_, class_)) if is_so]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", body),
        class_=" ".join(kinds) or None,
    )
    is_long = len(rows) > LONG if is_tall is None else is_tall
    return tag("div", made, class_=f"scroll{' tall' if is_long else ''}", tabindex=0, role="group", aria_label=caption)


def _cell(cell: Cell | str, column: Column, named: bool) -> Markup:
    cell = Cell(cell) if isinstance(cell, str) else cell
    classes = " ".join(name for name in (column.classes() or "", cell.class_) if name)
    number: Any = None if cell.number is None else f"{cell.number:.10g}"
    text: Any = tag("a", cell.text, href=f"#{cell.to}") if cell.to else cell.text
    small = tag("small", cell.more) if cell.more else None
    facts = [tag("span", tag("span", name), f" {value}", class_="fact") for name, value in cell.facts]
    bar = None if cell.bar is None else tag("span", class_="bar", style=f"--share:{cell.bar:.3f}")
    return tag(
        "td",
        text,
        small,
        facts,
        bar,
        class_=classes or None,
        data_sort=number,
        data_head=column.head if named else None,
    )


def folded(summary: str, *parts: Any) -> Markup:
    """Parts of a page that open with a click on their summary, or when a link leads into them."""
    return tag("details", tag("summary", summary), parts)
