"""Tables as commands see them: names of columns, and batches of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sepc.cli.errors import InputError, nearest
from sepc.cli.source import Source
from sepc.wording import MOST_NAMES, listed, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows read and decided on at once: many, so that the few outside all ellipsoids are solved for together.
BATCH_ROWS = 2**17

# Signs that often stand between cells.
OTHER_SEPARATORS = {";": ";", "\t": "tab", "|": "|", ",": ","}


@dataclass(frozen=True)
class BadCell:
    """A cell that is no number, in a column that should hold them."""

    row: int | None
    value: str
    mostly_numbers: bool


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    first_row : int
        The number of the first; rows are counted from 1.
    columns : dict of str to pyarrow array
    n_rows : int
    share : float or None
        How much of the table has been read with this, if that is known.
    """

    first_row: int
    columns: dict[str, Any]
    n_rows: int
    share: float | None = None

    @property
    def last_row(self) -> int:
        """The number of the last."""
        return self.first_row + self.n_rows - 1

    def only(self, row: int) -> Batch:
        """The row of this number alone."""
        columns = {name: column.slice(row - self.first_row, 1) for name, column in self.columns.items()}
        return Batch(row, columns, 1)


class Table(Protocol):
    """A table that can be read in batches."""

    @property
    def source(self) -> Source:
        """Where it comes from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns, in order; a name may come twice."""

    @property
    def n_rows(self) -> int | None:
        """How many rows it has, if that is known before they are read."""

    def holds_numbers(self, name: str) -> bool:
        """Whether a column is one of numbers or truth values, as far as can be told without reading it."""

    def first_bad_cell(self, name: str) -> BadCell | None:
        """The first cell of a column that is neither empty nor a number."""

    def batches(self, wanted: Sequence[str], numbers: Collection[str], texts: Collection[str] = ()) -> Iterator[Batch]:
        """The rows of some columns; those of CSV that are named in `numbers` or `texts` as numbers or as they stand."""


def check_names(table: Table, wanted: Sequence[str]) -> None:
    """Raise unless every column wanted is there, and only once."""
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
    return f"{source.name} has no column {name!r}; it has {known}.{nearest(name, table.names)}"


def refuse_text(table: Table, features: Sequence[str], advice: str) -> None:
    """Raise if features hold text: a column of it by name, a stray cell among numbers by its place."""
    text = [name for name in features if not table.holds_numbers(name)]
    found = {name: table.first_bad_cell(name) for name in text}
    for name, cell in found.items():
        if cell is not None and cell.mostly_numbers:
            raise InputError(bad_cell_line(table.source, name, cell))
    if text:
        several = len(text) > 1
        columns = f"column{'s' if several else ''} {listed(map(shown, text), MOST_NAMES)}"
        raise InputError(
            f"{table.source.name}: {columns} hold{'' if several else 's'} text or dates, not numbers. {advice}"
        )


def bad_cell_line(source: Source, name: str, cell: BadCell) -> str:
    """Where a cell stands that is no number, and what it is."""
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
    """The columns as numbers, of shape (n, d), with NaN where a cell is empty."""
    import numpy as np

    columns = np.empty((len(names), batch.n_rows))
    for j, name in enumerate(names):
        column = batch.columns[name]
        if str(column.type) != "double":
            column = column.cast("double", safe=False)
        columns[j] = column.to_numpy(zero_copy_only=False)
    return columns.T


def refuse_missing(source: Source, batch: Batch, rows: NDArray[np.float64], names: Sequence[str], advice: str) -> None:
    """Raise if a cell is empty or infinite, saying which is the first."""
    import numpy as np

    bad = ~np.isfinite(rows)
    if not bad.any():
        return
    i, j = (int(one) for one in np.argwhere(bad)[0])
    what = "is empty or not a number" if np.isnan(rows[i, j]) else "is infinite"
    raise InputError(f"{source.name}, row {batch.first_row + i:,}, column {names[j]!r} {what}. {advice}")
