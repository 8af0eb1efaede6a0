"""Rows as callers send them, as the log keeps them, and as a model takes them.

A row is kept as JSON text: names in the order of the model's columns, doubles with the fewest digits that give the same
bits, integers of up to 64 bits unchanged, null for a missing value, and a date as ``{"date": "2024-02-01T00:00:00"}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from sepc_desk.columns import Column, Kind
from sepc_desk.errors import RequestError

Row = dict[str, Any]

# The longest text in a cell, and how much of a value a message repeats.
LONGEST_TEXT = 10_000
MOST_SHOWN = 60
# How many columns that a model does not take an answer names.
MOST_IGNORED = 20
# The range of 64-bit integers.
SMALLEST, LARGEST = -(2**63), 2**63 - 1
WANTED = {
    Kind.NUMBER: "a number or null",
    Kind.CATEGORY: "text, a number, true, false or null",
    Kind.DATE: 'a date as text, such as "2024-02-01" or "2024-02-01T09:30:00Z", or null',
    Kind.TEXT: "text as in training, a number or null",
}
HOLDS = {Kind.NUMBER: "numbers", Kind.CATEGORY: "categories", Kind.DATE: "dates", Kind.TEXT: "numbers or dates as text"}


def typed_row(columns: Sequence[Column], given: Any, i: int) -> Row:
    """Row `i` of a request with the model's columns in their order; other columns are not kept."""
    if not isinstance(given, Mapping):
        raise RequestError(
            422, "row_not_object", f"Row {i} is {_shown(given)}; send an object with a value for each column.", row=i
        )
    row: Row = {}
    for column in columns:
        if column.name in given:
            value = given[column.name]
            kind = type(value)
            if value is None or (column.kind is Kind.NUMBER and kind is float and isfinite(value)):
                row[column.name] = value
            else:
                row[column.name] = _typed(column, value, i)
        elif column.is_needed:
            raise RequestError(
                422,
                "missing_column",
                f"Row {i} has no column {column.name!r}, which the model needs. Send null if the value is not known."
                + _near(column.name, given, columns),
                column=column.name,
                row=i,
            )
    return row


def ignored_columns(columns: Sequence[Column], given: Sequence[Row], typed: Sequence[Row]) -> list[str]:
    """Names in rows as they were given that are not columns of the model; the first of many, and cut if long."""
    longer = [row for row, own in zip(given, typed, strict=True) if len(row) > len(own)]
    known = {column.name for column in columns if longer}
    return list(dict.fromkeys(name[:MOST_SHOWN] for row in longer for name in row if name not in known))[:MOST_IGNORED]


def _typed(column: Column, value: Any, i: int) -> Any:
    if isinstance(value, float) and not isfinite(value):
        raise _refused(column, value, i)
    if isinstance(value, bool | int | float):
        if column.kind is Kind.DATE or (type(value) is int and not SMALLEST <= value <= LARGEST):
            raise _refused(column, value, i)
        return value
    if isinstance(value, str) and column.kind is not Kind.NUMBER:
        if len(value) > LONGEST_TEXT:
            message = f"Column {column.name!r} of row {i} is longer than {LONGEST_TEXT:,} characters."
            raise RequestError(422, "text_too_long", message, column=column.name, row=i)
        return _date(column, value, i) if column.kind is Kind.DATE else value
    raise _refused(column, value, i)


def _date(column: Column, value: str, i: int) -> dict[str, str]:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise _refused(column, value, i) from None
    if moment.tzinfo is not None:
        try:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            raise _refused(column, value, i) from None
    return {"date": moment.isoformat()}


def _refused(column: Column, value: Any, i: int) -> RequestError:
    holds, wanted = HOLDS[column.kind], WANTED[column.kind]
    message = f"Column {column.name!r} holds {holds}, and row {i} has {_shown(value)}. Send {wanted}."
    return RequestError(422, "wrong_value", message, column=column.name, row=i)


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _near(name: str, given: Mapping[str, Any], columns: Sequence[Column]) -> str:
    """A hint at a column of the row that may be the missing one in another spelling."""
    known = {column.name for column in columns}
    folded = "".join(filter(str.isalnum, name.casefold()))
    for other in given:
        if other not in known and "".join(filter(str.isalnum, other.casefold())) == folded:
            return f" It has {other!r}; did you mean that?"
    return ""


def frame_of(columns: Sequence[Column], rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a model takes them. A row gives the same decision, whatever other rows are decided with it."""
    present = [column for column in columns if column.is_needed or all(column.name in row for row in rows)]
    names = tuple(column.name for column in present)
    if all(column.kind is Kind.NUMBER for column in present):
        cells = np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
        return pd.DataFrame(cells, columns=_index(names))
    frame = pd.DataFrame({j: _array(column, [row[column.name] for row in rows]) for j, column in enumerate(present)})
    frame.columns = _index(names)
    return frame


@lru_cache(maxsize=256)
def _index(names: tuple[str, ...]) -> pd.Index:
    """Names of columns as plain objects, which are faster to make and to read than pandas' own text."""
    return pd.Index(names, dtype=object)


def _array(column: Column, cells: list[Any]) -> Any:
    if column.kind is Kind.NUMBER:
        return np.array(cells, dtype=np.float64)
    if column.kind is Kind.DATE:
        dates = [None if cell is None else np.datetime64(datetime.fromisoformat(cell["date"]), "us") for cell in cells]
        return np.array(dates, dtype="datetime64[us]")
    return pd.Series(cells, dtype=object)


def plain(value: Any) -> Any:
    """A label, a category or a date as JSON."""
    if isinstance(value, date | np.datetime64 | pd.Timestamp):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value
