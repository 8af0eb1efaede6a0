"""Parquet tables, read a few row groups at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sepc.cli.messages import InputError
from sepc.cli.source import Source
from sepc.cli.tables import BATCH_ROWS, BadCell, Batch, is_number

# Bytes of a column read at a time. By default Arrow holds whole row groups, and with `pre_buffer` the whole file.
BUFFER_BYTES = 2**20


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A table in a Parquet file; standard input is held in memory, since Parquet is read from its end."""

    source: Source
    names: tuple[str, ...]
    n_rows: int | None
    file: Any

    @classmethod
    def of(cls, source: Source, stream: IO[bytes]) -> ParquetTable:
        """Read the footer."""
        given = pa.BufferReader(stream.read()) if source.is_standard_input else source.path
        try:
            file = pq.ParquetFile(given, pre_buffer=False, buffer_size=BUFFER_BYTES)
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{source.name} is not a Parquet file: {_shortened(error)}") from error
        names = tuple(file.schema_arrow.names)
        if file.metadata.num_rows == 0 or not names:
            raise InputError(f"{source.name} has no rows.")
        return cls(source, names, file.metadata.num_rows, file)

    def holds_numbers(self, name: str) -> bool:
        """Whether a column has a numeric or boolean type."""
        kind = self.file.schema_arrow.field(name).type
        return bool(
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_decimal(kind)
        )

    def first_bad_cell(self, name: str) -> BadCell | None:
        """The first cell of a text column that is not a number."""
        if not pa.types.is_string(self.file.schema_arrow.field(name).type):
            return None
        for batch in self.batches([name], ()):
            cells = batch.columns[name].to_pylist()
            bad = [i for i, cell in enumerate(cells) if cell is not None and not is_number(cell)]
            if bad:
                return BadCell(batch.first_row + bad[0], cells[bad[0]], len(bad) < len(cells) / 2)
        return None

    def batches(self, wanted: Sequence[str], numbers: Collection[str], texts: Collection[str] = ()) -> Iterator[Batch]:
        """The rows of some columns, in batches of about `BATCH_ROWS`."""
        n_done = 0
        for columns in _regrouped(self.file.iter_batches(batch_size=BATCH_ROWS, columns=list(wanted))):
            first, n_done = n_done + 1, n_done + columns.num_rows
            arrays = {name: columns.column(name) for name in wanted}
            yield Batch(first, arrays, columns.num_rows, n_done / (self.n_rows or 1))


def _regrouped(batches: Iterator[Any]) -> Iterator[Any]:
    """The same rows, with the small batches of small row groups merged."""
    waiting: list[Any] = []
    for batch in _checked(batches):
        if waiting and sum(part.num_rows for part in waiting) + batch.num_rows > BATCH_ROWS:
            yield _joined(waiting)
            waiting = []
        waiting.append(batch)
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[Any]) -> Any:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _checked(batches: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from batches
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"The Parquet file is damaged: {_shortened(error)}") from error


def _shortened(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
