"""Read rows with labels from files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from sepc_desk.columns import Kind
from sepc_desk.errors import SettingError
from sepc_desk.models import Model
from sepc_desk.rows import Row, typed_row


def labelled_rows(
    file: Path, model: Model, label: str, group: str | None = None
) -> tuple[list[Row], list[Any], list[Any]]:
    """Rows of a file with a header, or with a JSON object in each line; their labels; and their values of `group`."""
    rows, labels, groups = [], [], []
    for i, given in enumerate(_read(file, model)):
        for name in (label, group):
            if name is not None and name not in given:
                raise SettingError(f"Row {i} of {file} has no column {name!r}.")
        own = given.pop(label)
        # CSV holds text only, and the model may have other labels.
        labels.append(next((known for known in model.classes if own in (known, str(known))), own))
        groups.append(None if group is None else given[group])
        rows.append(typed_row(model.columns, given, i))
    return rows, labels, groups


def _read(file: Path, model: Model) -> Iterator[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            if file.suffix == ".csv":
                numbers = {column.name for column in model.columns if column.kind is Kind.NUMBER}
                for i, given in enumerate(csv.DictReader(opened)):
                    yield {name: _cell(name, text, numbers, i) for name, text in given.items()}
            else:
                for line in opened:
                    yield orjson.loads(line)
    except OSError as error:
        raise SettingError(f"{file} cannot be read: {error.strerror}.") from error
    except orjson.JSONDecodeError as error:
        raise SettingError(f"{file} is not CSV, and has a line that is not a JSON object: {error}.") from error


def _cell(name: str, text: str, numbers: set[str], i: int) -> Any:
    if text == "":
        return None
    if name not in numbers:
        return text
    try:
        return float(text)
    except ValueError:
        raise SettingError(f"Column {name!r} holds numbers, and row {i} has {text[:60]!r}.") from None
