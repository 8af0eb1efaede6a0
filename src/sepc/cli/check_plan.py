"""`sepc check-plan`: judge whether a new model may replace an old one, by a plan."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from sepc.cli._memory import ProgressBar, add_memory_argument
from sepc.cli._messages import WRONG_INPUT, InputError, say
from sepc.cli._model_file import load_model
from sepc.cli._model_rows import ModelRows, rows_in_memory
from sepc.cli._state_files import locked
from sepc.cli._written_files import check_result_file, write_result
from sepc.cli.diff import add_paired_arguments
from sepc.tables.files import check_readable

if TYPE_CHECKING:
    from sepc.lifecycle import PlanCheck
    from sepc.lifecycle.compare import RowBatch

HELP = "judge whether a new model may replace an old one, by a plan"
EXAMPLE = """example:
  sepc check-plan change-plan.toml old.sepc new.sepc rows.csv --target label --group ward

Every candidate is written to a ledger beside the plan. To write a plan, fix the rows by their digest:
  sepc check-plan change-plan.toml old.sepc old.sepc rows.csv --target label --group ward --digest

exit code: 0 if every criterion passes; 1 if one does not, or the rows cannot decide it; 2 for wrong input and all other
errors, such as rows that a model was trained on
"""

NOT_PASSED = 1
OTHER = WRONG_INPUT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc check-plan`."""
    parser.add_argument("plan", metavar="PLAN", help="the plan, a .toml file")
    add_paired_arguments(parser, target_is_required=True)
    parser.add_argument(
        "--digest", action="store_true", help="only print the digest of the rows, for the plan; nothing is judged"
    )
    parser.add_argument(
        "--output", metavar="FILE", help="an .html page, or a .csv or .parquet file with a row for each line"
    )
    add_memory_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Judge, print the lines, and return the exit code."""
    check_result_file(options, options.plan, options.old, options.new, options.data)
    check_readable(options.plan)
    old, new = load_model(options.old), load_model(options.new)
    table = _table(options, old, new)
    if options.digest:
        return _print_digest(options, table)
    from sepc.lifecycle.ledger import Ledger
    from sepc.lifecycle.plan_check import check_rows

    with ProgressBar("checking", quiet=options.quiet), locked(str(Ledger.beside(options.plan).path)):
        found = check_rows(options.plan, old, new, table)
    written = write_result(found, options)
    say(options, f"{found.summary()}{written}", _facts(found, options))
    return 0 if found.passed else NOT_PASSED


def _table(options: argparse.Namespace, old: Any, new: Any) -> RowBatch:
    """The whole table with its labels and groups, as both models take it."""
    import numpy as np

    from sepc.estimators.selective.groups import keys_of
    from sepc.lifecycle.compare import RowBatch

    by = tuple(options.group)
    rows, _ = rows_in_memory(options, old, options.target, by)
    other, _ = rows_in_memory(options, new, options.target)
    cells = {name: np.array(rows.kept[name], dtype=object) for name in by}
    groups = keys_of(by, np.empty((len(rows), 0)), cells) if by else None
    return RowBatch(rows.X, _labels(rows, options), groups, by, other.X)


def _labels(rows: ModelRows, options: argparse.Namespace) -> Any:
    _, labels = rows.labelled()
    if len(labels) < len(rows):
        raise InputError(
            f"{options.data}, column {options.target!r} lacks {len(rows) - len(labels):,} labels; a plan is judged on "
            "rows that all have one. Wait for them, or write the plan for a table without these rows."
        )
    return labels


def _print_digest(options: argparse.Namespace, table: RowBatch) -> int:
    from sepc.lifecycle.plan import key_in, row_digest

    assert table.y is not None
    digest = row_digest(key_in(options.plan), table.X, table.y, table.groups)
    say(options, f'digest = "{digest}"', {"digest": digest, "rows": len(table.y)})
    return 0


def _facts(found: PlanCheck, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "passed": found.passed,
        "title": found.title,
        "lines": list(found.lines),
        "look": found.look,
        "most_candidates": found.most_candidates,
        "is_repeated": found.is_repeated,
        "candidate": found.candidate,
        "ledger": found.ledger_head,
        "output": options.output,
    }
