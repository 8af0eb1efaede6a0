"""Export what auditors read as CSV or Parquet, with the digest of the file."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import ColumnElement, Connection, Engine, Select, Table, select

from sepc_desk.entries import time_of
from sepc_desk.errors import RequestError
from sepc_desk.reading import day_bounds
from sepc_desk.schema import answers, cases, changes, entries, leases, readings

BLOCK = 5_000
FORMATS = ("csv", "parquet")
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


def _log() -> tuple[Select[Any], ColumnElement[int], ColumnElement[str | None]]:
    return select(entries).order_by(entries.c.place), entries.c.at, entries.c.model


def _of_cases(table: Table, time: str) -> tuple[Select[Any], ColumnElement[int], ColumnElement[str | None]]:
    """Rows of a table about cases, each with the model and purpose of its case."""
    both = select(table, cases.c.model, cases.c.purpose).join(cases, cases.c.id == table.c.case_id)
    return both.order_by(table.c[time]), table.c[time], cases.c.model


def _cases() -> tuple[Select[Any], ColumnElement[int], ColumnElement[str | None]]:
    return select(cases).order_by(cases.c.entered_at, cases.c.id), cases.c.entered_at, cases.c.model


def _readings() -> tuple[Select[Any], ColumnElement[int], ColumnElement[str | None]]:
    return select(readings).order_by(readings.c.id), readings.c.entered_at, readings.c.model


def _changes() -> tuple[Select[Any], ColumnElement[int], ColumnElement[str | None]]:
    return select(changes).order_by(changes.c.made_at, changes.c.id), changes.c.made_at, changes.c.model


EXPORTS: dict[str, Callable[[], tuple[Select[Any], ColumnElement[int], ColumnElement[str | None]]]] = {
    "log": _log,
    "cases": _cases,
    "readings": _readings,
    "leases": lambda: _of_cases(leases, "taken_at"),
    "answers": lambda: _of_cases(answers, "given_at"),
    "changes": _changes,
}


def rows_of(what: str, model: str, day: date) -> Select[Any]:
    """Everything of one kind about a model that began on a day, in UTC."""
    chosen, time, own_model = EXPORTS[what]()
    first, last = day_bounds(day)
    return chosen.where(time >= first, time < last, own_model == model)


def export(engine: Engine, what: str, form: str, model: str, day: date) -> Exported:
    """Write a file; raises if it cannot be written in this form here."""
    if form == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise RequestError(501, "no_parquet", "Parquet needs pyarrow here: pip install 'sepc-desk[parquet]'.")
    with tempfile.NamedTemporaryFile(prefix="sepc-desk-export-", suffix=f".{form}", delete=False) as file:
        path = Path(file.name)
    with engine.connect() as connection:
        found = connection.execution_options(stream_results=True).execute(rows_of(what, model, day))
        names = list(found.keys())
        n = (_write_csv if form == "csv" else _write_parquet)(path, names, found.partitions(BLOCK))
    return Exported(path, _digest(path), n)


def _write_csv(path: Path, names: list[str], blocks: Iterator[Sequence[Any]]) -> int:
    n = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for block in blocks:
            writer.writerows([plain(name, value) for name, value in zip(names, row, strict=True)] for row in block)
            n += len(block)
    return n


def _write_parquet(path: Path, names: list[str], blocks: Iterator[Sequence[Any]]) -> int:
    rows = [
        tuple(plain(name, value) for name, value in zip(names, row, strict=True)) for block in blocks for row in block
    ]
    pd.DataFrame(rows, columns=names).to_parquet(path, index=False)
    return len(rows)


def plain(name: str, value: Any) -> Any:
    """A value of a table as a file has it: times as ISO text, and digests in hexadecimal digits."""
    if value is None:
        return None
    if name in TIMES:
        return time_of(int(value))
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else value


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shown_rows(connection: Connection, what: str, model: str, day: date, after: int, most: int) -> list[dict[str, Any]]:
    """Some rows of an export, for a page."""
    some = rows_of(what, model, day).offset(after).limit(most)
    return [{name: plain(name, value) for name, value in one.items()} for one in connection.execute(some).mappings()]
