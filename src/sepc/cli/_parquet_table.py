"""Parquet tables, read one row group at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sepc.cli._memory import free_bytes
from sepc.cli._messages import InputError
from sepc.cli.source import Source
from sepc.cli.tables import Batch, ColumnType, batch_rows, check_width, reading_of
from sepc.wording import counted

# Bytes of a column read at a time. By default Arrow holds whole row groups, and with `pre_buffer` the whole file.
BUFFER_BYTES = 2**20
# Bytes of the footer, which describes each column of each row group: in memory it takes about twenty times as much.
LARGEST_FOOTER = 64 * 2**20
# Bytes of text in a batch; a dictionary in the file may repeat a long text millions of times.
MOST_TEXT = 2**28


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """A table in a Parquet file; standard input is held in memory, because Parquet is read from its end."""

    source: Source
    names: tuple[str, ...]
    n_rows: int | None
    file: Any
    texts: frozenset[str]

    @classmethod
    def of(cls, source: Source, stream: IO[bytes]) -> ParquetTable:
        """Read the footer."""
        given: Any = source.path
        if source.is_standard_input:
            given = stream = pa.BufferReader(_all_of(source, stream))
        _check_footer(source, stream)
        try:
            file = pq.ParquetFile(given, pre_buffer=False, buffer_size=BUFFER_BYTES)
            check_width(source, len(file.schema_arrow.names))
            texts = [field.name for field in file.schema_arrow if _is_string(field.type)]
            # Texts stay in their dictionaries until their length is known.
            file = pq.ParquetFile(
                given, pre_buffer=False, buffer_size=BUFFER_BYTES, metadata=file.metadata, read_dictionary=texts
            )
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{source.name} is not a Parquet file: {_shortened(error)}") from error
        names = tuple(file.schema_arrow.names)
        if file.metadata.num_rows <= 0 or not names:
            raise InputError(f"{source.name} has no rows.")
        return cls(source, names, file.metadata.num_rows, file, frozenset(texts))

    def kind_of(self, name: str) -> ColumnType:
        """What a column holds, according to its type."""
        return reading_of(self.file.schema_arrow.field(name).type)

    def batches(self, wanted: Sequence[str], readings: Mapping[str, ColumnType] | None = None) -> Iterator[Batch]:
        """The rows of some columns, in batches of at most `batch_rows` rows; `readings` are ignored."""
        self._refuse_nested(wanted)
        n_done, most = 0, batch_rows(len(wanted))
        for columns in _regrouped(self._read(list(wanted), most), most):
            first, n_done = n_done + 1, n_done + columns.num_rows
            arrays = {name: self._plain(name, columns.column(name)) for name in wanted}
            yield Batch(first, arrays, columns.num_rows, n_done / (self.n_rows or 1))

    def _read(self, wanted: list[str], most: int) -> Iterator[Any]:
        """One row group after another; given all at once, Arrow would hold the dictionaries of several."""
        for g in range(self.file.metadata.num_row_groups):
            yield from self.file.iter_batches(batch_size=most, row_groups=[g], columns=wanted)

    def _refuse_nested(self, wanted: Sequence[str]) -> None:
        for name in wanted:
            if pa.types.is_nested(self.file.schema_arrow.field(name).type):
                raise InputError(
                    f"{self.source.name}: column {name!r} holds lists or structures; sepc reads only plain columns."
                )

    def _plain(self, name: str, column: Any) -> Any:
        """A column with text decoded, unless the file itself has it as a dictionary; raises if it is too long."""
        if not pa.types.is_dictionary(column.type) or not _is_string(column.type.value_type):
            return column
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        if (pc.sum(lengths).as_py() or 0) > MOST_TEXT:
            raise InputError(
                f"{self.source.name}: column {name!r} holds more than {MOST_TEXT // 2**20} MB of text "
                f"in {counted(len(column), 'row')}; leave it out."
            )
        return column.dictionary_decode() if name in self.texts else column


def _is_string(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check_footer(source: Source, stream: IO[bytes]) -> None:
    """Raise if the footer declares itself too large to read; Arrow checks everything else."""
    stream.seek(0, os.SEEK_END)
    end = stream.tell()
    stream.seek(max(0, end - 8))
    n_bytes = int.from_bytes(stream.read(4), "little")
    if end >= n_bytes > LARGEST_FOOTER:
        raise InputError(
            f"{source.name}: its footer takes {n_bytes / 1e6:,.0f} MB, more than sepc reads. "
            "Write it with fewer columns or larger row groups."
        )


def _all_of(source: Source, stream: IO[bytes]) -> bytes:
    """All of standard input; raises if it does not fit in memory."""
    parts, left = [], free_bytes()
    while part := stream.read(BUFFER_BYTES):
        parts.append(part)
        # The parts and their sum are in memory together.
        if left is not None and 2 * len(parts) * BUFFER_BYTES > left:
            raise InputError(f"{source.name} does not fit in memory, as piped Parquet must; give a file instead.")
    return b"".join(parts)


def _regrouped(batches: Iterator[Any], most: int) -> Iterator[Any]:
    """The same rows, with the small batches of small row groups merged."""
    waiting: list[Any] = []
    for batch in _checked(batches):
        if waiting and sum(part.num_rows for part in waiting) + batch.num_rows > most:
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
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise InputError(f"The Parquet file is damaged: {_shortened(error)}") from error


def _shortened(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
