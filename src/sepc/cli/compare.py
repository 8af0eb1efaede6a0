"""`sepc diff` and `sepc check-plan`: a new model against the one in use, on the rows of a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import WRONG_INPUT, InputError, say
from sepc.cli._model_file import in_words, load_model
from sepc.cli._model_rows import ModelReader, ModelRows
from sepc.cli._options import MEMORY, TRUE_LABELS, Command, add, add_table
from sepc.cli._state_files import locked
from sepc.cli._written_files import check_result_file, write_result
from sepc.cli.rows import batches_of, open_table
from sepc.tables.files import check_readable

if TYPE_CHECKING:
    from sepc.lifecycle import PlanCheck
    from sepc.lifecycle.compare import RowBatch
    from sepc.lifecycle.comparison import Comparison

# Exit codes: some decisions change, or not every criterion of a plan passes.
CHANGED = NOT_PASSED = 1

MOST_GROUPS = 2


def _add_pair(parser: argparse.ArgumentParser, target: str, *, target_is_required: bool) -> None:
    """Add two models, and a table for both."""
    add(parser, "OLD", "the model file in use")
    add(parser, "NEW", "the model file that may replace it")
    add_table(parser)
    add(parser, "--features A,B,C", "the columns to use as features, if the models have no feature names")
    add(parser, TRUE_LABELS[0], target, required=target_is_required)
    add(parser, "--group A,B", "one or two columns whose values are groups")


def _rows_for_both(
    options: argparse.Namespace, old: Any, new: Any, *, in_memory: bool = False
) -> Iterator[tuple[ModelRows, ModelRows]]:
    """The rows of the table that the options name, some at a time, as either model takes them."""
    if len(options.group) > MOST_GROUPS:
        raise InputError(f"--group names {len(options.group)} columns; give one or two.")
    table = open_table(options)
    first = ModelReader.of(old, table, options.features, options.target, options.group)
    second = ModelReader.of(new, table, options.features, options.target)
    wanted, n_features = [*first.wanted, *second.wanted], len({*first.readings, *second.readings})
    with batches_of(table, wanted, n_features, options, in_memory=in_memory) as batches:
        for batch in batches:
            yield first.rows(batch), second.rows(batch)


def _row_batch(options: argparse.Namespace, rows: ModelRows, others: ModelRows, labels: Any) -> RowBatch:
    import numpy as np

    from sepc.estimators.selective.groups import keys_of
    from sepc.lifecycle.compare import RowBatch

    by = tuple(options.group)
    groups = keys_of(by, np.empty((len(rows), 0)), dict(rows.kept)) if by else None
    return RowBatch(rows.X, labels, groups, by, others.X)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    _add_pair(parser, "a column of true labels, as far as they are known", target_is_required=False)
    add(parser, "--output FILE", "an .html page, or a .csv or .parquet file with a row for each change")


def _diff(options: argparse.Namespace) -> int:
    """Compare, print what changes, and return the exit code."""
    check_result_file(options, options.old, options.new, options.data)
    old, new = load_model(options.old), load_model(options.new)
    from sepc.lifecycle.compare import compare_batches

    pairs = _rows_for_both(options, old, new)
    found = compare_batches(old, new, (_row_batch(options, *pair, pair[0].labels) for pair in pairs))
    written = write_result(found, options)
    say(options, f"{in_words(found, old)}{written}", _facts_of_diff(found, options))
    return 0 if found.is_same else CHANGED


def _facts_of_diff(found: Comparison, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "rows": found.n_rows,
        "changed": found.n_changed,
        "total": found.total.to_frame().drop(columns=["key", "name"]).to_dict("records")[0],
        "regions": found.regions.to_frame().to_dict("records"),
        "groups": found.groups.to_frame().to_dict("records"),
        "classes": found.classes.to_frame().to_dict("records"),
        "parts": found.to_frame("part").to_dict("records"),
        "thresholds": {"old": found.thresholds[0], "new": found.thresholds[1]},
        "promises": {"old": list(found.promises[0]), "new": list(found.promises[1])},
        "output": options.output,
    }


def _add_check_plan(parser: argparse.ArgumentParser) -> None:
    add(parser, "PLAN", "the plan, a .toml file")
    _add_pair(parser, TRUE_LABELS[1], target_is_required=True)
    add(parser, "--digest", "only print the digest of the rows, for the plan; nothing is judged")
    add(parser, "--output FILE", "an .html page, or a .csv or .parquet file with a row for each line")
    add(parser, *MEMORY)


def _check_plan(options: argparse.Namespace) -> int:
    """Judge, print the lines, and return the exit code."""
    check_result_file(options, options.plan, options.old, options.new, options.data)
    check_readable(options.plan)
    old, new = load_model(options.old), load_model(options.new)
    firsts, seconds = zip(*_rows_for_both(options, old, new, in_memory=True), strict=True)
    rows, others = ModelRows.joined(firsts), ModelRows.joined(seconds)
    _, labels = rows.labelled()
    if len(labels) < len(rows):
        raise InputError(
            f"{options.data}, column {options.target!r} lacks {len(rows) - len(labels):,} labels; a plan is judged on "
            "rows that all have one. Wait for them, or write the plan for a table without these rows."
        )
    table = _row_batch(options, rows, others, labels)
    if options.digest:
        from sepc.lifecycle.plan import key_in, row_digest

        digest = row_digest(key_in(options.plan), table.X, labels, table.groups)
        say(options, f'digest = "{digest}"', {"digest": digest, "rows": len(rows)})
        return 0
    from sepc.lifecycle.ledger import Ledger
    from sepc.lifecycle.plan_check import check_rows

    with ProgressBar("checking", quiet=options.quiet), locked(str(Ledger.beside(options.plan).path)):
        found = check_rows(options.plan, old, new, table)
    written = write_result(found, options)
    say(options, f"{found.summary()}{written}", _facts_of_plan(found, options))
    return 0 if found.passed else NOT_PASSED


def _facts_of_plan(found: PlanCheck, options: argparse.Namespace) -> dict[str, Any]:
    names = ("passed", "title", "lines", "look", "most_candidates", "is_repeated", "candidate")
    facts = {name: getattr(found, name) for name in names}
    return facts | {"ledger": found.ledger_head, "output": options.output}


DIFF = Command(
    "compare the decisions of two models on the rows of a table",
    _add_diff,
    _diff,
    """example:
  sepc diff old.sepc new.sepc rows.csv --target label --group ward --output changes.html

A decision changes if its label, its acceptance or the cause of abstaining is another.

exit code, as of diff: 0 if no decision changes; 1 if some do; 2 for wrong input and all other errors
""",
    other=WRONG_INPUT,
)
CHECK_PLAN = Command(
    "judge whether a new model may replace an old one, by a plan",
    _add_check_plan,
    _check_plan,
    """example:
  sepc check-plan change-plan.toml old.sepc new.sepc rows.csv --target label --group ward

Every candidate is written to a ledger beside the plan. To write a plan, fix the rows by their digest:
  sepc check-plan change-plan.toml old.sepc old.sepc rows.csv --target label --group ward --digest

exit code: 0 if every criterion passes; 1 if one does not, or the rows cannot decide it; 2 for wrong input and all other
errors, such as rows that a model was trained on
""",
    other=WRONG_INPUT,
)
