"""Sheets of Excel files, read row by row as if they were CSV."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import IO, Any

from sepc.cli.memory import free_bytes, in_gigabytes
from sepc.cli.messages import InputError
from sepc.wording import MOST_NAMES, did_you_mean, listed, shown

# The texts of all sheets are held in memory, where they take this many times their unpacked size.
TEXTS, COPIES = "xl/sharedStrings.xml", 10
# Raised by a file that is damaged or is not an Excel file.
DAMAGED = (zipfile.BadZipFile, KeyError, ValueError, OSError, EOFError, SyntaxError)


def excel_as_csv(path: str, name: str, sheet: str | None) -> IO[bytes]:
    """A sheet as a stream of CSV: the first one, or the one with this name."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise ImportError('Excel files need openpyxl: pip install "sepc[excel]"') from error
    try:
        _refuse_too_much_text(path, name)
        book = load_workbook(path, read_only=True, data_only=True)
    except DAMAGED as error:
        raise InputError(f"{name} cannot be read as an Excel file: {' '.join(str(error).split())[:160]}") from error
    try:
        return io.BufferedReader(_Lines(name, book, _chosen(book, name, sheet)), 2**16)
    except InputError:
        book.close()
        raise


def _chosen(book: Any, name: str, sheet: str | None) -> Any:
    """The first sheet of a workbook, or the one with this name."""
    sheets = {own.title: own for own in book.worksheets}
    if not sheets:
        raise InputError(f"{name} has no worksheet.")
    if sheet is not None and sheet not in sheets:
        known = listed(map(shown, sheets), MOST_NAMES)
        raise InputError(f"{name} has no sheet {sheet!r}; it has {known}.{did_you_mean([sheet], sheets)}")
    return next(iter(sheets.values())) if sheet is None else sheets[sheet]


def _refuse_too_much_text(path: str, name: str) -> None:
    with zipfile.ZipFile(path) as archive:
        n_bytes = sum(part.file_size for part in archive.infolist() if part.filename == TEXTS)
    free = free_bytes()
    if free is not None and COPIES * n_bytes > free:
        raise InputError(
            f"{name} holds {in_gigabytes(n_bytes)} of text, which does not fit in memory; save the sheet as CSV."
        )


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
            except DAMAGED as error:
                raise InputError(f"{self._name} is damaged: {' '.join(str(error).split())[:160]}") from error
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
