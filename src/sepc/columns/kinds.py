"""Column types: numbers, categories, dates, or not usable as a feature; and how to report that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.columns.non_features import NonFeature, distinct_of, guess_from_large_numbers, guess_non_feature
from sepc.columns.recognition import ONE_WAY, READABLE, Doubt, is_gap_text, recognise
from sepc.columns.table import (
    column_names,
    column_of,
    exact_column_of,
    has_large,
    is_categorical,
    refuse_repeated,
)
from sepc.columns.written import What, Written
from sepc.plain_values import plain
from sepc.records import given, part, record, text
from sepc.wording import MOST_NAMES, counted, listed, shown

# A text column may be read as numbers or dates if other values are at most this share of its texts.
MOST_OTHERS = 0.05
# The most unreadable texts to name.
MOST_UNREAD = 2


class Kind(StrEnum):
    """What a column is taken as."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    LEFT_OUT = "left out"


@record
class Column:
    """A column of the table that was given.

    Attributes
    ----------
    name : str
        Its name in the table.
    kind : Kind
        What it is taken as.
    why : str
        For a column that is left out, what it appears to be; else empty.
    written : Written or None
        The notation of numbers or dates, if they come as text or durations.
    seen : str
        What its values look like, with an example, if worth reporting.
    doubt : str
        What to do about its type, if that is in doubt; otherwise empty.
    """

    name: str = text()
    kind: Kind = text(*Kind)
    why: str = text()
    written: Written | None = part(Written, default=None)
    seen: str = given(default="")
    doubt: str = given(default="")

    def flaw(self) -> str | None:
        """What is wrong with the notation, if anything."""
        if self.written is None:
            return None
        is_right = self.kind is (Kind.DATE if self.written.what is What.DATE else Kind.NUMBER)
        return None if is_right else "is written in a way that does not match its type"

    def read(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the column; numbers and dates written as text are converted."""
        return values if self.written is None else self.written.read(values)

    @property
    def is_plain(self) -> bool:
        """Whether it holds numbers that are used unchanged."""
        return self.kind is Kind.NUMBER and self.written is None


class ReadColumns(NamedTuple):
    """What columns are, and the values of those that are features, by name: numbers, dates or categories."""

    columns: tuple[Column, ...]
    values: dict[str, NDArray[Any]]


def kinds_of(X: Any, categorical: Collection[Any], force: Collection[Any]) -> tuple[Column, ...]:
    """What each column of a table is; takes the same arguments as `read_columns`."""
    return read_columns(X, categorical, force).columns


def read_columns(X: Any, categorical: Collection[Any], force: Collection[Any], share: float = 1.0) -> ReadColumns:
    """What each column of a table is, by its type and values, and these values.

    Parameters
    ----------
    X : table
    categorical : names
        Columns to take as categories, whatever they hold.
    force : names
        Columns to use as features even if they look like an id, an index, a constant or free text.
    share : float
        The share of all rows that `X` holds, if it is a sample.

    Raises
    ------
    ValueError
        If `categorical` or `force` names a column that `X` does not have.
    """
    names = column_names(X)
    refuse_repeated(names)
    unknown = [name for name in (*categorical, *force) if name not in names]
    if unknown:
        raise ValueError(f"There is no column {shown(unknown[0])}; there are {listed(map(shown, names), MOST_NAMES)}.")
    return _features([_column(X, name, name in categorical, name in force, share) for name in names])


def read_arrays(arrays: Mapping[str, NDArray[Any]], share: float = 1.0) -> ReadColumns:
    """`read_columns` for columns without a type of their own, such as those of an array."""
    return _features([column_from(name, values, share=share) for name, values in arrays.items()])


def _features(found: Sequence[tuple[Column, NDArray[Any]]]) -> ReadColumns:
    used = {column.name: values for column, values in found if column.kind is not Kind.LEFT_OUT}
    return ReadColumns(tuple(column for column, _ in found), used)


def _column(X: Any, name: Any, is_category: bool, is_kept: bool, share: float) -> tuple[Column, NDArray[Any]]:
    if is_category or is_categorical(X, name):
        values = exact_column_of(X, name)
        seems = "" if is_kept else guess_non_feature(values, share).why
        if seems and not (is_category and seems != "a constant"):
            return Column(str(name), Kind.LEFT_OUT, seems), values
        return Column(str(name), Kind.CATEGORY, ""), values
    values = column_of(X, name)
    beyond = NonFeature() if is_kept or not has_large(values) else guess_from_large_numbers(exact_column_of(X, name))
    if beyond.seen:
        kind = Kind.LEFT_OUT if beyond.why else Kind.NUMBER
        return Column(str(name), kind, beyond.why, None, beyond.seen, beyond.doubt), values
    return column_from(str(name), values, is_kept, share)


def column_from(
    name: str, values: NDArray[Any], is_kept: bool = False, share: float = 1.0
) -> tuple[Column, NDArray[Any]]:
    """What a column is, unless it is declared categorical, and its values as read.

    Parameters
    ----------
    name : str
    values : (n,) array
        As `sepc.columns.table.as_typed` gives them.
    is_kept : bool
        Whether to use it as a feature in any case.
    share : float
        The share of all rows that `values` holds.
    """
    found = _written(values)
    written = found if isinstance(found, Written) else None
    read = values if written is None else written.read(values)
    if written is not None and _are_too_many(unread := _unread(values, read), len(values)):
        # A few distinct texts may fill many rows, so unreadable rows are limited too.
        found, written, read = Doubt(_reading(values, read, unread), ONE_WAY), None, values
    seems = NonFeature() if is_kept else guess_non_feature(read, share)
    seen, doubt = (found.seen, found.advice) if isinstance(found, Doubt) else (seems.seen, seems.doubt)
    if seems.why:
        return Column(name, Kind.LEFT_OUT, seems.why, None, seen, doubt), read
    kind = {"O": Kind.CATEGORY, "M": Kind.DATE}.get(read.dtype.kind, Kind.NUMBER)
    if written is not None and not seen:
        seen = _reading(values, read, _unread(values, read))
    return Column(name, kind, "", written, seen, doubt), read


def _written(values: NDArray[Any]) -> Written | Doubt | None:
    """The notation of a column of numbers or dates, a `Doubt` about it, or None."""
    if values.dtype.kind == "m":
        return Written.duration()
    if values.dtype.kind != "O":
        return None
    distinct = distinct_of(values.tolist())
    texts = [value for value in distinct if isinstance(value, str)]
    others = [value for value in distinct if value is not None and not isinstance(value, str)]
    if len(others) <= MOST_OTHERS * len(texts):
        return recognise(texts)
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in others):
        # Numbers with some text cells, such as "-" for a missing value.
        return Written.number() if all(map(is_gap_text, texts)) else recognise([*texts, *map(str, others)])
    are_dates = all(isinstance(value, date) for value in others) and all(map(is_gap_text, texts))
    return Written.date() if are_dates else None


def _is_gap(read: NDArray[Any]) -> BoolArray:
    return np.asarray(np.isnat(read) if read.dtype.kind == "M" else np.isnan(read))


def _unread(values: NDArray[Any], read: NDArray[Any]) -> list[Any]:
    """The cells that have a value and could not be read."""
    if values.dtype.kind != "O":
        return []
    return [value for value in values[_is_gap(read)].tolist() if value is not None]


def _are_too_many(unread: list[Any], n_rows: int) -> bool:
    """Whether too many cells could not be read, not counting texts that stand for a missing value."""
    n_texts = sum(not (isinstance(value, str) and is_gap_text(value)) for value in unread)
    return n_texts > (1.0 - READABLE) * n_rows


def _reading(values: NDArray[Any], read: NDArray[Any], unread: list[Any]) -> str:
    """What a text was read as, and what could not be read, in words."""
    is_gap = _is_gap(read)
    if values.dtype.kind == "m":
        first = int(np.argmin(is_gap))
        return f"{plain(values[first])} is {_in_words(read[first])}"
    first = next((i for i in np.flatnonzero(~is_gap).tolist() if isinstance(values[i], str)), -1)
    example = f"{shown(values[first])} is {_in_words(read[first])}" if first >= 0 else "most cells are not text"
    if not unread:
        return example
    named = listed(map(shown, distinct_of(unread)), MOST_UNREAD)
    return f"{example}; {named} in {counted(len(unread), 'row')} cannot be read"


def _in_words(value: Any) -> str:
    return str(value).split("T00:00")[0] if isinstance(value, np.datetime64) else f"{value:,.10g}"
