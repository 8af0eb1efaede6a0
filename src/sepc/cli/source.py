"""Input and output files: the table a command reads and how it is encoded, and whether files can be used."""

from __future__ import annotations

import argparse
import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from sepc.cli.messages import InputError
from sepc.cli.text_encoding import AsUtf8, is_utf8

STANDARD_INPUT = "-"
FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True)
class Source:
    """A table to read.

    Attributes
    ----------
    path : str
        "-" is standard input.
    format : {"csv", "parquet"}
    separator, encoding : str
        Only used for CSV.
    """

    path: str
    format: str
    separator: str = ","
    encoding: str = "utf-8"

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
        """Its size, if it is an uncompressed file."""
        known = not self.is_standard_input and not self.path.endswith(".gz") and Path(self.path).is_file()
        return os.path.getsize(self.path) if known else None

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Its bytes, from the beginning; CSV in another encoding is read as UTF-8."""
        if self.is_standard_input:
            yield self._as_utf8(sys.stdin.buffer)
            return
        with open(self.path, "rb") as file:
            yield self._as_utf8(cast(IO[bytes], gzip.GzipFile(fileobj=file)) if self.path.endswith(".gz") else file)

    def _as_utf8(self, stream: IO[bytes]) -> IO[bytes]:
        is_plain = self.format != "csv" or is_utf8(self.encoding)
        return stream if is_plain else cast(IO[bytes], AsUtf8(stream, self.encoding))


def add_table_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of every command that reads a table."""
    parser.add_argument("data", metavar="DATA", help="a CSV or Parquet file, or - for standard input")
    table = parser.add_argument_group("table format")
    table.add_argument("--format", choices=("csv", "parquet"), help="by default, as the file name ends")
    table.add_argument("--separator", metavar="CHAR", help="character between the cells of CSV; a comma by default")
    table.add_argument("--encoding", default="utf-8", help="text encoding of CSV; utf-8 by default")


def source_from(options: argparse.Namespace) -> Source:
    """The table that the options name; raises if it cannot be read."""
    path: str = options.data
    suffix = Path(path.removesuffix(".gz")).suffix.lower()
    form = options.format or ("csv" if path == STANDARD_INPUT else FORMATS.get(suffix))
    separator = _separator(options.separator or ("\t" if suffix == ".tsv" else ","))
    if path != STANDARD_INPUT:
        check_readable(path)
    if form is None:
        raise InputError(f"{path}: the format is not clear from the name; give --format csv or --format parquet.")
    return Source(path, form, separator, _encoding(options.encoding))


def check_readable(path: str) -> None:
    """Raise unless this is a readable file."""
    if os.path.isdir(path):
        raise InputError(f"{path} is a directory; give a file.")
    try:
        with open(path, "rb"):
            pass
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except PermissionError:
        raise InputError(f"{path} cannot be read: permission denied.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None


def check_writable(path: str, *inputs: str) -> None:
    """Raise if the output cannot be written, or is one of the inputs; called before any long work."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise InputError(f"--output {path} is a directory; give the name of a file.")
    if not folder.is_dir():
        raise InputError(f"--output {path}: there is no directory {str(folder)!r}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"--output {path}: the directory {str(folder)!r} is not writable.")
    for name in inputs:
        if target.exists() and os.path.exists(name) and target.samefile(name):
            raise InputError(f"--output {path} is also an input; give another name.")


def _separator(given: str) -> str:
    sign = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(sign.encode()) != 1:
        raise InputError(f"--separator is {given!r}; it must be a single character, or tab.")
    return sign


def _encoding(given: str) -> str:
    try:
        "".encode(given)
    except LookupError:
        raise InputError(
            f"--encoding is {given!r}, which Python does not know; try utf-8, latin-1 or cp1252."
        ) from None
    return given
