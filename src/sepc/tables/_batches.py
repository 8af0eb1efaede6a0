"""Batches of rows from CSV, whose cells stay text, and from Parquet, one row group at a time."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sepc.tables.files import DAMAGED, Source, batch_rows
from sepc.wording import counted

# Most columns in a table: each takes some kilobytes before any row is read, and no model could use more.
MOST_COLUMNS = 20_000

# Bytes of CSV read at a time; larger blocks are no faster, and would hold millions of very short rows.
BLOCK_BYTES = 4 * 2**20
# In bytes: 20,000 columns with names of 200 letters.
LONGEST_HEADER = 4 * 2**20

# The first bytes of Parquet files, and of Excel files, which are zip archives.
PARQUET_MARK, ZIP_MARK = b"PAR1", b"PK\x03\x04"
# The number of first bytes in which a zero shows that the file is not CSV.
FORMAT_BYTES = 512

# Separators to try, the most common first, and rows from which the separator is detected.
SEPARATORS = (",", ";", "\t", "|")
SHOWN_ROWS = 20

# Bytes of a column of Parquet read at a time. By default Arrow holds whole row groups, and with `pre_buffer` the file.
BUFFER_BYTES = 2**20
# Bytes of the footer, which describes each column of each row group: in memory it takes about twenty times as much.
LARGEST_FOOTER = 64 * 2**20
# Bytes of text in a batch; a dictionary in the file may repeat a long text millions of times.
MOST_TEXT = 2**28

# Record batches of the wanted columns, in this order, each with the share of the file read so far, if known.
Batches = Generator[tuple[Any, float | None], None, None]


def _check_width(source: Source, n_columns: int) -> None:
    if n_columns > MOST_COLUMNS:
        raise ValueError(
            f"{source.name} has {n_columns:,} columns; sepc reads at most {MOST_COLUMNS:,}. "
            "Write the columns that you need to a smaller file."
        )


@dataclass(frozen=True, eq=False)
class CsvReader:
    """CSV, or an Excel sheet read as such; standard input can be read only once."""

    source: Source
    names: tuple[str, ...]
    n_rows: int | None = None
    waiting: list[Any] = field(default_factory=list)

    @classmethod
    def of(cls, source: Source) -> CsvReader:
        """Read the header."""
        opened = source.opened()
        stream = opened.__enter__()
        try:
            if source.separator is None:
                source = replace(source, separator=_separator(source, stream))
            names = _read_header(source, stream)
            reader = cls(source, names)
        except DAMAGED as error:
            raise ValueError(f"{source.name} cannot be read: {error}.") from error
        finally:
            if not source.is_standard_input:
                opened.__exit__(None, None, None)
        if source.is_standard_input:
            reader.waiting.append((opened, stream))
        return reader

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The rows, after the header."""
        if self.waiting:
            yield self.waiting.pop()[1]
        elif self.source.is_standard_input:
            raise ValueError("Standard input can be read only once; give a file.")
        else:
            with self.source.opened() as stream:
                _read_header(self.source, stream)
                yield stream

    def batches(self, wanted: Sequence[str]) -> Batches:
        """The rows of some columns, as text."""
        n_rows, size = 0, self.source.n_bytes
        with self.opened() as stream:
            for batch in self._parsed(wanted, stream):
                n_rows += batch.num_rows
                yield batch, min(1.0, stream.tell() / size) if size else None
        if n_rows == 0:
            raise ValueError(f"{self.source.name} has a header but no rows.")

    def _parsed(self, wanted: Sequence[str], stream: IO[bytes]) -> Iterator[Any]:
        # Arrow looks columns up by name, so they are named by position: names in the file may repeat.
        places = dict(zip(self.names, map(str, range(len(self.names))), strict=True))
        chosen, most = [places[name] for name in wanted], batch_rows(len(wanted))
        try:
            if not cast(Any, stream).peek(1):
                return
            blocks = pa_csv.open_csv(
                stream,
                pa_csv.ReadOptions(column_names=[str(j) for j in range(len(self.names))], block_size=BLOCK_BYTES),
                pa_csv.ParseOptions(delimiter=self.source.separator or ",", newlines_in_values=True),
                pa_csv.ConvertOptions(column_types=dict.fromkeys(chosen, pa.string()), include_columns=chosen),
            )
            for block in blocks:
                # A block of very short rows holds too many for one batch.
                yield from (block.slice(first, most) for first in range(0, block.num_rows, most))
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            raise ValueError(_unreadable(self.source, self.names, error)) from error
        except DAMAGED as error:
            raise ValueError(f"{self.source.name} cannot be read: {error}.") from error


def _separator(source: Source, stream: Any) -> str:
    if source.format == "excel":
        return ","
    likely = ";" if source.decimal == "," else "\t" if ".tsv" in source.path.lower() else ","
    return sniffed_separator(stream.peek(), likely)


def sniffed_separator(sample: bytes, first: str = ",") -> str:
    r"""The separator that splits the first rows into as many cells as the header; `first` if no other does better.

    Examples
    --------
    >>> sniffed_separator(b"name, first;age, years\nAda;36\nAlan;41\n"), sniffed_separator(b"x\n1\n")
    (';', ',')
    """
    lines = sample.decode("utf-8", errors="replace").removeprefix("\ufeff").splitlines(keepends=True)
    ordered = sorted(SEPARATORS, key=lambda sign: sign != first)
    return max(ordered, key=lambda sign: _agreement(lines, sign))


def _agreement(lines: Sequence[str], sign: str) -> tuple[float, int]:
    """The share of rows with as many cells as the header, if it has several, and the number of cells."""
    try:
        rows = [row for row, _ in zip(csv.reader(lines, delimiter=sign), range(SHOWN_ROWS + 2), strict=False) if row]
    except csv.Error:
        return 0.0, 0
    # The last row may have been cut off.
    header, *others = rows[:-1] if len(rows) > 2 else rows or [[]]
    if len(header) < 2:
        return 0.0, 0
    return sum(len(row) == len(header) for row in others) / max(1, len(others)), len(header)


def _read_header(source: Source, stream: Any) -> tuple[str, ...]:
    """The column names, without a byte order mark; a column without a name is named by its position."""
    first = stream.peek()[:FORMAT_BYTES]
    if first.startswith((PARQUET_MARK, ZIP_MARK)) or b"\0" in first:
        raise ValueError(
            f"{source.name} is not CSV; if it is Parquet or Excel, give --format parquet or --format excel."
        )
    lines = _header_lines(source, stream)
    try:
        names = next(csv.reader(lines, delimiter=source.separator or ",", strict=True, skipinitialspace=True), [])
    except UnicodeDecodeError as error:
        raise ValueError(_wrong_encoding(source, "the header")) from error
    except csv.Error as error:
        raise ValueError(f"{source.name}: the header cannot be read as CSV: {error}.") from error
    if not names:
        raise ValueError(f"{source.name} is empty.")
    _check_width(source, len(names))
    return tuple(name if name.strip() else f"column {j}" for j, name in enumerate(names, start=1))


def _header_lines(source: Source, stream: IO[bytes]) -> Iterator[str]:
    """The lines of the header; a quoted name may span several."""
    left = LONGEST_HEADER
    while line := stream.readline(left):
        left -= len(line)
        if left == 0:
            raise ValueError(
                f"{source.name}: the header does not end within {LONGEST_HEADER // 2**20} MB. "
                "Check that it is CSV with a line of column names, and that every quote is closed."
            )
        yield line.decode("utf-8-sig")


def _wrong_encoding(source: Source, where: str) -> str:
    """An error message for bytes that are not text in the table's encoding."""
    encoding = source.encoding or "utf-8"
    return f"{source.name}: {where} is not {encoding} text; give its --encoding, such as latin-1 or cp1252."


def _unreadable(source: Source, names: Sequence[str], error: Exception) -> str:
    # Arrow names the column only in the text of its error.
    text = " ".join(str(error).split())
    if cell := re.search(r"In CSV column #(\d+): .* invalid UTF8", text):
        return _wrong_encoding(source, f"column {names[int(cell[1])]!r}")
    if uneven := re.search(r"Expected (\d+) columns, got (\d+): (.*)", text):
        n, n_cells, row = uneven.groups()
        row = row if len(row) <= 60 else f"{row[:60]}..."
        return f"{source.name}: a row has {n_cells} cells where the header has {n}: {row!r}."
    if "straddl" in text:
        size = f"{BLOCK_BYTES // 2**20} MB"
        return f"{source.name}: a row does not end within {size}. Check that it is CSV and every quote is closed."
    if "UTF8" in text or isinstance(error, UnicodeDecodeError):
        return _wrong_encoding(source, "a cell")
    return f"{source.name} cannot be read as CSV: {text[:200]}."


@dataclass(frozen=True, eq=False)
class ParquetReader:
    """Parquet, one row group after another."""

    source: Source
    names: tuple[str, ...]
    n_rows: int | None
    file: Any
    texts: frozenset[str]

    @classmethod
    def of(cls, source: Source) -> ParquetReader:
        """Read the footer."""
        with source.opened() as stream:
            _check_footer(source, stream)
        options = {"pre_buffer": False, "buffer_size": BUFFER_BYTES}
        try:
            file = pq.ParquetFile(source.path, **options)
            names = tuple(file.schema_arrow.names)
            _check_width(source, len(names))
            texts = [column.name for column in file.schema_arrow if _is_string(column.type)]
            # Texts stay in their dictionaries until their length is known.
            file = pq.ParquetFile(source.path, metadata=file.metadata, read_dictionary=texts, **options)
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(f"{source.name} is not a Parquet file: {_shortened(error)}") from error
        if file.metadata.num_rows <= 0 or not names:
            raise ValueError(f"{source.name} has no rows.")
        return cls(source, names, file.metadata.num_rows, file, frozenset(texts))

    def batches(self, wanted: Sequence[str]) -> Batches:
        """The rows of some columns, in batches of at most `batch_rows` rows."""
        for name in wanted:
            if pa.types.is_nested(self.file.schema_arrow.field(name).type):
                raise ValueError(
                    f"{self.source.name}: column {name!r} holds lists or structures; sepc reads only plain columns."
                )
        n_done, most = 0, batch_rows(len(wanted))
        for columns in _regrouped(self._read(list(wanted), most), most):
            n_done += columns.num_rows
            arrays = [self._plain(name, columns.column(name)) for name in wanted]
            yield pa.RecordBatch.from_arrays(arrays, names=list(wanted)), n_done / (self.n_rows or 1)

    def _read(self, wanted: list[str], most: int) -> Iterator[Any]:
        """One row group after another; given all at once, Arrow would hold the dictionaries of several."""
        try:
            for g in range(self.file.metadata.num_row_groups):
                yield from self.file.iter_batches(batch_size=most, row_groups=[g], columns=wanted)
        except (pa.ArrowInvalid, OSError, ValueError) as error:
            raise ValueError(f"The Parquet file is damaged: {_shortened(error)}") from error

    def _plain(self, name: str, column: Any) -> Any:
        """A column with text decoded, unless the file itself has it as a dictionary; raises if it is too long."""
        if not pa.types.is_dictionary(column.type) or not _is_string(column.type.value_type):
            return column
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        if (pc.sum(lengths).as_py() or 0) > MOST_TEXT:
            raise ValueError(
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
        raise ValueError(
            f"{source.name}: its footer takes {n_bytes / 1e6:,.0f} MB, more than sepc reads. "
            "Write it with fewer columns or larger row groups."
        )


def _regrouped(batches: Iterator[Any], most: int) -> Iterator[Any]:
    """The same rows, with the small batches of small row groups merged."""
    waiting: list[Any] = []
    for batch in batches:
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


def _shortened(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
