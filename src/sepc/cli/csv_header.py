"""The header of a CSV table, read without trusting that it ever ends."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import IO, Any

from sepc.cli.messages import InputError
from sepc.cli.source import Source
from sepc.cli.tables import check_width

# Bytes: 20,000 columns with names of 200 letters.
LONGEST_HEADER = 4 * 2**20

# How Parquet files begin, and Excel files, which are zip archives.
PARQUET_MARK, ZIP_MARK = b"PAR1", b"PK\x03\x04"
# The first bytes, which in a file of another format have a zero.
SHOWN_BYTES = 512


def read_header(source: Source, stream: IO[bytes]) -> tuple[str, ...]:
    """The column names, without a byte order mark; a column without a name is called by its position."""
    _refuse_other_formats(source, stream)
    lines = _lines(source, stream)
    try:
        names = next(csv.reader(lines, delimiter=source.separator or ",", strict=True, skipinitialspace=True), [])
    except UnicodeDecodeError as error:
        raise InputError(wrong_encoding(source, "the header")) from error
    except csv.Error as error:
        raise InputError(f"{source.name}: the header cannot be read as CSV: {error}.") from error
    if not names:
        raise InputError(f"{source.name} is empty.")
    check_width(source, len(names))
    return tuple(name if name.strip() else f"column {j}" for j, name in enumerate(names, start=1))


def wrong_encoding(source: Source, where: str) -> str:
    """An error message for bytes that are no text in the table's encoding."""
    encoding = source.encoding or "utf-8"
    return f"{source.name}: {where} is not {encoding} text; give its --encoding, such as latin-1 or cp1252."


def _lines(source: Source, stream: IO[bytes]) -> Iterator[str]:
    """The first lines, as many as the header has; a quoted name may run over several."""
    left = LONGEST_HEADER
    while line := stream.readline(left):
        left -= len(line)
        if left == 0:
            raise InputError(
                f"{source.name}: the header does not end within {LONGEST_HEADER // 2**20} MB. "
                "Check that it is CSV with a line of column names, and that every quote is closed."
            )
        yield line.decode("utf-8-sig")


def _refuse_other_formats(source: Source, stream: Any) -> None:
    first = stream.peek()[:SHOWN_BYTES]
    if first.startswith((PARQUET_MARK, ZIP_MARK)) or b"\0" in first:
        raise InputError(
            f"{source.name} is not CSV; if it is Parquet or Excel, give --format parquet or --format excel."
        )
