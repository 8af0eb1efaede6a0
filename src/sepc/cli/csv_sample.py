"""Rows from evenly spaced places in a long CSV file, so that `sepc look` need not read the whole file."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from sepc.cli.csv_table import CsvTable
from sepc.cli.labelled_rows import SampledRows, found_rows, read_sample
from sepc.cli.messages import InputError
from sepc.cli.tables import Table
from sepc.cli.text_encoding import AsUtf8

# In bytes; shorter files are read whole, in half a second.
SHORTEST_FILE = 32 * 2**20
# Sampling more than this share of a file saves little.
MOST_OF_FILE = 0.25
# Places to read from: many, because neighbouring rows are often alike.
N_PLACES = 1_000

# Lines that are not rows.
EMPTY = (b"\n", b"\r\n", b"\r")


def read_spread(table: Table, options: argparse.Namespace, most: int) -> SampledRows | None:
    """Read about `most` evenly spaced rows of a long CSV file; None if the whole file must be read.

    That is so for a short file, and if a sampled line has an odd number of quotes or cannot be read: to be sampled,
    every line must be one row.
    """
    lines = _lines(table, most) if isinstance(table, CsvTable) else None
    if not isinstance(table, CsvTable) or lines is None:
        return None
    sample = b"".join(lines)
    only = replace(table, head=sample, rest=io.BytesIO())
    try:
        read = read_sample(found_rows(only, options), options, len(lines))
    except InputError:
        return None
    if read.n_rows != sum(line not in EMPTY for line in lines):
        return None
    n_bytes = (table.source.n_bytes or 0) - _start(table)
    return replace(read, n_rows=round(n_bytes * read.n_rows / len(sample)), is_estimate=True)


def _start(table: CsvTable) -> int:
    """Where the first row begins in the file."""
    return table.rest.tell() - len(table.head)


def _lines(table: CsvTable, most: int) -> list[bytes] | None:
    """Whole lines from evenly spaced places in the file; None if it is short, or a line may not be a row."""
    n_bytes, row_bytes = table.source.n_bytes, len(table.head) / max(1, table.head.count(b"\n"))
    if n_bytes is None or isinstance(table.rest, AsUtf8):
        return None
    if n_bytes < max(SHORTEST_FILE, most * row_bytes / MOST_OF_FILE):
        return None
    lines: list[bytes] = []
    with open(table.source.path, "rb") as file:
        for block in _blocks(file, _start(table), n_bytes, round(most * row_bytes / N_PLACES)):
            own = block.splitlines(keepends=True)
            if not own or any(line.count(b'"') % 2 for line in own):
                return None
            lines += own
    return lines


def _blocks(file: IO[bytes], start: int, end: int, size: int) -> Iterator[bytes]:
    """Whole lines from each place; the first block begins with the first row, and the last ends with the last row."""
    for i in range(N_PLACES):
        place = start + i * (end - size - start) // (N_PLACES - 1)
        file.seek(place)
        block = file.read(size)
        first = 0 if i == 0 else block.find(b"\n") + 1
        is_last = i == N_PLACES - 1
        last = len(block) if is_last else block.rfind(b"\n") + 1
        yield block[first:last] + (b"\n" if is_last and not block.endswith(b"\n") else b"")
