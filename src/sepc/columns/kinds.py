"""What the columns of a table are: numbers, categories, dates, or no features at all; and what to say of that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.columns.no_features import Seeming, distinct_of, seeming, seeming_large
from sepc.columns.recognition import ONE_WAY, READABLE, Doubt, is_gap_text, written_of
from sepc.columns.table import column_names, column_of, exact_column_of, has_large, is_categorical
from sepc.columns.written import What, Written
from sepc.plain_values import plain
from sepc.records import given, part, record, text
from sepc.wording import MOST_NAMES, counted, listed, shown

# The most values other than text in a column that may be read as numbers or dates, as a share of its texts.
MOST_OTHERS = 0.05
# The most texts to name that cannot be read.
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
        For a column that is left out, what it seems to be; else empty.
    written : Written or None
        How numbers or dates are written, if they come as text or as durations.
    seen : str
        What a look at its values has seen, with an example, if there is something to say.
    doubt : str
        What to do about it, if what to take it as is in doubt.
    """

    name: str = text()
    kind: Kind = text(*Kind)
    why: str = text()
    written: Written | None = part(Written, default=None)
    seen: str = given(default="")
    doubt: str = given(default="")

    def flaw(self) -> str | None:
        """What is wrong with how it is written, if anything."""
        if self.written is None:
            return None
        is_right = self.kind is (Kind.DATE if self.written.what is What.DATE else Kind.NUMBER)
        return None if is_right else "is written as something else than it is taken as"

    def read(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the column; numbers and dates that are written as text become such."""
        return values if self.written is None else self.written.read(values)

    @property
    def is_plain(self) -> bool:
        """Whether it holds numbers that are used as they are."""
        return self.kind is Kind.NUMBER and self.written is None


class ReadColumns(NamedTuple):
    """What columns are, and the values of those that are features, by name: numbers, dates or categories."""

    columns: tuple[Column, ...]
    values: dict[str, NDArray[Any]]


def kinds_of(X: Any, categorical: Collection[Any], keep: Collection[Any]) -> tuple[Column, ...]:
    """What each column of a table is; takes the same as `read_columns`."""
    return read_columns(X, categorical, keep).columns


def read_columns(X: Any, categorical: Collection[Any], keep: Collection[Any], share: float = 1.0) -> ReadColumns:
    """What each column of a table is, by its type and values, and these values.

    Parameters
    ----------
    X : table
    categorical : names
        Columns that are categories, whatever they hold.
    keep : names
        Columns that are features, even if they look like an id, an index, a constant or free text.
    share : float
        The share of all rows that these are, if they are a sample.
    """
    names = column_names(X)
    unknown = [name for name in (*categorical, *keep) if name not in names]
    if unknown:
        raise ValueError(f"There is no column {shown(unknown[0])}; there are {listed(map(shown, names), MOST_NAMES)}.")
    return _features([_column(X, name, name in categorical, name in keep, share) for name in names])


def read_arrays(arrays: Mapping[str, NDArray[Any]], share: float = 1.0) -> ReadColumns:
    """The same for columns that have no type of their own, as those of an array."""
    return _features([column_from(name, values, share=share) for name, values in arrays.items()])


def _features(found: Sequence[tuple[Column, NDArray[Any]]]) -> ReadColumns:
    used = {column.name: values for column, values in found if column.kind is not Kind.LEFT_OUT}
    return ReadColumns(tuple(column for column, _ in found), used)


def _column(X: Any, name: Any, is_category: bool, is_kept: bool, share: float) -> tuple[Column, NDArray[Any]]:
    if is_category or is_categorical(X, name):
        values = exact_column_of(X, name)
        seems = "" if is_kept else seeming(values, share).why
        if seems and not (is_category and seems != "a constant"):
            return Column(str(name), Kind.LEFT_OUT, seems), values
        return Column(str(name), Kind.CATEGORY, ""), values
    values = column_of(X, name)
    beyond = Seeming() if is_kept or not has_large(values) else seeming_large(exact_column_of(X, name))
    if beyond.seen:
        kind = Kind.LEFT_OUT if beyond.why else Kind.NUMBER
        return Column(str(name), kind, beyond.why, None, beyond.seen, beyond.doubt), values
    return column_from(str(name), values, is_kept, share)


def column_from(
    name: str, values: NDArray[Any], is_kept: bool = False, share: float = 1.0
) -> tuple[Column, NDArray[Any]]:
    """What a column is that is not said to be categories, and its values as they are read.

    Parameters
    ----------
    name : str
    values : (n,) array
        As `sepc.columns.table.typed` gives them.
    is_kept : bool
        Whether it is a feature in any case.
    share : float
        The share of all rows that these are.
    """
    found = _written(values)
    written = found if isinstance(found, Written) else None
    read = values if written is None else written.read(values)
    if written is not None and _are_too_many(unread := _unread(values, read), len(values)):
        # Few different texts may be most rows, as of "1.2 kg" among many like "750 g".
        found, written, read = Doubt(_reading(values, read, unread), ONE_WAY), None, values
    seems = Seeming() if is_kept else seeming(read, share)
    seen, doubt = (found.seen, found.advice) if isinstance(found, Doubt) else (seems.seen, seems.doubt)
    if seems.why:
        return Column(name, Kind.LEFT_OUT, seems.why, None, seen, doubt), read
    kind = {"O": Kind.CATEGORY, "M": Kind.DATE}.get(read.dtype.kind, Kind.NUMBER)
    if written is not None and not seen:
        seen = _reading(values, read, _unread(values, read))
    return Column(name, kind, "", written, seen, doubt), read


def _written(values: NDArray[Any]) -> Written | Doubt | None:
    """How a column writes numbers or dates, if it does."""
    if values.dtype.kind == "m":
        return Written.duration()
    if values.dtype.kind != "O":
        return None
    distinct = distinct_of(values.tolist())
    texts = [value for value in distinct if isinstance(value, str)]
    others = [value for value in distinct if value is not None and not isinstance(value, str)]
    if len(others) <= MOST_OTHERS * len(texts):
        return written_of(texts)
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in others):
        # Numbers among which some cells are text, such as "-" for a gap.
        return Written.number() if all(map(is_gap_text, texts)) else written_of([*texts, *map(str, others)])
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
    """Whether cells that could not be read are too many, but for those that people write for a gap."""
    n_texts = sum(not (isinstance(value, str) and is_gap_text(value)) for value in unread)
    return n_texts > (1.0 - READABLE) * n_rows


def _reading(values: NDArray[Any], read: NDArray[Any], unread: list[Any]) -> str:
    """What a text was read as, and what could not be read, in words."""
    is_gap = _is_gap(read)
    if values.dtype.kind == "m":
        first = int(np.argmin(is_gap))
        return f"{plain(values[first])} is {_in_words(read[first])}"
    first = next((i for i in np.flatnonzero(~is_gap).tolist() if isinstance(values[i], str)), -1)
    example = f"{shown(values[first])} is {_in_words(read[first])}" if first >= 0 else "most cells are no text"
    if not unread:
        return example
    named = listed(map(shown, distinct_of(unread)), MOST_UNREAD)
    return f"{example}; {named} in {counted(len(unread), 'row')} cannot be read"


def _in_words(value: Any) -> str:
    return str(value).split("T00:00")[0] if isinstance(value, np.datetime64) else f"{value:,.10g}"
