"""`sepc export`: write a model as an ONNX file, or as an SQL statement."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from sepc.cli._messages import InputError, say
from sepc.cli._model_file import add_key_argument, load_model
from sepc.cli._written_files import check_writable
from sepc.io.atomic_files import replacing

HELP = "write a model as an ONNX file or an SQL statement, for programs without Python"

# Those of `sepc.sql`, which is not imported just to parse the command.
DIALECTS = ("duckdb", "postgres", "sqlite", "spark")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc export`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    add_key_argument(parser)
    parser.add_argument("--output", required=True, metavar="FILE", help="the file to write; SQL if it ends with .sql")
    parser.add_argument("--dialect", choices=DIALECTS, help="the SQL dialect to write")
    parser.add_argument(
        "--table", nargs="+", metavar="NAME", help="the table to decide on, preceded by its schema if any"
    )
    parser.add_argument("--terms", action="store_true", help="also output what each feature adds to the log-odds")


def run(options: argparse.Namespace) -> None:
    """Write the file and print its size."""
    is_sql = options.output.lower().endswith(".sql")
    if is_sql != (options.dialect is not None) or is_sql != (options.table is not None):
        raise InputError("--dialect and --table are for SQL: give both with an --output that ends with .sql.")
    check_writable(options.output, options.model)
    estimator = load_model(options.model, options.key)
    with replacing(options.output) as path:
        try:
            _export(estimator, Path(path), options)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from error
    n_bytes = os.path.getsize(options.output)
    say(options, f"Written to {options.output}, {n_bytes:,} bytes", {"output": options.output, "bytes": n_bytes})


def _export(estimator: Any, path: Path, options: argparse.Namespace) -> None:
    if options.dialect is None:
        from sepc.onnx.exporting import export

        export(estimator, path, terms=options.terms)
    else:
        from sepc.sql import exporting

        statement = exporting.export(estimator, options.dialect, options.table, terms=options.terms)
        path.write_text(statement, encoding="utf-8", newline="\n")
