"""`sepc forget` and `sepc verify-receipt`: erase training rows from a model, with a receipt that can be verified."""

from __future__ import annotations

import argparse
import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import InputError, say
from sepc.cli._model_file import load_model
from sepc.cli._model_rows import main_classifier
from sepc.cli._options import (
    KEY,
    LABELS,
    MEMORY,
    MODEL,
    MODEL_OUTPUT,
    Command,
    add,
    add_table,
    add_table_format,
    beside,
)
from sepc.cli._written_files import check_writable
from sepc.cli.fitting import plan_of
from sepc.cli.labelled_rows import LabelledTable, as_text
from sepc.cli.rows import open_table
from sepc.io.atomic_files import replacing
from sepc.tables.files import PACKED, check_readable
from sepc.tables.table_file import TableFile, read_table
from sepc.wording import counted, shown

if TYPE_CHECKING:
    from sepc.lifecycle import Erasure, Salts

# The file with the salts of a receipt ends so.
SALTS = ".salts"
# The column of the file of ids that holds row numbers instead of ids.
ROW = "row"
# Options of a fit that decide whether a file may be read in blocks, and that a fitted model does not need.
NOT_GIVEN: dict[str, Any] = {"by": [], "max_risk": None, "merge_labels": False, "test_last": 0.0, "test_size": 0.0}


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options by which a table is read for a fit."""
    add(parser, "--categorical A,B", "as for sepc fit, if the target was named there")
    add(
        parser,
        "--missing {use,drop}",
        "as for sepc fit: use rows with missing values, or not",
        default="use",
    )
    add(parser, *MEMORY)


def _read_as_fitted(options: argparse.Namespace, model: Any) -> tuple[Any, Any, Any]:
    """Features, labels and row numbers of a table, with the columns of a model, as `sepc fit` reads them."""
    import numpy as np

    from sepc.estimators.unwrapping import is_partition

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise InputError("The model has no feature names; use sepc.lifecycle.forget in Python.")
    by = [str(names[j]) for j in getattr(model, "by_", ())]
    inner = main_classifier(model).categorical_features
    declared = [] if inner is None or isinstance(inner, str) else [str(name) for name in inner]
    changed = vars(options) | {
        "features": [str(name) for name in names if str(name) not in by],
        "categorical": [*options.categorical, *declared],
        "drop": [],
        "use": [],
        **NOT_GIVEN,
    }
    chosen = argparse.Namespace(**changed)
    given = LabelledTable.of(chosen, by)
    if is_partition(model) and plan_of(given, chosen).in_blocks:
        return chosen.data, chosen.target, np.arange(1, (given.table.n_rows or 0) + 1)
    rows = given.read(chosen)
    return rows.X, rows.y, rows.numbers


def _rows_to_erase(options: argparse.Namespace, table: TableFile) -> set[int]:
    """The numbers of the rows that the file of ids names."""
    ids, source = read_table(options.rows, format="csv"), table.source
    if len(ids.names) != 1:
        raise InputError(f"{options.rows} has {len(ids.names)} columns; give a single one, of ids or row numbers.")
    name = ids.names[0]
    asked = {cell for cell in _texts(ids, name) if cell}
    if name == ROW and ROW not in table.names:
        if not asked or not all(cell.isdecimal() and int(cell) for cell in asked):
            raise InputError(f"{options.rows}: column {ROW!r} must hold row numbers, counted from 1.")
        return set(map(int, asked))
    table.check_names([name])
    cells = _texts(table, name)
    missing = sorted(asked - set(cells))
    if missing:
        raise InputError(
            f"{options.rows} names {shown(missing[0])}, which column {name!r} of {source.name} does not have."
        )
    if not asked:
        raise InputError(f"{options.rows} is empty.")
    return {number for number, cell in enumerate(cells, 1) if cell in asked}


def _texts(table: TableFile, name: str) -> list[str]:
    return [cell for batch in table.batches([name]) for cell in as_text(table, batch.columns[name])]


def _write_rest(options: argparse.Namespace, table: TableFile, erased: set[int]) -> None:
    """Write the table without some rows, in its own format and with all its columns."""
    form = "parquet" if options.rest.lower().endswith((".parquet", ".pq")) else "csv"
    if table.source.format != form:
        raise InputError(f"--rest {options.rest}: the name must end like that of {table.source.name}.")
    with replacing(options.rest) as path:
        if form == "csv":
            _write_csv(table, erased, path)
            return
        import numpy as np

        from sepc.points.streams import write_some

        left = np.setdiff1d(np.arange(table.n_rows or 0), np.array(sorted(erased), dtype=np.int64) - 1)
        write_some(table.source.path, options.target, left, path)


def _write_csv(table: TableFile, erased: set[int], path: str) -> None:
    """Copy a CSV file record by record, each as it is written."""
    source, taken = table.source, list[str]()

    def lines(stream: Any) -> Iterator[str]:
        for line in io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""):
            taken.append(line)
            yield line

    number = -1
    with source.opened() as stream, open(path, "w", encoding="utf-8", newline="") as out:
        for record in csv.reader(lines(stream), delimiter=source.separator or ","):
            number += bool(record)
            if not record or number not in erased:
                out.write("".join(taken))
            taken.clear()
    if number < max(erased):
        raise InputError(f"{source.name} has {counted(number, 'row')}, so there is no row {max(erased):,}.")


def _add_forget(parser: argparse.ArgumentParser) -> None:
    add(parser, *MODEL)
    add(parser, "--rows IDS", "a CSV file that names the rows to erase", required=True)
    add(parser, "--table TABLE", "the training rows: a CSV or Parquet file", required=True, dest="data")
    add(parser, *LABELS, required=True)
    add(parser, "--rest FILE", "where to write the rows that are left", required=True)
    add(parser, *MODEL_OUTPUT, required=True)
    add(parser, "--receipt FILE", "the receipt to write, usually *.json", required=True)
    add(parser, "--salts FILE", "the salts of the last erasure from this model, which are then deleted")
    add_table_format(parser)
    _add_reading(parser)
    add(parser, *KEY)


def _forget(options: argparse.Namespace) -> None:
    """Erase the rows, and write the model, the receipt and its salts."""
    names = {"--rest": options.rest, "--output": options.output, "--receipt": options.receipt}
    for option, path in names.items():
        check_writable(path, options.model, options.data, options.rows, option=option)
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
    with_salts = _salts_of(options.receipt)
    erasure.salts.save(with_salts)
    if options.salts is not None and not Path(options.salts).samefile(with_salts):
        os.unlink(options.salts)
    receipt = erasure.receipt
    said = f"{erasure.summary()}\nWritten: the model to {options.output}, the rows that are left to {options.rest}, "
    said += f"the receipt to {options.receipt} and its secrets to {with_salts}, to be kept with the rows."
    written = {"model": options.output, "receipt": options.receipt, "salts": with_salts, "rest": options.rest}
    facts = {"n_before": receipt.n_before, "n_erased": receipt.n_erased, "n_after": receipt.n_after, **written}
    say(options, said, facts)


def _salts_of(receipt: str) -> str:
    return os.path.splitext(receipt)[0] + SALTS


def _erased(options: argparse.Namespace, model: Any, salts: Salts | None) -> Erasure:
    import numpy as np

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
    table = open_table(options)
    source = table.source
    if source.format == "excel" or source.is_standard_input or source.path.endswith(PACKED):
        raise InputError(f"{source.name}: the table must be a CSV or Parquet file that is not compressed.")
    X, y, numbers = _read_as_fitted(options, model)
    rows_to_erase = _rows_to_erase(options, table)
    check_rows_of(model, blocks_of(X, y), lambda: refit(model, X, y, None, n_erased_before(model)))
    is_erased = np.isin(numbers, list(rows_to_erase))
    if not is_erased.any():
        raise InputError("None of these rows was used to fit the model, so there is nothing to erase from it.")
    before = salts_before(salts, blocks_of(X, y), len(numbers))
    _write_rest(options, table, rows_to_erase)
    gone, left = digests_at(np.flatnonzero(is_erased), blocks_of(X, y), before), np.flatnonzero(~is_erased)
    X, y, n_left = _read_as_fitted(beside(options, options.rest), model)
    if len(n_left) != len(left):
        raise InputError(f"{options.rest} was not read as it was written; give --separator or --encoding.")
    # How the table is read, so that whoever verifies the receipt need not be told.
    reading = {name: list(getattr(options, name)) for name in ("categorical", "na", "date")}
    reading = {"target": options.target, "missing": options.missing, **reading}
    with ProgressBar("fitting", quiet=options.quiet):
        return erasure_of(model, before.left_after(left), X, y, None, gone, before, reading)


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


def _add_verify_receipt(parser: argparse.ArgumentParser) -> None:
    add(parser, "RECEIPT", "a file written by sepc forget")
    add(parser, "MODEL", "the model after the erasure")
    add_table(parser, what="the rows that are left")
    add(parser, "--salts FILE", "the secrets of the receipt; beside it by default")
    add(parser, "--target COLUMN", "the column of labels, if it has another name now")
    add(parser, "--no-refit", "do not fit the model again; proves less, but is quick")
    _add_reading(parser)


def _verify_receipt(options: argparse.Namespace) -> None:
    """Verify, or fail with the reason."""
    salts_file = options.salts or _salts_of(options.receipt)
    for path in (options.receipt, salts_file):
        check_readable(path)
    model = load_model(options.model)
    from sepc.lifecycle import Receipt, Salts, verify_receipt

    receipt, salts = Receipt.load(options.receipt), Salts.load(salts_file)
    X, y, numbers = _read_as_fitted(_as_read(options, receipt.reading), model)
    with ProgressBar("verifying", quiet=options.quiet):
        verify_receipt(receipt, model, X, y, salts, refit_model=not options.no_refit)
    rows = f"these {counted(len(numbers), 'row')}"
    said = (
        f"{options.model} and {rows} are those of the receipt; the fit was not repeated."
        if options.no_refit
        else f"{options.model} was fitted to {rows} and to no others: another fit to them gives the same file."
    )
    were = "was" if receipt.n_erased == 1 else "were"
    said += f" {counted(receipt.n_erased, 'row')} of {receipt.n_before:,} {were} erased."
    facts = {"verified": True, "rows": len(numbers), "n_erased": receipt.n_erased, "refitted": not options.no_refit}
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


FORGET = Command(
    "erase training rows from a model, with a receipt",
    _add_forget,
    _forget,
    """example:
  sepc forget model.sepc --rows ids.csv --table training.parquet --target label \\
      --rest rest.parquet --output new.sepc --receipt receipt.json

ids.csv has a column of the table, which identifies rows, and the values of the rows to erase; or a column named row,
with the numbers of the rows, counted from 1. The other rows are written to the file of --rest, and the model is fitted
again to that file. Secrets for sepc verify-receipt are written beside the receipt, in receipt.salts; keep them with the
rows. Give the options that the table was read with by sepc fit.

exit code: 0; 2 for wrong input; 1 for other errors
""",
)
VERIFY_RECEIPT = Command(
    "verify the receipt of an erasure, with the rows that are left",
    _add_verify_receipt,
    _verify_receipt,
    """example:
  sepc verify-receipt receipt.json model.sepc rest.parquet

The table has the rows that are left, in the order of the file that sepc forget wrote. The secrets of the receipt are
read from receipt.salts, or from the file of --salts.

exit code: 0 if all of it matches; 2 if not, or for wrong input; 1 for other errors
""",
)
