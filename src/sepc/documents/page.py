"""A document as one HTML page that stands alone."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

from sepc.documents.document import Cell, Document, Facts, Figure, Note, Part, Section, Slider, Steps, Table, Tiles
from sepc.documents.markup import Markup, svg, tag
from sepc.wording import version_of

# Tables with more rows scroll within the page; those with more than a few can be sorted.
LONG, SORTED = 15, 5
# A phone has room for this many columns; with more, every row becomes a list.
MOST_COLUMNS = 3
# Signs repeat what the colours of notes say.
SIGNS = {"believed": "\u2713", "warning": "\u26a0"}


@cache
def _file(name: str) -> str:
    return (files("sepc.documents") / name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """A Content-Security-Policy: the browser runs this script and no other, and loads nothing."""
    allowed = f" script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}';"
    own = allowed if script else ""
    return f"default-src 'none'; style-src 'unsafe-inline';{own} base-uri 'none'; form-action 'none'"


def as_page(document: Document, with_script: bool = False) -> str:
    """The document as a page; everything that the script shows is in the page, which is complete without it."""
    script = _file("page.js") if with_script else ""
    named = [section for section in document.sections if section.id]
    links = (tag("li", tag("a", section.title, href=f"#{section.id}")) for section in named)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", document.title),
        tag("style", Markup(_file("page.css"))),
    )
    body = tag(
        "body",
        tag(
            "header",
            tag("h1", document.title),
            tag("p", document.verdict, class_="verdict"),
            tag("p", document.note) if document.note else None,
        ),
        tag("nav", tag("ul", links), aria_label="Sections") if named else None,
        tag("main", map(_section, document.sections)),
        tag("footer", f"Made by sepc {version_of('sepc')}. This page loads nothing from the network."),
        tag("script", Markup(script)) if script else None,
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _section(section: Section) -> Markup:
    head = tag("h2", section.title) if section.title else None
    return tag("section", head, _parts(section.parts), id=section.id or None)


def _parts(parts: Sequence[Part]) -> Iterator[Any]:
    """The parts; figures that follow one another are side by side."""
    for are_figures, some in groupby(parts, lambda part: isinstance(part, Figure) and not part.id):
        drawn = [_part(part) for part in some]
        yield tag("div", drawn, class_="charts") if are_figures and len(drawn) > 1 else drawn


def _part(part: Part) -> Any:
    match part:
        case str():
            return tag("p", part)
        case Note():
            sign = tag("span", SIGNS[part.kind], class_="sign", aria_hidden="true") if part.kind in SIGNS else None
            head = tag("strong", sign, part.head) if part.head else sign
            return tag("div", tag("p", head, f" {part.text}" if part.head else part.text), class_=f"check {part.kind}")
        case Tiles():
            return tag(
                "dl", (_tile(tag("dt", name), value, more) for name, value, more in part.figures), class_="tiles"
            )
        case Steps():
            return tag("ol", (_step(*step) for step in part.steps), class_="actions")
        case Facts():
            rows = (tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in part.rows)
            shown = tag("div", tag("table", tag("caption", part.caption), tag("tbody", rows)), class_="scroll")
            return tag("details", tag("summary", part.caption), shown) if part.is_folded else shown
        case Figure():
            drawn: Any = [svg(chart) for chart in part.charts]
            if len(drawn) > 1:
                drawn = tag("div", drawn, class_="curves")
            hint = tag("p", part.hint, class_="shown", role="status") if part.hint else None
            return tag("figure", drawn, hint, tag("figcaption", part.caption), id=part.id or None)
        case Slider():
            return _slider(part)
        case Table():
            return _table(part)


def _tile(name: Markup, value: Any, more: Any) -> Markup:
    return tag("div", name, tag("dd", value), tag("dd", more, class_="more"), class_="tile")


def _step(do: str, why: str, section: str) -> Markup:
    return tag("li", tag("strong", tag("a", do, href=f"#{section}") if section else do, "."), f" {why}")


def _slider(slider: Slider) -> Markup:
    tiles = (
        tag(
            "div",
            tag("dt", name),
            tag("dd", data_told=kind),
            tag("dd", class_="more", data_told=f"{kind}-more"),
            class_="tile",
        )
        for name, kind in slider.tiles
    )
    numbers = {f"data_{name}": " ".join(f"{value:.10g}" for value in values) for name, values in slider.numbers}
    last = len(slider.numbers[0][1]) - 1
    steps = {"type": "range", "min": 0, "max": last, "value": slider.start, "step": 1}
    return tag(
        "div",
        tag("label", f"{slider.label}: ", tag("output", for_="threshold"), for_="threshold"),
        tag("input", id="threshold", aria_describedby="threshold-told", **steps),
        tag("button", "Back to the threshold in use", type="button"),
        tag("dl", tiles, class_="tiles"),
        tag("p", id="threshold-told", class_="aside", role="status"),
        id="thresholds-tried",
        hidden=True,
        data_now=slider.start,
        **numbers,
    )


def _table(table: Table) -> Markup:
    """The rows shown at once, and the others folded; a list of rows that can be chosen is one for the script."""
    n = len(table.rows) if table.shown is None else table.shown
    rest = len(table.rows[n:])
    parts = [_rows(table, table.caption, slice(0, n))] if n else []
    if rest:
        unlisted = f"; {table.unlisted:,} are not listed" if table.unlisted else ""
        summary = f"{rest:,} more{unlisted}" if n else table.caption
        parts.append(
            tag(
                "details",
                tag("summary", summary),
                _rows(table, table.caption if not n else "More rows", slice(n, None)),
            )
        )
    return tag("div", parts, class_="row-list" if table.filters else None)


def _rows(table: Table, caption: str, chosen: slice) -> Markup:
    """Rows as a table that scrolls, also by keyboard, if it is too large for the screen."""
    is_list, is_sorted = len(table.head) > MOST_COLUMNS, len(table.rows) > SORTED
    kinds = [
        " ".join(
            kind
            for kind, is_so in (("number", is_number), ("why", name in table.wide), ("filter", name in table.filters))
            if is_so
        )
        for name, is_number in zip(table.head, table.numeric, strict=True)
    ]
    heads = (tag("th", name, scope="col", class_=kind or None) for name, kind in zip(table.head, kinds, strict=True))
    names = table.head if is_list else [""] * len(table.head)
    rows, ids = table.cells[chosen], (table.ids or [""] * len(table.rows))[chosen]
    body = (tag("tr", map(_cell, row, kinds, names), id=name or None) for row, name in zip(rows, ids, strict=True))
    class_ = " ".join(kind for kind, is_so in (("sortable", is_sorted), ("cards", is_list)) if is_so)
    made = tag(
        "table", tag("caption", caption), tag("thead", tag("tr", heads)), tag("tbody", body), class_=class_ or None
    )
    tall = " tall" if len(rows) > LONG else ""
    return tag("div", made, class_=f"scroll{tall}", tabindex=0, role="group", aria_label=caption)


def _cell(cell: Cell, kind: str, head: str) -> Markup:
    text: Any = tag("a", cell.text, href=f"#{cell.to}") if cell.to else cell.text
    small = tag("small", cell.more) if cell.more else None
    facts = [tag("span", tag("span", name), f" {value}", class_="fact") for name, value in cell.facts]
    bar = None if cell.bar is None else tag("span", class_="bar", style=f"--share:{cell.bar:.3f}")
    classes = f"{kind} {cell.mark}".strip()
    return tag("td", text, small, facts, bar, class_=classes or None, data_head=head or None)
