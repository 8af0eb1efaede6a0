"""Tables in any file format: column names, what columns hold, and batches of rows."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from sepc.cli._messages import InputError
from sepc.cli.source import Source, is_number
from sepc.wording import MOST_NAMES, did_you_mean, listed, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Rows per batch: many, because deciding in large batches is faster; fewer for wide tables, so that a batch takes at
# most 32 MB.
BATCH_ROWS = 2**17
BATCH_CELLS = 2**22

# Most columns in a table: each takes some kilobytes before any row is read, and no model could use more.
MOST_COLUMNS = 20_000

# Common separators, and how --separator spells them.
OTHER_SEPARATORS = {";": ";", "\t": "tab", "|": "|", ",": ","}


class ColumnType(StrEnum):
    """What a column is read as."""

    NUMBER = "numbers"
    TEXT = "text"
    DATE = "dates"
    FOUND = "as its type says"
    WRITTEN = "text as the model reads it"


def reading_of(kind: Any) -> ColumnType:
    """What a column of this Arrow type is read as; numbers if it has no cells."""
    import pyarrow.types as types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return ColumnType.NUMBER
    if types.is_null(kind):
        return ColumnType.NUMBER
    return ColumnType.DATE if types.is_date(kind) or types.is_timestamp(kind) else ColumnType.TEXT


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table."""

    first_row: int
    columns: dict[str, Any]
    n_rows: int
    share: float | None = None

    @property
    def last_row(self) -> int:
        """Number of the last row."""
        return self.first_row + self.n_rows - 1

    def only(self, row: int) -> Batch:
        """A batch of this row alone."""
        columns = {name: column.slice(row - self.first_row, 1) for name, column in self.columns.items()}
        return Batch(row, columns, 1)


class Table(Protocol):
    """A table that can be read in batches."""

    @property
    def source(self) -> Source:
        """Where it comes from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns, in order; names may repeat."""

    @property
    def n_rows(self) -> int | None:
        """Its number of rows, if known in advance."""

    def kind_of(self, name: str) -> ColumnType:
        """What a column holds, judging by its type or its first rows; FOUND if the first cells are all empty."""

    def batches(self, wanted: Sequence[str], readings: Mapping[str, ColumnType]) -> Iterator[Batch]:
        """The rows of some columns; cells of CSV that `readings` has are text, anything else is as typed."""


def batch_rows(n_columns: int) -> int:
    """Rows per batch of a table from which `n_columns` columns are read."""
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(1, n_columns)))


def check_width(source: Source, n_columns: int) -> None:
    """Raise if a table has too many columns."""
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"{source.name} has {n_columns:,} columns; sepc reads at most {MOST_COLUMNS:,}. "
            "Write the columns that you need to a smaller file."
        )


def check_names(table: Table, wanted: Sequence[str]) -> None:
    """Raise unless every wanted column is there exactly once."""
    times = Counter(table.names)
    for name in wanted:
        if times[name] > 1:
            raise InputError(
                f"{table.source.name} has {times[name]} columns called {name!r}; give them different names."
            )
        if not times[name]:
            raise InputError(_missing_column(table, name))


def _missing_column(table: Table, name: str) -> str:
    (first, *others), source = table.names, table.source
    for sign, word in OTHER_SEPARATORS.items():
        if source.format == "csv" and not others and sign != source.separator and sign in first:
            hint = f"if {sign!r} separates its cells, give --separator '{word}'"
            return f"{source.name} has one column, {first[:80]!r}; {hint}."
    known = listed(map(shown, table.names), MOST_NAMES)
    return f"{source.name} has no column {name!r}; it has {known}.{did_you_mean([name], table.names)}"


def bad_cell_line(source: Source, name: str, row: int, cell: str) -> str:
    """An error message for a cell that is not a number."""
    missing = f"if it means a missing value, give --na {quoted(cell[:80])}"
    advice = "give --decimal ," if _has_decimal_comma(cell) else missing
    return f"{source.name}, row {row:,}, column {name!r}: {cell[:80]!r} is not a number; {advice}."


def _has_decimal_comma(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9]+,[0-9]+\s*", text) is not None


def quoted(text: str) -> str:
    """A text as the value of an option in a shell."""
    return shlex.quote(f'"{text}"' if "," in text else text)


def refuse_gaps(source: Source, first_row: int, columns: Mapping[str, NDArray[Any]], advice: str) -> None:
    """Raise if a cell is missing, naming the first."""
    import numpy as np

    gaps = np.array([is_gap(values) for values in columns.values()])
    if gaps.any():
        i = int(gaps.any(axis=0).argmax())
        name = list(columns)[int(gaps[:, i].argmax())]
        raise InputError(f"{source.name}, row {first_row + i:,}, column {name!r} is empty or not a number. {advice}")


def is_gap(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which cells of a column are missing."""
    import numpy as np

    if values.dtype.kind == "O":
        return np.array([value is None for value in values], dtype=bool)
    return np.asarray(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values))


def dates_of(source: Source, name: str, texts: Any, given: str, first_row: int) -> NDArray[np.datetime64]:
    """Dates from texts, with NaT for those that mean a missing value; raises unless all can be read in one way."""
    import numpy as np

    from sepc.columns.recognition import Doubt, What, is_gap_text, sole_notation

    cells = np.array([None if cell is None or is_gap_text(cell) else cell for cell in texts.to_pylist()], dtype=object)
    if given:
        parsed, what = _parsed(cells, given), f"not a date in the format {given}"
    else:
        found = sole_notation(list(dict.fromkeys(cell for cell in cells if cell is not None)), What.DATE)
        if isinstance(found, Doubt):
            raise InputError(
                f"{source.name}, column {name!r}: {found.seen}; say which, as in --date '{name}=%d/%m/%Y'."
            )
        parsed, what = (
            found.read(cells),
            f"not a date like the others; if all have one format, give --date '{name}=FORMAT'",
        )
    odd = np.flatnonzero(np.isnat(parsed) & np.array([cell is not None for cell in cells], dtype=bool))
    if len(odd):
        cell = cells[odd[0]][:80]
        raise InputError(f"{source.name}, row {first_row + int(odd[0]):,}, column {name!r}: {cell!r} is {what}.")
    return np.asarray(parsed, dtype="datetime64[us]")


def naive(column: Any) -> NDArray[np.datetime64]:
    """Dates and times as `datetime64`, converted to UTC if they have a time zone."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp("us", tz="UTC"), safe=False).cast(pa.int64()).cast(pa.timestamp("us"))
    elif pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"), safe=False)
    else:
        return np.full(len(column), np.datetime64("NaT", "us"))
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype="datetime64[us]")


def _parsed(cells: NDArray[Any], form: str) -> NDArray[np.datetime64]:
    """The dates, with NaT for texts in another format."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    parsed = pc.strptime(pa.array(cells.tolist(), pa.string()), form, "s", error_is_null=True)
    return np.asarray(parsed.to_numpy(zero_copy_only=False), dtype="datetime64[us]")


@dataclass(frozen=True, eq=False)
class Features:
    """The features of a table and how they are read."""

    readings: dict[str, ColumnType]
    by: tuple[str, ...] = ()
    categories: Mapping[str, Collection[Any]] = field(default_factory=dict)

    def arrays(self, source: Source, batch: Batch) -> dict[str, NDArray[Any]]:
        """The features of a batch; raises `InputError` if a cell cannot be read."""
        return {name: self._array(source, name, batch) for name in self.readings}

    def _array(self, source: Source, name: str, batch: Batch) -> NDArray[Any]:
        column = batch.columns[name]
        if name in self.by:
            return _categories(column)
        cells = array_of(source, name, column, self.readings[name], batch.first_row)
        return matched(cells, self.categories[name]) if name in self.categories else cells


def array_of(source: Source, name: str, column: Any, reading: ColumnType, first_row: int) -> NDArray[Any]:
    """A column as an array of floats, dates or text, with NaN, NaT or None for missing values."""
    if reading in (ColumnType.FOUND, ColumnType.WRITTEN):
        reading = ColumnType.DATE if name in source.dates else reading_of(column.type)
    if reading is ColumnType.NUMBER:
        return _numbers(source, name, column, first_row)
    if reading is ColumnType.DATE:
        return _dates(source, name, column, first_row)
    return objects(without_gaps(source, as_text(column)).to_pylist())


def as_text(column: Any) -> Any:
    """A column as text without surrounding whitespace; floats that are all whole are written as integers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        whole = pc.equal(column, pc.round(column))
        if pc.all(whole, min_count=0).as_py() and pc.all(pc.less(pc.abs(column), 2.0**53), min_count=0).as_py():
            column = column.cast("int64")
    if pa.types.is_binary(column.type) or not pa.types.is_string(column.type):
        column = column.cast("string")
    return pc.utf8_trim_whitespace(column)


def without_gaps(source: Source, texts: Any) -> Any:
    """Texts, with null in place of empty ones and those of --na."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_gap = pc.is_in(texts, value_set=pa.array(["", *source.na]))
    return pc.if_else(is_gap, pa.scalar(None, pa.string()), texts)


def _categories(column: Any) -> NDArray[Any]:
    """The cells of a categorical column: text, integers and booleans as they are, everything else as text."""
    kind = str(column.type)
    is_plain = kind in ("string", "large_string", "bool") or kind.startswith(("int", "uint", "dictionary"))
    return objects((column if is_plain else column.cast("string")).to_pylist())


def matched(cells: NDArray[Any], known: Collection[Any]) -> NDArray[Any]:
    """The category of each cell: an identical one, or the only one that is the same number or truth value.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array(["171", "A", None], dtype=object), ["0171", "A"]).tolist()
    ['0171', 'A', None]
    """
    from sepc.columns.recognition import is_gap_text

    exact = {value for value in known if isinstance(value, str)}
    times = Counter(_meaning(value) for value in known)
    by_meaning = {_meaning(value): value for value in known if value is not None and times[_meaning(value)] == 1}
    found = {cell: cell if cell in exact else by_meaning.get(_meaning(cell), cell) for cell in set(cells.tolist())}
    if None in known:
        found |= {
            cell: None for cell in found if isinstance(cell, str) and found[cell] not in known and is_gap_text(cell)
        }
    return objects([found[cell] for cell in cells.tolist()])


def _meaning(value: Any) -> Any:
    """A value that is equal for categories with the same meaning, whether text, a number or a truth value."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    if not is_number(text):
        return text
    # Doubles cannot represent all 64-bit integers, which have at most 20 digits.
    digits = text.lstrip("+-")
    return int(text) if digits.isdecimal() and len(digits) <= 20 else float(text)


def objects(cells: list[Any]) -> NDArray[Any]:
    """Cells as an array of objects, whatever their types."""
    import numpy as np

    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A DataFrame, or an error that says how to install pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError('This command needs pandas: pip install "sepc[table]"') from error
    return pd.DataFrame(columns)


def _numbers(source: Source, name: str, column: Any, first_row: int) -> NDArray[np.float64]:
    import numpy as np

    kind = reading_of(column.type)
    if kind is ColumnType.DATE:
        raise InputError(f"{source.name}, column {name!r} holds dates, not numbers.")
    if kind is ColumnType.TEXT:
        values = _numbers_of_texts(source, name, without_gaps(source, as_text(column)), first_row)
    else:
        values = column.cast("double", safe=False).to_numpy(zero_copy_only=False)
    is_missing = np.isin(values, source.gap_numbers)
    values = np.where(is_missing, np.nan, values) if is_missing.any() else values
    if np.isinf(values).any():
        row = first_row + int(np.isinf(values).argmax())
        raise InputError(f"{source.name}, row {row:,}, column {name!r} is infinite.")
    return np.asarray(values, dtype=np.float64)


def _numbers_of_texts(source: Source, name: str, texts: Any, first_row: int) -> NDArray[np.float64]:
    """Numbers from texts, with NaN for those that mean a missing value; raises if another is not a number."""
    import numpy as np
    import pyarrow as pa

    from sepc.columns.recognition import Written, is_gap_text

    if source.decimal != ",":
        with suppress(pa.ArrowInvalid):
            return np.asarray(texts.cast("double").to_numpy(zero_copy_only=False))
    cells = objects(texts.to_pylist())
    read = (Written.number("", ",", ".") if source.decimal == "," else Written.number()).read(cells)
    odd = next((i for i in np.flatnonzero(np.isnan(read)) if cells[i] is not None and not is_gap_text(cells[i])), None)
    if odd is not None:
        raise InputError(bad_cell_line(source, name, first_row + int(odd), cells[odd]))
    return np.asarray(read)


def _dates(source: Source, name: str, column: Any, first_row: int) -> NDArray[np.datetime64]:
    kind = reading_of(column.type)
    if kind is ColumnType.TEXT:
        texts = without_gaps(source, as_text(column))
        return dates_of(source, name, texts, source.dates.get(name, ""), first_row)
    if kind is ColumnType.NUMBER and column.null_count < len(column):
        raise InputError(f"{source.name}, column {name!r} holds numbers, not dates.")
    return naive(column)
