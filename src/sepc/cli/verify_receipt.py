"""`sepc verify-receipt`: verify that a model was fitted to the rows that an erasure left, and to no others."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli._erased_rows import left_table
from sepc.cli._memory import ProgressBar
from sepc.cli._messages import InputError, say
from sepc.cli._model_file import load_model
from sepc.cli.forget import add_reading_arguments, salts_beside
from sepc.cli.source import add_table_arguments
from sepc.tables.files import check_readable
from sepc.wording import counted

HELP = "verify the receipt of an erasure, with the rows that are left"
EXAMPLE = """example:
  sepc verify-receipt receipt.json model.sepc rest.parquet

The table has the rows that are left, in the order of the file that sepc forget wrote. The secrets of the receipt are
read from receipt.salts, or from the file of --salts.

exit code: 0 if all of it matches; 2 if not, or for wrong input; 1 for other errors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc verify-receipt`."""
    parser.add_argument("receipt", metavar="RECEIPT", help="a file written by sepc forget")
    parser.add_argument("model", metavar="MODEL", help="the model after the erasure")
    add_table_arguments(parser, what="the rows that are left")
    parser.add_argument("--salts", metavar="FILE", help="the secrets of the receipt; beside it by default")
    parser.add_argument("--target", metavar="COLUMN", help="the column of labels, if it has another name now")
    parser.add_argument("--no-refit", action="store_true", help="do not fit the model again; proves less, but is quick")
    add_reading_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Verify, or fail with the reason."""
    salts_file = options.salts or salts_beside(options.receipt)
    for path in (options.receipt, salts_file):
        check_readable(path)
    model = load_model(options.model)
    from sepc.lifecycle import Receipt, Salts, verify_receipt

    receipt, salts = Receipt.load(options.receipt), Salts.load(salts_file)
    X, y, n_rows = left_table(_as_read(options, receipt.reading), model, options.data)
    with ProgressBar("verifying", quiet=options.quiet):
        verify_receipt(receipt, model, X, y, salts, refit_model=not options.no_refit)
    rows = f"these {counted(n_rows, 'row')}"
    said = (
        f"{options.model} and {rows} are those of the receipt; the fit was not repeated."
        if options.no_refit
        else f"{options.model} was fitted to {rows} and to no others: another fit to them gives the same file."
    )
    were = "was" if receipt.n_erased == 1 else "were"
    said += f" {counted(receipt.n_erased, 'row')} of {receipt.n_before:,} {were} erased."
    facts = {"verified": True, "rows": n_rows, "n_erased": receipt.n_erased, "refitted": not options.no_refit}
    say(options, said, facts)


def _as_read(options: argparse.Namespace, reading: Any) -> argparse.Namespace:
    """The options, and where none is given, what the receipt says about the table."""
    given = vars(options).copy()
    for name in ("categorical", "na", "date"):
        told = reading.get(name)
        if not given[name] and isinstance(told, list) and all(isinstance(one, str) for one in told):
            given[name] = told
    given["target"] = options.target or reading.get("target")
    if not isinstance(given["target"], str):
        raise InputError("The receipt does not name the column of labels; give --target.")
    if reading.get("missing") == "drop":
        given["missing"] = "drop"
    return argparse.Namespace(**given)
