"""`sepc fit`: fit a model on a table and save it."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.facts import facts_of, summary_of
from sepc.cli.fitting import add_fit_arguments, check_fit_options, estimator_of, fitted, share, split
from sepc.cli.labelled_rows import add_labelled_arguments, read_labelled
from sepc.cli.messages import say
from sepc.cli.source import add_table_arguments, check_writable

HELP = "fit a model on a table and write it to a file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc fit`."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument("--output", required=True, metavar="MODEL", help="the model file to write, usually *.sepc")
    parser.add_argument(
        "--test-size", type=share, default=0.0, metavar="S", help="share of rows to hold out for a test; 0 by default"
    )
    add_fit_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Read the table, fit, save, and print a summary."""
    check_fit_options(options)
    check_writable(options.output, options.data)
    rows = read_labelled(options, options.by)
    training, held_out = split(rows, options.test_size, options.seed)
    estimator = fitted(estimator_of(options), training, quiet=options.quiet)
    facts: dict[str, Any] = facts_of(estimator, training, held_out)
    _save(estimator, options.output)
    say(options, f"{summary_of(facts)}\nWritten to {options.output}", facts | {"model": options.output})


def _save(estimator: Any, path: str) -> None:
    from sepc.model_files import save

    save(estimator, path)
