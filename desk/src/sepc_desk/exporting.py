"""Export what auditors read as CSV or Parquet, with the digest of the file."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import ColumnElement, Connection, Engine, Select, Table, select

from sepc_desk.database import engine_of
from sepc_desk.entries import time_of
from sepc_desk.errors import RequestError
from sepc_desk.reading import day_bounds
from sepc_desk.schema import answers, cases, changes, entries, leases, readings
from sepc_desk.settings import Settings

BLOCK = 5_000
FORMATS = ("csv", "parquet")
# How a formula begins in a spreadsheet.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
NICE = 10
TIMES = frozenset(
    {"at", "decided_at", "entered_at", "taken_at", "until", "ended_at", "given_at", "undone_at", "final_at"}
    | {"made_at", "proposed_at"}
)


@dataclass(frozen=True)
class Exported:
    """A file that was written.

    Attributes
    ----------
    path : Path
        A temporary file; whoever sends it removes it.
    digest : str
        Its SHA-256.
    n_rows : int
    """

    path: Path
    digest: str
    n_rows: int


def _of_cases(table: Table) -> Select[Any]:
    """Rows of a table about cases, each with the model and purpose of its case."""
    return select(table, cases.c.model, cases.c.purpose).join(cases, cases.c.id == table.c.case_id)


# What can be read, in its order, with the columns of when it began and of its model.
EXPORTS: dict[str, tuple[Select[Any], ColumnElement[int], ColumnElement[str | None]]] = {
    "log": (select(entries).order_by(entries.c.place), entries.c.at, entries.c.model),
    "cases": (select(cases).order_by(cases.c.entered_at, cases.c.id), cases.c.entered_at, cases.c.model),
    "readings": (select(readings).order_by(readings.c.id), readings.c.entered_at, readings.c.model),
    "leases": (_of_cases(leases).order_by(leases.c.taken_at), leases.c.taken_at, cases.c.model),
    "answers": (_of_cases(answers).order_by(answers.c.given_at), answers.c.given_at, cases.c.model),
    "changes": (select(changes).order_by(changes.c.made_at, changes.c.id), changes.c.made_at, changes.c.model),
}


def rows_of(what: str, model: str, day: date) -> Select[Any]:
    """Everything of one kind about a model that began on a day, in UTC."""
    chosen, time, own_model = EXPORTS[what]
    first, last = day_bounds(day)
    return chosen.where(time >= first, time < last, own_model == model)


def be_nice() -> None:
    """Let everything else come first."""
    if hasattr(os, "nice"):
        os.nice(NICE)


def export_by(settings: Settings, what: str, form: str, model: str, day: date) -> Exported:
    """Write a file in a process of its own, so that neither decisions nor pages wait for it."""
    engine = engine_of(settings)
    try:
        return export(engine, what, form, model, day)
    finally:
        engine.dispose()


def export(engine: Engine, what: str, form: str, model: str, day: date) -> Exported:
    """Write a file; raises if it cannot be written in this form here."""
    if form == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise RequestError(501, "no_parquet", "Parquet needs pyarrow here: pip install 'sepc-desk[parquet]'.")
    with tempfile.NamedTemporaryFile(prefix="sepc-desk-export-", suffix=f".{form}", delete=False) as file:
        path = Path(file.name)
    try:
        with engine.connect() as connection:
            found = connection.execution_options(stream_results=True).execute(rows_of(what, model, day))
            names = list(found.keys())
            n = (_write_csv if form == "csv" else _write_parquet)(path, names, found.partitions(BLOCK))
        with path.open("rb") as written:
            return Exported(path, hashlib.file_digest(written, "sha256").hexdigest(), n)
    except BaseException:
        path.unlink()
        raise


def _write_csv(path: Path, names: list[str], blocks: Iterator[Sequence[Any]]) -> int:
    def cell(name: str, value: Any) -> Any:
        made = plain(name, value)
        # A text that a spreadsheet would compute has an apostrophe before it.
        return f"'{made}" if isinstance(made, str) and made.startswith(FORMULA) else made

    n = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for block in blocks:
            writer.writerows(map(cell, names, row) for row in block)
            n += len(block)
    return n


def _write_parquet(path: Path, names: list[str], blocks: Iterator[Sequence[Any]]) -> int:
    rows = [tuple(map(plain, names, row)) for block in blocks for row in block]
    pd.DataFrame(rows, columns=names).to_parquet(path, index=False)
    return len(rows)


def plain(name: str, value: Any) -> Any:
    """A value of a table as a file has it: times as ISO text, and digests in hexadecimal digits."""
    if value is None:
        return None
    if name in TIMES:
        return time_of(int(value))
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def shown_rows(connection: Connection, what: str, model: str, day: date, after: int, most: int) -> list[dict[str, Any]]:
    """Some rows of an export, for a page."""
    return plain_rows(connection, rows_of(what, model, day).offset(after).limit(most))


def plain_rows(connection: Connection, some: Select[Any]) -> list[dict[str, Any]]:
    """Rows of any table, with their values as a file has them."""
    return [{name: plain(name, value) for name, value in one.items()} for one in connection.execute(some).mappings()]
