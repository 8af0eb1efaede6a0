"""Tables in any file format: column names, what columns hold, and batches of rows."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from sepc.cli.messages import InputError
from sepc.cli.source import Source
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
    """Some rows of a table.

    Attributes
    ----------
    first_row : int
        Number of the first row, counted from 1.
    columns : dict of str to pyarrow array
    n_rows : int
    share : float or None
        Share of the table that has been read after this batch, if known.
    """

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
