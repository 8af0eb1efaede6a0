"""Rows of a table as two fitted models take them, batch by batch."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from sepc.cli.messages import InputError
from sepc.cli.model_rows import ModelRows, RowDigest, rows_in_batches
from sepc.cli.option_values import names_in
from sepc.cli.source import STANDARD_INPUT, add_table_arguments

if TYPE_CHECKING:
    from sepc.lifecycle.comparing.compare import RowBatch

MOST_GROUPS = 2


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
    from sepc.lifecycle.comparing.compare import RowBatch

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
