"""Odd files, and what `sepc fit` prints about each of them.

All hold the same eighty patients, dressed as files are that people really have. The last ones are wrong on purpose.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from sepc.cli import main as sepc

NAMES = ["height", "weight", "ward", "y"]
N_ROWS = 80

Row = list[Any]


@dataclass(frozen=True)
class OddFile:
    """A file to fit on: what is odd about it, its name, what makes its bytes, and further options."""

    odd: str
    name: str
    content: Callable[[], bytes]
    options: tuple[str, ...] = ()


def patients() -> list[Row]:
    """Height, weight, ward and whether they are well or sick."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N_ROWS, 2))
    rows = []
    for i, (height, weight) in enumerate(numbers):
        is_sick = i % 2
        ward = ("north", "south", "east")[(i // 2) % 3 if i % 5 else 2 * is_sick]
        label = ("well", "sick")[is_sick]
        rows.append([round(170 + 10 * height, 1), round(70 + 12 * (weight + 1.5 * is_sick), 2), ward, label])
    return rows


def as_csv(rows: list[Row], names: list[str] | None = None, **dress: Any) -> str:
    """Rows as CSV."""
    text = io.StringIO()
    csv.writer(text, **{"lineterminator": "\n"} | dress).writerows([names or NAMES, *rows])
    return text.getvalue()


def with_column(name: str, cell: Callable[[int], Any]) -> str:
    """The table with one more column in front, as CSV."""
    return as_csv([[cell(i), *row] for i, row in enumerate(patients())], [name, *NAMES])


def changed(change: Callable[[int, Row], Row]) -> list[Row]:
    """The rows, each changed."""
    return [change(i, list(row)) for i, row in enumerate(patients())]


def with_gap(text: str) -> str:
    """Every ninth weight and every eleventh ward is this text instead."""

    def change(i: int, row: Row) -> Row:
        return [row[0], text if i % 9 == 0 else row[1], text if i % 11 == 0 else row[2], row[3]]

    return as_csv(changed(change))


def decimal_comma(separator: str) -> str:
    """Numbers as they are written in most of Europe."""
    rows = changed(lambda i, row: [str(row[0]).replace(".", ","), str(row[1]).replace(".", ","), *row[2:]])
    return as_csv(rows, delimiter=separator)


def notes(i: int) -> str:
    """Free text, with commas, quotes and line breaks."""
    return f'seen on day {i}, "{("better", "worse", "the same")[i % 3]}"\nand sent home on day {i + 3}'


def day(i: int) -> str:
    """Dates over two years."""
    return (date(2023, 1, 1) + timedelta(days=9 * i)).isoformat()


def day_first(i: int) -> str:
    """The same dates, day first."""
    return (date(2023, 1, 1) + timedelta(days=9 * i)).strftime("%d.%m.%Y")


def zip_code(i: int) -> str:
    """One of four codes."""
    return f"{71 + i // 2 % 4:04d}"


def odd_files() -> Iterator[OddFile]:
    """All of them."""
    text = as_csv(patients())
    yield OddFile("semicolons and decimal commas", "excel.csv", lambda: decimal_comma(";").encode())
    yield OddFile("tabs", "tabs.txt", lambda: text.replace(",", "\t").encode())
    yield OddFile("pipes", "pipes.csv", lambda: text.replace(",", "|").encode())
    yield OddFile("a byte order mark", "mark.csv", lambda: b"\xef\xbb\xbf" + text.encode())
    yield OddFile("line ends of Windows", "windows.csv", lambda: text.replace("\n", "\r\n").encode())
    yield OddFile("UTF-16", "utf16.csv", lambda: text.encode("utf-16"))
    yield OddFile("spaces after the commas", "spaces.csv", lambda: text.replace(",", ", ").encode())
    yield OddFile("gzip", "packed.csv.gz", lambda: gzip.compress(text.encode()))
    yield OddFile("Zstandard", "packed.csv.zst", lambda: zst(text.encode()))
    yield OddFile("Excel, the second sheet", "book.xlsx", excel, ("--sheet", "patients"))
    yield OddFile("question marks for gaps", "gaps.csv", lambda: with_gap("?").encode())
    yield OddFile("-999 for gaps", "minus.csv", lambda: with_gap("-999").encode(), ("--na", "-999"))
    yield OddFile("dates", "dates.csv", lambda: with_column("seen", day).encode())
    yield OddFile("dates, day first", "days.csv", lambda: with_column("day", day_first).encode(), ("--date", "day"))
    yield OddFile("yes and no, true and false", "truth.csv", lambda: truths().encode())
    yield OddFile("an id", "ids.csv", lambda: with_column("patient_id", lambda i: f"P{i:05d}").encode())
    yield OddFile("the index that pandas writes", "index.csv", lambda: with_column("", lambda i: i).encode())
    yield OddFile("a constant", "constant.csv", lambda: with_column("country", lambda i: "TR").encode())
    yield OddFile("an empty column", "empty.csv", lambda: with_column("remarks", lambda i: "").encode())
    yield OddFile("free text with quotes and line breaks", "notes.csv", lambda: with_column("note", notes).encode())
    yield OddFile("codes with zeros in front", "codes.csv", lambda: with_column("zip", zip_code).encode())
    yield OddFile("a text among numbers", "stray.csv", lambda: (text + "171.0,heavy,east,well\n").encode())
    yield OddFile("a row without a label", "unlabelled.csv", lambda: (text + "171.0,70.0,east,\n").encode())
    yield from wrong_files(text)


def wrong_files(text: str) -> Iterator[OddFile]:
    """Those that are wrong on purpose."""
    yield OddFile("wrong: Latin-1", "latin.csv", lambda: text.replace("east", "öst").encode("latin-1"))
    yield OddFile("wrong: a name twice", "twice.csv", lambda: text.replace("height,weight", "weight,weight").encode())
    yield OddFile("wrong: a row too short", "ragged.csv", lambda: (text + "171.0,70.0\n").encode())
    yield OddFile("wrong: no rows", "header.csv", lambda: (",".join(NAMES) + "\n").encode())
    yield OddFile("wrong: no such target", "target.csv", lambda: text.replace(",y\n", ",Y\n", 1).encode())
    yield OddFile("wrong: one label only", "one.csv", lambda: text.replace("sick", "well").encode())
    yield OddFile("wrong: no table at all", "picture.csv", lambda: b"\x89PNG\r\n\x1a\n" + bytes(200))


def truths() -> str:
    """A column of yes and no, and one of true and false."""
    rows = changed(lambda i, row: [("no", "yes")[i % 3 == 0], ("false", "true")[i % 4 == 0], *row])
    return as_csv(rows, ["smokes", "insured", *NAMES])


def zst(content: bytes) -> bytes:
    """Packed bytes."""
    import pyarrow as pa

    return bytes(pa.compress(content, "zstd", asbytes=True))


def excel() -> bytes:
    """A book whose second sheet is the table, with dates and a line above that is empty."""
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["nothing", "here"])
    sheet = book.create_sheet("patients")
    sheet.append([])
    sheet.append(["seen", *NAMES])
    for i, row in enumerate(patients()):
        sheet.append([date(2023, 1, 1) + timedelta(days=3 * i), *row])
    kept = io.BytesIO()
    book.save(kept)
    return kept.getvalue()


def printed(file: OddFile, folder: Path) -> tuple[int, str, str]:
    """The exit code of a fit, and what it printed on standard output and standard error, without the folder."""
    path, out, err = folder / file.name, io.StringIO(), io.StringIO()
    path.write_bytes(file.content())
    words = ["fit", str(path), "--target", "y", "--output", str(folder / "model.sepc"), *file.options]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = sepc(words)
    told, warned = (text.getvalue().replace(f"{folder}/", "") for text in (out, err))
    return code, told, warned
