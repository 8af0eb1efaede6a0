"""A result of the lifecycle as one self-contained HTML page, without any script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sepc.plain_values import version_of
from sepc.reporting.markup import Markup, tag
from sepc.reporting.page_style import STYLE
from sepc.reporting.tables import Cell, Column, table

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
    """A page: the verdict, notes, a picture, tables and the facts, in this order.

    Attributes
    ----------
    title : str
    verdict : str
        The result in a sentence or two.
    facts : sequence of (name, value)
    picture : Markup or None
        An SVG.
    caption : str
        What the picture shows.
    tables : sequence of PageTable
    notes : sequence of str
        What follows from the result, a paragraph each.
    """

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
