"""A document as plain data: sections of paragraphs, notes, tables and charts; and its writers for text and Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sepc.cards import numeric_columns, padded, table_lines
from sepc.documents.charts import Chart
from sepc.wording import columns_of, interval, percent, short, visible

WIDTH = 96
LONGEST_VALUE = 240
NONE = "–"


@dataclass(frozen=True)
class Cell:
    """A cell: its text, small print below it, and for a page a CSS class, where it leads to, and a bar (a share)."""

    text: str = ""
    more: str = ""
    mark: str = ""
    to: str = ""
    bar: float | None = None
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def in_full(self) -> str:
        """Text and facts on one line."""
        return ", ".join([self.text] * bool(self.text) + [f"{name} {value}" for name, value in self.facts])


Row: TypeAlias = Sequence[Cell | str]


def share_of(n: int | None, n_all: int, ends: tuple[float, float] | None = None) -> Cell:
    """A share in percent, with its counts and its interval below it; a dash if there are no rows."""
    if n is None or not n_all:
        return Cell(NONE)
    return Cell(percent(n / n_all), f"{n:,} of {n_all:,}{'' if ends is None else f'; {interval(*ends)}'}")


@dataclass(frozen=True)
class Table:
    """A table.

    `wide` names columns of long text, `filters` those that rows can be chosen by. A page shows `shown` rows at once and
    folds the others (0: the whole table), a text leaves them out. `ids` are those of the rows, and `unlisted` is the
    number of rows that are not there.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Row]
    wide: Sequence[str] = ()
    filters: Sequence[str] = ()
    ids: Sequence[str] = ()
    shown: int | None = None
    unlisted: int = 0

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows, with a `Cell` for every text."""
        return [[Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows]

    @property
    def numeric(self) -> list[bool]:
        """Which columns hold nothing but numbers."""
        return numeric_columns([[cell.in_full for cell in row] for row in self.cells]) or [False] * len(self.head)


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    caption: str
    rows: Sequence[tuple[str, str]]
    head: tuple[str, str] = ("fact", "value")
    is_folded: bool = False


@dataclass(frozen=True)
class Tiles:
    """The figures that matter most: name, value, and what it is of."""

    figures: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Note:
    """A paragraph that stands out: a "promise", something "believed", or a "warning"."""

    text: str
    kind: str
    head: str = ""


@dataclass(frozen=True)
class Steps:
    """What to do, why, and the id of the section about it."""

    steps: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Figure:
    """Charts with a caption; `hint` says how to use them on a page."""

    charts: Sequence[Chart]
    caption: str
    id: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Slider:
    """Numbers for every step of a slider, which a page shows only where scripts run."""

    label: str
    start: int
    tiles: Sequence[tuple[str, str]]
    numbers: Sequence[tuple[str, Sequence[float]]]


Part: TypeAlias = str | Table | Facts | Tiles | Note | Steps | Figure | Slider


@dataclass(frozen=True)
class Section:
    """Parts under a heading; without a title there is none."""

    title: str
    parts: Sequence[Part]
    id: str = ""


@dataclass(frozen=True)
class Document:
    """A title, a sentence that says what matters most, and sections."""

    title: str
    verdict: str
    sections: Sequence[Section]
    note: str = ""


def as_text(document: Document) -> str:
    """The document for a terminal; charts are described."""
    lines = [document.title, "=" * min(columns_of(document.title), WIDTH), "", *_wrap(document.verdict)]
    lines += _wrap(document.note)
    for section in document.sections:
        lines += ["", section.title, "-" * len(section.title)]
        for i, part in enumerate(part for part in section.parts if not isinstance(part, Slider)):
            lines += [*([""] if i else []), *_text_of(part)]
    return "\n".join(lines)


def _wrap(text: str, indent: str = "", first: str | None = None) -> list[str]:
    start = indent if first is None else first
    return textwrap.wrap(visible(text), WIDTH, initial_indent=start, subsequent_indent=indent)


def _text_of(part: Part) -> Iterator[str]:
    match part:
        case str():
            yield from _wrap(part)
        case Table():
            yield from _table_text(part)
        case Facts():
            yield from _pairs(part.rows)
        case Tiles():
            yield from _pairs([(name, f"{value} ({more})" if more else value) for name, value, more in part.figures])
        case Note():
            yield from _wrap(f"{'WARNING: ' if part.kind == 'warning' else ''}{part.head} {part.text}".strip())
        case Steps():
            for i, (do, why, _) in enumerate(part.steps, start=1):
                yield from _wrap(f"{do}. {why}", "   ", f"{i}. ")
        case Figure():
            for chart in part.charts:
                yield from _wrap(f"{chart.title}: {chart.description}", "  ", "")


def _pairs(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max(columns_of(name) for name, _ in rows)
    for name, value in rows:
        lines = textwrap.wrap(short(visible(value), LONGEST_VALUE), WIDTH - width - 2) or [""]
        for start, line in zip([name] + [""] * len(lines), lines, strict=False):
            yield f"{padded(start, width)}  {line}".rstrip()


def _table_text(table: Table) -> Iterator[str]:
    """Aligned columns; small print is below its cell, and long texts are below their row."""
    kept = [j for j, name in enumerate(table.head) if name not in table.wide]
    lines: list[list[str]] = []
    below: list[list[str]] = []
    for row in table.cells[: table.shown or None]:
        lines.append([row[j].in_full for j in kept])
        below.append([row[j].in_full for j in range(len(row)) if j not in kept])
        if any(row[j].more for j in kept):
            lines.append([row[j].more for j in kept])
            below.insert(-1, [])
    right = [table.numeric[j] for j in kept]
    yield from _wrap(f"{table.caption}:")
    head, *drawn = table_lines([table.head[j] for j in kept], lines, WIDTH, "", right)
    yield head.rstrip()
    for line, texts in zip(drawn, below, strict=True):
        yield line.rstrip()
        for text in filter(None, texts):
            yield from _wrap(text, "    ")
    n_more = len(table.rows) - len(table.rows[: table.shown or None]) + table.unlisted
    if n_more:
        yield f"and {n_more:,} more"


# Characters that Markdown would read as markup; escaped in a single pass, so that none is escaped twice.
ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in "\\|*_[]#"} | {sign: f"&#{ord(sign)};" for sign in "<>`"})


def escape_cell(value: object) -> str:
    r"""Escape text so that it stays in its cell and is not read as markup."""
    return visible(" ".join(str(value).split())).translate(ESCAPES)


def as_markdown(document: Document) -> str:
    """The document in Markdown, without its charts."""
    parts = [f"# {escape_cell(document.title)}"]
    for section in document.sections:
        parts += [f"## {section.title}"] if section.title else []
        parts += [text for part in section.parts if (text := _markdown_of(part))]
    return "\n\n".join(parts) + "\n"


def _markdown_of(part: Part) -> str:
    match part:
        case str():
            return escape_cell(part)
        case Table():
            cells = [[cell.in_full + (f" ({cell.more})" if cell.more else "") for cell in row] for row in part.cells]
            return _markdown_table(part.head, cells[: part.shown or None])
        case Facts():
            return _markdown_table(part.head, part.rows)
        case Tiles():
            return _markdown_table(("figure", "value", "of"), part.figures)
        case Note():
            return escape_cell(f"{part.head} {part.text}".strip())
        case Steps():
            return "\n".join(f"1. {escape_cell(f'{do}. {why}')}" for do, why, _ in part.steps)
    return ""


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(map(escape_cell, row))} |" for row in rows])
