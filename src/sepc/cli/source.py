"""The options that name a table and say how it is written."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli._messages import names_in
from sepc.tables.table_file import TableFile, read_table


def add_table_arguments(parser: argparse.ArgumentParser, *, optional: bool = False, what: str = "") -> None:
    """Add the arguments of every command that reads a table; `what` says which rows it holds."""
    files = f"{what}: a CSV" if what else "a CSV"
    parser.add_argument(
        "data",
        metavar="DATA",
        nargs="?" if optional else None,
        help=f"{files}, Parquet or Excel file, or - for standard input",
    )
    add_table_options(parser)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a table is written."""
    table = parser.add_argument_group("table format")
    table.add_argument(
        "--format", choices=("csv", "parquet", "excel"), help="format of the file; by default, from the file extension"
    )
    table.add_argument(
        "--separator", metavar="CHAR", help="separator of a CSV file, a single character or tab; detected by default"
    )
    table.add_argument(
        "--decimal",
        choices=(".", ","),
        metavar="CHAR",
        help="decimal separator of a CSV file, a point or a comma; detected by default",
    )
    table.add_argument("--encoding", help="text encoding of a CSV file; by default utf-8, or utf-16 if detected")
    table.add_argument("--sheet", metavar="NAME", help="sheet of an Excel file; the first by default")
    table.add_argument(
        "--na",
        type=names_in,
        default=[],
        metavar="A,B",
        help="cells that mean a missing value in any column, such as -999, besides empty ones; in numbers and dates, "
        "NA, ?, -, unknown and the like always do",
    )
    table.add_argument(
        "--date",
        type=names_in,
        default=[],
        metavar="A,B=FORMAT",
        help="columns of text that hold dates, with a format such as %%d/%%m/%%Y if it cannot be detected",
    )


def open_table(options: argparse.Namespace, path: str | None = None) -> TableFile:
    """The table that the options name, or one at another path that is written alike; raises if it cannot be read."""
    dates = dict(name.split("=", 1) if "=" in name else (name, "") for name in options.date)
    names: tuple[str, ...] = ("format", "separator", "decimal", "encoding", "sheet", "na")
    given: dict[str, Any] = {name: getattr(options, name) for name in names}
    return read_table(options.data if path is None else path, dates=dates, **given)
