"""Tables of a page: columns of text and of numbers, sortable if they are long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.reporting.markup import Markup, tag

# Tables with more rows scroll within the page.
LONG = 15


@dataclass(frozen=True)
class Column:
    """A column: its head, and whether it holds numbers; `class_` is one more class of its cells."""

    head: str
    is_number: bool = False
    class_: str = ""

    def classes(self) -> str | None:
        """Classes of its cells."""
        return " ".join(one for one in ("number" if self.is_number else "", self.class_) if one) or None


@dataclass(frozen=True)
class Cell:
    """What a cell says, the number it is sorted by (None is last), and one more class."""

    text: str
    number: float | None = None
    class_: str = ""


def count(n: int | None) -> Cell:
    """A whole number."""
    return Cell("" if n is None else f"{n:,}", n)


def decimal(value: float | None, digits: int = 3) -> Cell:
    """A number to so many digits."""
    return Cell("" if value is None else f"{value:.{digits}f}", value)


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell | str]],
    *,
    sortable: bool = False,
    cards: bool = False,
) -> Markup:
    """A table that scrolls on its own, also by keyboard, if it is too large for the screen.

    With `cards`, a narrow screen shows every row as a list of its own instead.
    """
    head = tag("tr", (tag("th", one.head, scope="col", class_=one.classes()) for one in columns))
    body = (tag("tr", (_cell(*pair, cards) for pair in zip(row, columns, strict=True))) for row in rows)
    kinds = [name for name, is_so in (("sortable", sortable), ("cards", cards)) if is_so]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", body),
        class_=" ".join(kinds) or None,
    )
    is_long = len(rows) > LONG
    return tag("div", made, class_=f"scroll{' tall' if is_long else ''}", tabindex=0, role="group", aria_label=caption)


def _cell(cell: Cell | str, column: Column, named: bool) -> Markup:
    cell = Cell(cell) if isinstance(cell, str) else cell
    classes = " ".join(one for one in (column.classes() or "", cell.class_) if one)
    number: Any = None if cell.number is None else f"{cell.number:.10g}"
    return tag("td", cell.text, class_=classes or None, data_sort=number, data_head=column.head if named else None)
