"""Elements of HTML, escaped here and nowhere else, tables, and results of the lifecycle as pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from sepc.reporting._page_style import STYLE
from sepc.wording import decimal, percent, version_of, visible

ATTRIBUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
# Elements without content or end.
VOID = {"meta", "br", "input"}


class Markup(str):
    """Text that is already markup, which `tag` and `join` do not escape; any other operation returns plain text."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element.

    Examples
    --------
    >>> tag("p", "a < b", class_='"quoted"')
    '<p class="&quot;quoted&quot;">a &lt; b</p>'
    """
    opening = f"<{name}{''.join(_attribute(*pair) for pair in attributes.items())}>"
    return Markup(opening if name in VOID else f"{opening}{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Children one after another."""
    return Markup("".join(map(_inside, children)))


def _inside(child: Any) -> str:
    if isinstance(child, Markup):
        return child
    if child is None:
        return ""
    if isinstance(child, Iterable) and not isinstance(child, str):
        return join(child)
    return escape(visible(str(child)))


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if not ATTRIBUTE.fullmatch(name) or name.startswith("on"):
        raise ValueError(f"{name!r} is not an attribute that a report may have.")
    if value is True:
        return f" {name}"
    if name == "href" and not str(value).startswith("#"):
        raise ValueError(f"A report links to its own sections only, not to {value!r}.")
    return f' {name}="{escape(visible(str(value)))}"'


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
    """A cell: its text, the number it is sorted by (None comes last), and an extra CSS class."""

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
    """A table that scrolls, also by keyboard, if it is too large for the screen."""
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


POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class PageTable:
    """A table of a page; `numbers` and `reasons` name the columns in `head` that hold numbers or reasons."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Iterable[str] = ()
    reasons: Iterable[str] = ()

    def markup(self) -> Markup:
        """The table; on a narrow screen every row is a list."""
        numbers, classes = set(self.numbers), {"where": "name"} | dict.fromkeys(self.reasons, "why")
        columns = [Column(name, name in numbers, classes.get(name, "")) for name in self.head]
        return table(
            self.caption, columns, [[Cell(_without_breaks(cell)) for cell in row] for row in self.rows], cards=True
        )


@dataclass(frozen=True)
class ResultPage:
    """A page: the verdict, notes, a picture, tables and the facts, in this order."""

    title: str
    verdict: str
    facts: Sequence[tuple[str, str]] = ()
    picture: Markup | None = None
    caption: str = ""
    tables: Sequence[PageTable] = ()
    notes: Sequence[str] = ()

    def html(self) -> str:
        """The page as HTML, with its style sheet."""
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="referrer", content="no-referrer"),
            tag("title", self.title),
            tag("style", Markup(STYLE)),
        )
        made_by = f"Made by sepc {version_of('sepc')}. This page loads nothing from the network."
        header = tag("header", tag("h1", self.title), tag("p", _without_breaks(self.verdict), class_="verdict"))
        body = tag("body", header, tag("main", self._sections()), tag("footer", made_by))
        return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"

    def _sections(self) -> list[Markup]:
        figure = None
        if self.picture is not None:
            figure = tag("figure", self.picture, tag("figcaption", self.caption))
        parts = [
            [tag("p", _without_breaks(note)) for note in self.notes],
            [figure] if figure is not None else [],
            *([shown.markup()] for shown in self.tables if shown.rows),
            [_facts(self.facts)] if self.facts else [],
        ]
        return [tag("section", part) for part in parts if part]


def _facts(facts: Sequence[tuple[str, str]]) -> Markup:
    rows = (tag("tr", tag("th", name, scope="row"), tag("td", _without_breaks(value))) for name, value in facts)
    return tag("div", tag("table", tag("caption", "At a glance"), tag("tbody", rows)), class_="scroll")


def _without_breaks(text: str) -> str:
    """The text, with no line break between a number and its percent sign."""
    return text.replace(" %", "\u00a0%")
