"""Values and labels that a person has typed or chosen in a form."""

from __future__ import annotations

from typing import Any

import orjson

from sepc_desk.columns import Column, Kind
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.rows import Row, typed_row

PREFIX = "value:"
CANNOT_SAY = "cannot say"


def typed_values(model: Model, form: dict[str, str], row: Row) -> Row:
    """The row of a form; columns that it does not have stay as they are in `row`."""
    given: dict[str, Any] = {}
    for column in model.columns:
        text = form.get(PREFIX + column.name)
        if text is None:
            if column.name in row:
                given[column.name] = _sent(row[column.name])
        elif text != "" or column.is_needed:
            given[column.name] = _value(column, text, row.get(column.name))
    return typed_row(model.columns, given, 0)


def _sent(cell: Any) -> Any:
    return cell["date"] if isinstance(cell, dict) else cell


def _value(column: Column, text: str, before: Any) -> Any:
    """A text as a value of a column; empty is missing."""
    if text == "":
        return None
    if column.kind is Kind.NUMBER:
        try:
            return float(text.replace(",", "."))
        except ValueError:
            raise RequestError(
                422, "wrong_value", f"{column.name} is a number, and the form has {text[:60]!r}.", column=column.name
            ) from None
    if column.kind is Kind.CATEGORY and not isinstance(before, str) and before is not None:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
    return text


def chosen_label(model: Model, text: str) -> Any:
    """The label of a button, or None for "cannot say"."""
    if text == CANNOT_SAY:
        return None
    try:
        label = orjson.loads(text)
    except orjson.JSONDecodeError:
        label = None
    for own in model.classes:
        if own == label and type(own) is type(label):
            return own
    raise RequestError(422, "no_such_label", "The form has a label that the model does not know.")
