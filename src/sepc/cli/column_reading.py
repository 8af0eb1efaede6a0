"""The features of a table, and its columns as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sepc.cli.dates import dates_of, naive
from sepc.cli.messages import InputError
from sepc.cli.source import Source, is_number
from sepc.cli.tables import Batch, ColumnType, bad_cell_line, reading_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Features:
    """The features of a table and how they are read.

    Attributes
    ----------
    readings : dict of name to ColumnType
        What each column is read as, in the order of the features.
    by : tuple of str
        Columns whose combinations of values have models of their own.
    categories : dict of name to set
        The categories that a model knows; a cell with the same meaning as one of them is read as that one.
    """

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
    """A column as an array of floats, dates or text, with NaN, NaT or None for missing values.

    Parameters
    ----------
    source : Source
    name : str
    column : pyarrow array
    reading : ColumnType
    first_row : int
        The number of its first row, for messages.
    """
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

    A column of codes may be text in one file and numbers in another: "0171" is then 171, and 3 may be 3.0. A text that
    means a missing value is one if it is no category, but a missing value is. Any other cell stays as it is.

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

    from sepc.columns.recognition import is_gap_text
    from sepc.columns.written import Written

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
