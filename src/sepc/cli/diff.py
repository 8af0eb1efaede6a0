"""`sepc diff`: compare the decisions of two models on the rows of a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import WRONG_INPUT, InputError, names_in, say
from sepc.cli._model_file import in_words, load_model
from sepc.cli._model_rows import ModelRows, RowDigest, rows_in_batches
from sepc.cli._written_files import check_result_file, write_result
from sepc.cli.source import add_table_arguments
from sepc.tables.files import STANDARD_INPUT

if TYPE_CHECKING:
    from sepc.lifecycle.compare import RowBatch
    from sepc.lifecycle.comparison import Comparison

HELP = "compare the decisions of two models on the rows of a table"
EXAMPLE = """example:
  sepc diff old.sepc new.sepc rows.csv --target label --group ward --output changes.html

A decision changes if its label, its acceptance or the cause of abstaining is another.

exit code, as of diff: 0 if no decision changes; 1 if some do; 2 for wrong input and all other errors
"""

CHANGED = 1
OTHER = WRONG_INPUT

MOST_GROUPS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc diff`."""
    add_paired_arguments(parser, target_is_required=False)
    parser.add_argument(
        "--output", metavar="FILE", help="an .html page, or a .csv or .parquet file with a row for each change"
    )


def run(options: argparse.Namespace) -> int:
    """Compare, print what changes, and return the exit code."""
    check_result_file(options, options.old, options.new, options.data)
    old, new = load_model(options.old), load_model(options.new)
    from sepc.lifecycle.compare import compare_batches

    found = compare_batches(old, new, paired_batches(options, old, new))
    written = write_result(found, options)
    say(options, f"{in_words(found, old)}{written}", _facts(found, options))
    return 0 if found.is_same else CHANGED


def _facts(found: Comparison, options: argparse.Namespace) -> dict[str, Any]:
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


def add_paired_arguments(parser: argparse.ArgumentParser, *, target_is_required: bool) -> None:
    """Add the arguments of commands that read a table for two models."""
    parser.add_argument("old", metavar="OLD", help="the model file in use")
    parser.add_argument("new", metavar="NEW", help="the model file that may replace it")
    add_table_arguments(parser)
    parser.add_argument(
        "--features",
        type=names_in,
        metavar="A,B,C",
        help="the columns to use as features, if the models have no feature names",
    )
    told = "the column of true labels" if target_is_required else "a column of true labels, as far as they are known"
    parser.add_argument("--target", required=target_is_required, metavar="COLUMN", help=told)
    parser.add_argument(
        "--group", type=names_in, default=[], metavar="A,B", help="one or two columns whose values are groups"
    )


def paired_batches(options: argparse.Namespace, old: Any, new: Any) -> Iterator[RowBatch]:
    """The rows of the table that the options name, as both models take them; the table is read once for each."""
    import numpy as np

    from sepc.estimators.selective.groups import keys_of
    from sepc.lifecycle.compare import RowBatch

    if options.data == STANDARD_INPUT:
        raise InputError("The table is read once for each model, so it cannot be standard input; give a file.")
    by = tuple(options.group)
    if len(by) > MOST_GROUPS:
        raise InputError(f"--group names {len(by)} columns; give one or two.")
    with (
        closing(rows_in_batches(options, old, options.target, RowDigest(), by)) as first,
        closing(rows_in_batches(options, new, options.target, RowDigest())) as second,
    ):
        for X, X_new, labels, kept in _aligned(first, second, by):
            cells = {name: np.array(kept[name], dtype=object) for name in by}
            groups = keys_of(by, np.empty((len(X), 0)), cells) if by else None
            yield RowBatch(X, labels, groups, by, X_new)


def _aligned(
    first: Iterator[ModelRows], second: Iterator[ModelRows], by: Sequence[str]
) -> Iterator[tuple[Any, Any, Any, dict[str, list[Any]]]]:
    """The same rows from both, although their batches may end at different rows."""
    other: ModelRows | None = None
    used = 0
    for rows in first:
        done = 0
        while done < len(rows):
            if other is None or used == len(other):
                other, used = next(second), 0
            n = min(len(rows) - done, len(other) - used)
            here, there = slice(done, done + n), slice(used, used + n)
            labels = None if rows.labels is None else rows.labels[here]
            yield rows.take(here), other.take(there), labels, {name: rows.kept[name][here] for name in by}
            done, used = done + n, used + n
