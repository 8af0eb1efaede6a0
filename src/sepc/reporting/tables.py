"""HTML tables with columns of text and numbers, sortable on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.reporting.markup import Markup, tag
from sepc.wording import decimal

# Tables with more rows scroll within the page.
LONG = 15


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
    """A cell: its text, the number it is sorted by (None comes last), and an extra CSS class."""

    text: str
    number: float | None = None
    class_: str = ""


def count(n: int | None) -> Cell:
    """A whole number."""
    return Cell("" if n is None else f"{n:,}", n)


def share(value: float | None) -> Cell:
    """A probability or a trust."""
    return Cell("" if value is None else decimal(value), value)


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell | str]],
    *,
    sortable: bool = False,
    cards: bool = False,
) -> Markup:
    """A table that scrolls, also by keyboard, if it is too large for the screen.

    With `cards`, a narrow screen shows each row as a list instead.
    """
    head = tag("tr", (tag("th", column.head, scope="col", class_=column.classes()) for column in columns))
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
    classes = " ".join(name for name in (column.classes() or "", cell.class_) if name)
    number: Any = None if cell.number is None else f"{cell.number:.10g}"
    return tag("td", cell.text, class_=classes or None, data_sort=number, data_head=column.head if named else None)
