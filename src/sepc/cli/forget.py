"""`sepc forget`: erase training rows from a model, with a receipt."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepc.cli._erased_rows import left_table, training_table, write_rest
from sepc.cli._memory import ProgressBar, add_memory_argument
from sepc.cli._messages import InputError, names_in, say
from sepc.cli._model_file import add_key_argument, load_model
from sepc.cli._written_files import check_writable
from sepc.cli.source import add_table_options
from sepc.tables.files import check_readable

if TYPE_CHECKING:
    from sepc.lifecycle import Erasure, Salts

HELP = "erase training rows from a model, with a receipt"
EXAMPLE = """example:
  sepc forget model.sepc --rows ids.csv --table training.parquet --target label \\
      --rest rest.parquet --output new.sepc --receipt receipt.json

ids.csv has a column of the table, which identifies rows, and the values of the rows to erase; or a column named row,
with the numbers of the rows, counted from 1. The other rows are written to the file of --rest, and the model is fitted
again to that file. Secrets for sepc verify-receipt are written beside the receipt, in receipt.salts; keep them with the
rows. Give the options that the table was read with by sepc fit.

exit code: 0; 2 for wrong input; 1 for other errors
"""
SALTS = ".salts"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc forget`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    parser.add_argument("--rows", required=True, metavar="IDS", help="a CSV file that names the rows to erase")
    parser.add_argument(
        "--table", required=True, dest="data", metavar="TABLE", help="the training rows: a CSV or Parquet file"
    )
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    parser.add_argument("--rest", required=True, metavar="FILE", help="where to write the rows that are left")
    parser.add_argument("--output", required=True, metavar="MODEL", help="the model file to write, usually *.sepc")
    parser.add_argument("--receipt", required=True, metavar="FILE", help="the receipt to write, usually *.json")
    parser.add_argument(
        "--salts", metavar="FILE", help="the salts of the last erasure from this model, which are then deleted"
    )
    add_table_options(parser)
    add_reading_arguments(parser)
    add_key_argument(parser)


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options by which a table is read for a fit."""
    parser.add_argument(
        "--categorical", type=names_in, default=[], metavar="A,B", help="as for sepc fit, if the target was named there"
    )
    parser.add_argument(
        "--missing",
        choices=("use", "drop"),
        default="use",
        help="as for sepc fit: use rows with missing values, or not",
    )
    add_memory_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Erase the rows, and write the model, the receipt and its salts."""
    inputs = [name for name in (options.model, options.data, options.rows) if name is not None]
    names = {"--rest": options.rest, "--output": options.output, "--receipt": options.receipt}
    for option, path in names.items():
        check_writable(path, *inputs, option=option)
    for path in (options.rows, options.salts):
        if path is not None:
            check_readable(path)
    model = load_model(options.model, options.key)
    _refuse_lost_parameters(options.model)
    from sepc.lifecycle import Salts
    from sepc.model_files import save

    salts = None if options.salts is None else Salts.load(options.salts)
    erasure = _erased(options, model, salts)
    save(erasure.model, options.output)
    erasure.receipt.save(options.receipt)
    beside = salts_beside(options.receipt)
    erasure.salts.save(beside)
    if options.salts is not None and not Path(options.salts).samefile(beside):
        os.unlink(options.salts)
    _say(options, erasure, beside)


def salts_beside(receipt: str) -> str:
    """The file with the salts of a receipt."""
    return os.path.splitext(receipt)[0] + SALTS


def _erased(options: argparse.Namespace, model: Any, salts: Salts | None) -> Erasure:
    from sepc.lifecycle.forget import (
        blocks_of,
        check_can_be_fitted_again,
        check_rows_of,
        digests_at,
        erasure_of,
        n_erased_before,
        refit,
        salts_before,
    )

    check_can_be_fitted_again(model)
    table = training_table(options, model)
    given = table.X, table.y
    check_rows_of(model, blocks_of(*given), lambda: refit(model, *given, None, n_erased_before(model)))
    erased, left = table.erased_and_left()
    before = salts_before(salts, blocks_of(*given), len(table.numbers))
    write_rest(options, table.rows_to_erase)
    gone = digests_at(erased, blocks_of(*given), before)
    X, y, n_rows = left_table(options, model, options.rest)
    if n_rows != len(left):
        raise InputError(f"{options.rest} was not read as it was written; give --separator or --encoding.")
    with ProgressBar("fitting", quiet=options.quiet):
        return erasure_of(model, before.left_after(left), X, y, None, gone, before, _reading(options))


def _reading(options: argparse.Namespace) -> dict[str, Any]:
    """How the table is read, so that whoever verifies the receipt need not be told."""
    lists = {name: list(getattr(options, name)) for name in ("categorical", "na", "date")}
    return {"target": options.target, "missing": options.missing, **lists}


def _refuse_lost_parameters(path: str) -> None:
    """Raise if a parameter of the model is not in its file, so that a fit could not be repeated."""
    from sepc.model_files import inspect

    lost = sorted(set(_lost(inspect(path).model)) - {"random_state"})
    if lost:
        raise InputError(
            f"{path} does not hold the parameter {lost[0]}, which has a value that no file can hold. Use "
            "sepc.lifecycle.forget in Python, with the model as it was fitted."
        )


def _lost(node: Any) -> list[str]:
    """The names of all parameters that a file does not hold."""
    if isinstance(node, list):
        return [name for part in node for name in _lost(part)]
    if not isinstance(node, dict):
        return []
    own = node.get("parameters")
    names = list(own.get("lost", {})) if isinstance(own, dict) else []
    return [*names, *(name for part in node.values() for name in _lost(part))]


def _say(options: argparse.Namespace, erasure: Erasure, salts: str) -> None:
    receipt = erasure.receipt
    written = {"model": options.output, "receipt": options.receipt, "salts": salts, "rest": options.rest}
    lines = [f"Written: the model to {options.output}, the rows that are left to {options.rest}, the receipt to"]
    lines.append(f"{options.receipt} and its secrets to {salts}, to be kept with the rows.")
    facts = {"n_before": receipt.n_before, "n_erased": receipt.n_erased, "n_after": receipt.n_after, **written}
    say(options, f"{erasure.summary()}\n{' '.join(lines)}", facts)
