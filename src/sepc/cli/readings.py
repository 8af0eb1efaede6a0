"""What the columns of a file are read as."""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Reading(StrEnum):
    """What a column is read as."""

    NUMBER = "numbers"
    TEXT = "text"
    DATE = "dates"
    FOUND = "as its type says"


def reading_of(kind: Any) -> Reading:
    """What a column of this Arrow type is; without any cell, numbers."""
    import pyarrow.types as types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return Reading.NUMBER
    if types.is_null(kind):
        return Reading.NUMBER
    return Reading.DATE if types.is_date(kind) or types.is_timestamp(kind) else Reading.TEXT
