"""Cards: short summaries of results, at a prompt and in a notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sepc.wording import columns_of, counted, visible

# A card should be readable at a glance, and fit above the prompt of an 80 x 24 terminal.
MOST_LINES = 15
MOST_COLUMNS = 80

# The longest name of a fact in a terminal, table cell, and other text in a notebook; longer text is shortened in the
# middle.
LONGEST_NAME = 28
LONGEST_CELL = 40
LONGEST_HTML = 120
# The longest note in a notebook, such as the reason for a decision.
LONGEST_NOTE = 1_200

# The most entries of an array or tuple to show in full; for longer ones only the size is shown.
MOST_IN_FULL = 4

INDENT = "  "
GAP = "  "
NUMBER = re.compile(
    r"(above |below |over |under |[<>≤≥] ?)?[-+\u2212]?[\d,]*\.?\d+(e[-+]?\d+)?( ?%)?|nan|[-+]?inf|[-–—]?", re.I
)

# Colours are inherited or half-transparent grey, so that a card looks right on light and dark pages.
LINE = "1px solid rgba(128,128,128,0.35)"
BOX = (
    f"display:inline-block;box-sizing:border-box;max-width:100%;overflow-x:auto;border:{LINE};border-radius:6px;"
    "padding:0.6em 0.9em;color:inherit;font-size:0.9em;line-height:1.45;text-align:left"
)
TITLE = "font-weight:600;overflow-wrap:anywhere"
TABLE = "border-collapse:collapse;border:none;margin:0.5em 0 0 0;color:inherit;font-size:inherit"
PLAIN = "background:none;border:none"
CELL = "border:none;padding:0.1em 1.2em 0.1em 0;color:inherit;background:none;vertical-align:top"
MUTED = "opacity:0.7"


@dataclass(frozen=True)
class Card:
    """A short summary of a result: at most 15 lines when printed, a small table in a notebook.

    Examples
    --------
    >>> rows = (("3", "benign", "0.51"), ("17", "malignant", "0.62"))
    >>> print(Card("Decisions on 93 rows", (("accepted", "81 (87.1 %)"),), ("row", "label", "trust"), rows).text())
    Decisions on 93 rows
      accepted  81 (87.1 %)
    <BLANKLINE>
      row  label      trust
        3  benign      0.51
       17  malignant   0.62
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""

    def text(self) -> str:
        """The card as lines of text, at most 15 of at most 80 columns."""
        shown = self._fit()
        lines = [_cut(shown.title, MOST_COLUMNS), *_fact_lines(shown.facts)]
        if shown.rows:
            lines += [""] * bool(shown.facts) + table_lines(shown.head, shown.rows)
        if shown.note:
            lines.append(_cut(INDENT + shown.note, MOST_COLUMNS))
        return "\n".join(line.rstrip() for line in lines)

    def html(self) -> str:
        """The card as one HTML element, without scripts or external resources; colours follow the page."""
        shown = self._fit()
        parts = [_element("div", shown.title, TITLE)]
        if shown.facts:
            parts.append(_html_facts(shown.facts))
        if shown.rows:
            parts.append(_html_table(shown.head, shown.rows))
        if shown.note:
            style = f"{MUTED};margin-top:0.4em;max-width:44em;overflow-wrap:anywhere"
            parts.append(_element("div", shown.note, style, LONGEST_NOTE))
        return f'<div style="{BOX}">{"".join(parts)}</div>'

    def _fit(self) -> Card:
        """Clean the text, and drop the facts and rows that do not fit."""
        note = visible(self.note)
        facts = tuple((visible(name), visible(value)) for name, value in self.facts)
        left = MOST_LINES - 1 - bool(note)
        if len(facts) > left:
            facts = (*facts[: left - 1], ("…", f"{len(facts) - left + 1:,} more"))
        left -= len(facts) + bool(facts) + bool(self.head)
        rows = self.rows
        if len(rows) > left:
            rows = rows[: max(0, left if note else left - 1)]
            more = f"… {len(self.rows) - len(rows):,} more"
            note = f"{more}. {note}" if rows and note else more if rows else note
        clean = tuple(tuple(visible(cell) for cell in row) for row in rows)
        return Card(visible(self.title), facts, tuple(visible(name) for name in self.head), clean, note)


class ShownAsCard:
    """Mixin for objects that are shown as a card, at a prompt and in a notebook.

    A dataclass must set ``repr=False``, or its generated ``__repr__`` would take precedence.
    """

    __slots__ = ()

    def _card(self) -> Card:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._card().text()

    def _repr_html_(self) -> str:
        return self._card().html()


class ShownInLists(ShownAsCard):
    """Mixin for objects that often come in lists: printed as the title of their card, shown in full in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{on_one_line(self._card().title)}>"


class ShownOnOneLine:
    """Mixin for dataclasses that print on one line, with the shapes of long arrays instead of their numbers.

    They too must set ``repr=False``.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        record: Any = self
        shown = ", ".join(f"{field.name}={brief(getattr(record, field.name))}" for field in fields(record))
        return f"{type(record).__name__}({shown})"


def brief(value: Any) -> str:
    """A short form of a value: short arrays and tuples in full, longer ones by size, other objects by type."""
    if isinstance(value, np.ndarray) and value.ndim:
        if value.ndim > 1 or value.size > MOST_IN_FULL:
            return f"{value.shape} array"
        return f"[{', '.join(map(brief, value))}]"
    if isinstance(value, np.generic | np.ndarray):
        return brief(value.item())
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list) and len(value) > MOST_IN_FULL:
        return counted(len(value), "item")
    if isinstance(value, tuple):
        return f"({', '.join(map(brief, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(brief, value))}]"
    if value is None or isinstance(value, str | int | complex):
        return _cut(visible(repr(value)), LONGEST_CELL)
    return f"<{type(value).__name__}>"


def on_one_line(text: str) -> str:
    """The text on one line, without invisible characters, and shortened in the middle if long."""
    return _cut(visible(text), LONGEST_HTML)


def _cut(text: str, longest: int) -> str:
    """The text in at most `longest` columns and characters, shortened in the middle."""
    if len(text) <= longest and columns_of(text) <= longest:
        return text
    end = (longest - 1) // 2
    return _first(text, longest - 1 - end) + "…" + _first(text[::-1], end)[::-1]


def _first(text: str, columns: int) -> str:
    text = text[:columns]
    while columns_of(text) > columns:
        text = text[:-1]
    return text


def _fact_lines(facts: Sequence[tuple[str, str]]) -> list[str]:
    names = [_cut(name, LONGEST_NAME) for name, _ in facts]
    widest = max(map(columns_of, names), default=0)
    left = MOST_COLUMNS - len(INDENT) - widest - len(GAP)
    return [
        INDENT + padded(name, widest) + GAP + _cut(value, left) for name, (_, value) in zip(names, facts, strict=True)
    ]


def table_lines(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int = MOST_COLUMNS,
    indent: str = INDENT,
    right: Sequence[bool] | None = None,
) -> list[str]:
    """A table in aligned columns, which are narrowed to this width; those of numbers are on the right."""
    right = numeric_columns(rows) if right is None else right
    lines = [[_cut(visible(cell), LONGEST_CELL) for cell in line] for line in ([head] if head else []) + list(rows)]
    widths = [max(map(columns_of, column)) for column in zip(*lines, strict=True)]
    widths = _fitting_widths(widths, width - len(indent))
    return [
        indent + GAP.join(padded(_cut(cell, w), w, r) for cell, w, r in zip(line, widths, right, strict=False))
        for line in lines
    ]


def _fitting_widths(widths: list[int], width: int) -> list[int]:
    """Widths of the columns that fit on a line; wide columns are narrowed before any are left out."""
    narrowest = 8
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        widest = max(widths)
        if widest > narrowest:
            widths[widths.index(widest)] -= 1
        else:
            widths = widths[:-1]
    return widths


def numeric_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Which columns hold nothing but numbers."""
    return [all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*rows, strict=True)]


def padded(text: str, width: int, right: bool = False) -> str:
    """The text with spaces, as wide as this on a terminal."""
    space = " " * (width - columns_of(text))
    return space + text if right else text + space


def _html_facts(facts: Sequence[tuple[str, str]]) -> str:
    name_style = f"{CELL};text-align:left;white-space:nowrap;{MUTED}"
    value_style = f"{CELL};text-align:left;overflow-wrap:anywhere"
    lines = ([_element("td", name, name_style), _element("td", value, value_style)] for name, value in facts)
    return _html_lines(lines)


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numeric = numeric_columns(rows)
    styles = [
        f"{CELL};text-align:right;white-space:nowrap" if is_number else f"{CELL};text-align:left"
        for is_number in numeric
    ]
    lines = (
        [("th", f"border-bottom:{LINE};font-weight:600;white-space:normal;vertical-align:bottom", head)] if head else []
    )
    lines += [("td", "", row) for row in rows]
    return _html_lines(
        [_element(tag, _cut(cell, LONGEST_CELL), f"{style};{more}") for cell, style in zip(line, styles, strict=True)]
        for tag, more, line in lines
    )


def _html_lines(lines: Iterable[Sequence[str]]) -> str:
    body = "".join(f'<tr style="{PLAIN}">{"".join(cells)}</tr>' for cells in lines)
    return f'<table style="{TABLE}"><tbody>{body}</tbody></table>'


def _element(tag: str, text: str, style: str, longest: int = LONGEST_HTML) -> str:
    # No line break between a number and its percent sign.
    shown = html.escape(_cut(text, longest).replace(" %", "\u00a0%"))
    return f'<{tag} style="{style}">{shown}</{tag}>'
