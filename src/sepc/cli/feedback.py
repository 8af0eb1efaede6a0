"""Feedback: rows with their true labels, which arrived after the model decided on them."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.memory import add_memory_argument
from sepc.cli.messages import InputError, complain
from sepc.cli.model_rows import add_model_arguments, rows_in_memory
from sepc.cli.source import add_table_arguments
from sepc.wording import counted


def add_feedback_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that read feedback."""
    add_model_arguments(parser)
    add_table_arguments(parser, what="feedback")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of true labels")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed; 0 by default")
    add_memory_argument(parser)


def read_feedback(options: argparse.Namespace, estimator: Any) -> tuple[Any, Any]:
    """Rows and labels; rows without a label are left out with a warning."""
    rows, _ = rows_in_memory(options, estimator, options.target)
    X, labels = rows.labelled()
    if not len(labels):
        raise InputError(f"{options.data}, column {options.target!r} holds no label.")
    if len(labels) < len(rows):
        complain(f"warning: {counted(len(rows) - len(labels), 'row')} of {options.data} without a label left out")
    return X, labels
