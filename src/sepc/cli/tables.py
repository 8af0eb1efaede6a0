"""Tables as commands see them: column names and batches of rows, whatever the file format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sepc.cli.messages import InputError, did_you_mean
from sepc.cli.source import Source
from sepc.wording import MOST_NAMES, listed, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows per batch: many, so that the few rows outside all ellipsoids are solved for together. Of wide tables fewer, so
# that a batch takes no more than 32 MB.
BATCH_ROWS = 2**17
BATCH_CELLS = 2**22

# The most columns of a table: each takes some kilobytes before a row is read, and no model could use more.
MOST_COLUMNS = 20_000

# Common separators, and how --separator spells them.
OTHER_SEPARATORS = {";": ";", "\t": "tab", "|": "|", ",": ","}


@dataclass(frozen=True)
class BadCell:
    """A cell that is not a number, in a column of numbers."""

    row: int | None
    value: str
    mostly_numbers: bool


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

    def holds_numbers(self, name: str) -> bool:
        """Whether a column holds numbers or booleans, judging by its type or its first rows."""

    def first_bad_cell(self, name: str) -> BadCell | None:
        """The first cell of a column that is neither empty nor a number."""

    def batches(self, wanted: Sequence[str], numbers: Collection[str], texts: Collection[str] = ()) -> Iterator[Batch]:
        """The rows of some columns; in CSV, `numbers` are parsed as floats and `texts` are kept as text."""


def batch_rows(n_columns: int) -> int:
    """Rows per batch of a table from which so many columns are read."""
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
    return f"{source.name} has no column {name!r}; it has {known}.{did_you_mean(name, table.names)}"


def refuse_text(table: Table, features: Sequence[str], advice: str) -> None:
    """Raise if features hold text; a stray cell in a column of numbers is named with its row."""
    text = [name for name in features if not table.holds_numbers(name)]
    for name in text:
        cell = table.first_bad_cell(name)
        if cell is not None and cell.mostly_numbers:
            raise InputError(bad_cell_line(table.source, name, cell))
    if text:
        several = len(text) > 1
        columns = f"column{'s' if several else ''} {listed(map(shown, text), MOST_NAMES)}"
        raise InputError(
            f"{table.source.name}: {columns} hold{'' if several else 's'} text or dates, not numbers. {advice}"
        )


def bad_cell_line(source: Source, name: str, cell: BadCell) -> str:
    """An error message for a cell that is not a number."""
    where = f"row {cell.row:,}, " if cell.row is not None else ""
    return f"{source.name}, {where}column {name!r}: {cell.value[:80]!r} is not a number."


def is_number(text: str) -> bool:
    """Whether a text can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def matrix(batch: Batch, names: Sequence[str]) -> NDArray[np.float64]:
    """The columns as an (n, d) array of floats, with NaN for empty cells."""
    import numpy as np

    columns = np.empty((len(names), batch.n_rows))
    for j, name in enumerate(names):
        column = batch.columns[name]
        if str(column.type) != "double":
            column = column.cast("double", safe=False)
        columns[j] = column.to_numpy(zero_copy_only=False)
    return columns.T


def refuse_missing(source: Source, batch: Batch, rows: NDArray[np.float64], names: Sequence[str], advice: str) -> None:
    """Raise if a cell is empty or infinite, naming the first."""
    import numpy as np

    bad = ~np.isfinite(rows)
    if not bad.any():
        return
    i, j = np.argwhere(bad)[0].tolist()
    what = "is empty or not a number" if np.isnan(rows[i, j]) else "is infinite"
    raise InputError(f"{source.name}, row {batch.first_row + i:,}, column {names[j]!r} {what}. {advice}")
