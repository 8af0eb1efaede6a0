"""The bytes of a table: formats, archives, encodings and Excel sheets."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from sepc.tables.free_memory import free_bytes, in_gigabytes
from sepc.wording import MOST_NAMES, did_you_mean, listed, shown

# The texts of all sheets are held in memory, where they take this many times their unpacked size.
TEXTS, COPIES = "xl/sharedStrings.xml", 10
# Raised by a file that is damaged or is not an Excel file.
DAMAGED_WORKBOOK = (zipfile.BadZipFile, KeyError, ValueError, OSError, EOFError, SyntaxError)


def excel_as_csv(path: str, name: str, sheet: str | None) -> IO[bytes]:
    """A sheet as a stream of CSV: the first one, or the one with this name."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError('Excel files need openpyxl: pip install "sepc[excel]"') from error
    try:
        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(part.file_size for part in archive.infolist() if part.filename == TEXTS)
        free = free_bytes()
        fits = free is None or COPIES * n_bytes <= free
        book = load_workbook(path, read_only=True, data_only=True) if fits else None
    except DAMAGED_WORKBOOK as error:
        raise ValueError(f"{name} cannot be read as an Excel file: {' '.join(str(error).split())[:160]}") from error
    if book is None:
        raise ValueError(
            f"{name} holds {in_gigabytes(n_bytes)} of text, which does not fit in memory; save the sheet as CSV."
        )
    try:
        return io.BufferedReader(_Lines(name, book, _chosen(book, name, sheet)), 2**16)
    except ValueError:
        book.close()
        raise


def _chosen(book: Any, name: str, sheet: str | None) -> Any:
    """The first sheet of a workbook, or the one with this name."""
    sheets = {own.title: own for own in book.worksheets}
    if not sheets:
        raise ValueError(f"{name} has no worksheet.")
    if sheet is not None and sheet not in sheets:
        known = listed(map(shown, sheets), MOST_NAMES)
        raise ValueError(f"{name} has no sheet {sheet!r}; it has {known}.{did_you_mean([sheet], sheets)}")
    return next(iter(sheets.values())) if sheet is None else sheets[sheet]


class _Lines(io.RawIOBase):
    """The rows of a sheet as lines of CSV; `close` also closes the workbook."""

    def __init__(self, name: str, book: Any, sheet: Any) -> None:
        super().__init__()
        self._name, self._book, self._waiting, self._lines = name, book, b"", _lines(sheet)

    def close(self) -> None:
        self._book.close()
        super().close()

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._waiting:
            try:
                line = next(self._lines, None)
            except DAMAGED_WORKBOOK as error:
                raise ValueError(f"{self._name} is damaged: {' '.join(str(error).split())[:160]}") from error
            if line is None:
                return 0
            self._waiting = line.encode()
        n = min(len(target), len(self._waiting))
        target[:n], self._waiting = self._waiting[:n], self._waiting[n:]
        return n


def _lines(sheet: Any) -> Iterator[str]:
    """Lines of CSV, without empty rows, and without trailing empty cells where the header is empty too."""
    # The size that the file declares may be wrong, and empty rows would be padded to it.
    sheet.reset_dimensions()
    width = 0
    for row in sheet.iter_rows(values_only=True):
        n = max((j + 1 for j, cell in enumerate(row) if cell not in (None, "")), default=0)
        if n == 0:
            continue
        width = width or n
        cells = [_text(cell) for cell in row[: max(n, width)]]
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells + [""] * (width - len(cells)))
        yield line.getvalue()


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime):
        # A date without a time is at midnight in Excel.
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ", "seconds")
    return cell.isoformat() if isinstance(cell, date) else str(cell)


# Byte order marks, longest first: that of UTF-32 begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# The number of first bytes that show a wide encoding without a mark: most letters then have a zero byte on one side.
SHOWN_BYTES = 512

# Bytes transcoded at a time.
CHUNK_BYTES = 2**18


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, however it is spelt."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def wide_encoding(first: bytes) -> str | None:
    """The encoding of text with two or four bytes for each letter, judging by its first bytes; None for any other.

    Examples
    --------
    >>> wide_encoding("id,label".encode("utf-16")), wide_encoding("id,label".encode("utf-16-be"))
    ('utf-16', 'utf-16-be')
    >>> wide_encoding(b"id,label") is None
    True
    """
    marked = next((name for mark, name in MARKS.items() if first.startswith(mark)), None)
    if marked is not None:
        return marked
    first = first[: min(len(first), SHOWN_BYTES) // 4 * 4]
    if not first:
        return None
    zeros = [first[j::4].count(0) / (len(first) // 4) for j in range(4)]
    for name, pattern in (("utf-32-le", "0111"), ("utf-32-be", "1110"), ("utf-16-le", "0101"), ("utf-16-be", "1010")):
        if all((share > 0.5) == (sign == "1") for share, sign in zip(zeros, pattern, strict=True)):
            return name
    return None


class AsUtf8(io.BufferedReader):
    """A stream of text in any encoding, read as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        import pyarrow as pa

        recoded = pa.transcoding_input_stream(pa.PythonFile(stream, "r"), encoding, "utf-8")
        super().__init__(recoded, CHUNK_BYTES)
        self._stream = stream

    def tell(self) -> int:
        """How far the original stream has been read."""
        return self._stream.tell()


STANDARD_INPUT = "-"
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".xlsx", ".xlsm"), "excel"),
}
PACKED = (".gz", ".zst")
# Raised by a damaged archive.
DAMAGED = (OSError, EOFError, zlib.error)
# Bytes read at a time; the first block shows how CSV is written.
BUFFER_BYTES = 2**16


@dataclass(frozen=True)
class Source:
    """A table to read."""

    path: str
    format: str
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    na: tuple[str, ...] = ()
    dates: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, path: str, form: str | None = None, **given: Any) -> Source:
        """The table at a path; raises unless its format is known and its file can be read."""
        suffix = Path(next((path.removesuffix(end) for end in PACKED if path.endswith(end)), path)).suffix.lower()
        form = form or ("csv" if path == STANDARD_INPUT else FORMATS.get(suffix))
        if path != STANDARD_INPUT:
            check_readable(path)
        if form is None and suffix == ".xls":
            raise ValueError(f"{path} is in the Excel format from before 2007; save it as .xlsx.")
        if form is None:
            raise ValueError(f"{path}: the format is not clear from the name; give --format csv, parquet or excel.")
        source = cls(path, form, **given)
        if form != "csv" and source.is_standard_input:
            raise ValueError("Only CSV can be read from standard input; give a file.")
        if source.sheet is not None and form != "excel":
            raise ValueError(f"--sheet {source.sheet!r}: {path} is not an Excel file.")
        sign = {"\\t": "\t", "tab": "\t"}.get(source.separator or "", source.separator)
        if sign is not None and len(sign.encode()) != 1:
            raise ValueError(f"--separator is {sign!r}; it must be a single character, or tab.")
        if sign == source.decimal == ",":
            raise ValueError("--separator and --decimal are both a comma; they must differ.")
        try:
            "".encode(source.encoding or "utf-8")
        except LookupError:
            raise ValueError(
                f"--encoding is {source.encoding!r}, which Python does not know; try utf-8, latin-1 or cp1252."
            ) from None
        return replace(source, separator=sign)

    @cached_property
    def gap_numbers(self) -> tuple[float, ...]:
        """Numbers that mean a missing value; --na -999 includes -999.0."""
        return tuple(float(text) for text in self.na if is_number(text))

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "standard input" if self.is_standard_input else self.path

    @property
    def is_standard_input(self) -> bool:
        """Whether it can be read only once."""
        return self.path == STANDARD_INPUT

    @property
    def n_bytes(self) -> int | None:
        """Its size; None for standard input, pipes, compressed files and Excel."""
        is_plain = self.format != "excel" and not self.path.endswith(PACKED)
        known = is_plain and not self.is_standard_input and Path(self.path).is_file()
        return os.path.getsize(self.path) if known else None

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Its bytes, from the beginning; Excel and CSV in another encoding are read as CSV in UTF-8."""
        if self.format == "excel":
            with excel_as_csv(self.path, self.name, self.sheet) as lines:
                yield lines
        elif self.is_standard_input:
            yield self._as_utf8(sys.stdin.buffer)
        else:
            with open(self.path, "rb") as file:
                yield self._as_utf8(_unpacked(self.path, file))

    def _as_utf8(self, stream: IO[bytes]) -> IO[bytes]:
        if self.format != "csv":
            return stream
        buffered = io.BufferedReader(cast(Any, stream), BUFFER_BYTES)
        try:
            encoding = self.encoding or wide_encoding(buffered.peek()) or "utf-8"
        except DAMAGED as error:
            raise ValueError(f"{self.name} cannot be read: {error}.") from error
        return buffered if is_utf8(encoding) else AsUtf8(buffered, encoding)


def _unpacked(path: str, file: IO[bytes]) -> IO[bytes]:
    if path.endswith(".gz"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file))
    if path.endswith(".zst"):
        from pyarrow import CompressedInputStream

        return cast(IO[bytes], CompressedInputStream(file, "zstd"))
    return file


def is_number(text: str) -> bool:
    """Whether a text can be read as a number.

    Examples
    --------
    >>> is_number("3.14"), is_number("3,14"), is_number("1_000")
    (True, False, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def check_readable(path: str) -> None:
    """Raise unless this is a readable file."""
    if os.path.isdir(path):
        raise ValueError(f"{path} is a directory; give a file.")
    if os.path.exists(path) and not os.path.isfile(path):
        return  # whoever reads it says what it is; opening a pipe waits for its other end
    try:
        with open(path, "rb"):
            pass
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist.") from None
    except PermissionError:
        raise ValueError(f"{path} cannot be read: permission denied.") from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}.") from None


# Rows per batch: many, because deciding in large batches is faster; fewer for wide tables, so that a batch takes at
# most 32 MB.
BATCH_ROWS = 2**17
BATCH_CELLS = 2**22


def batch_rows(n_columns: int) -> int:
    """Rows per batch of a table from which `n_columns` columns are read."""
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(1, n_columns)))
