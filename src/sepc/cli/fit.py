"""`sepc fit`: from a table to a model file."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.facts import account, facts_of
from sepc.cli.fit_options import add_fit_arguments, check_fit_options, estimator_of, share, split
from sepc.cli.fitting import fitted
from sepc.cli.labelled_rows import add_labelled_arguments, read_labelled
from sepc.cli.output_file import check_writable
from sepc.cli.printing import say
from sepc.cli.source import add_table_arguments

HELP = "fit a model on a table and write it to a file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument("--output", required=True, metavar="MODEL", help="the model file; by custom it ends in .sepc")
    parser.add_argument(
        "--test-share", type=share, default=0.0, metavar="S", help="share of rows to hold out and test on"
    )
    add_fit_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Read, fit, save, and give an account."""
    check_fit_options(options)
    check_writable(options.output, options.data)
    rows = read_labelled(options, options.by)
    training, held_out = split(rows, options.test_share, options.seed)
    estimator = fitted(estimator_of(options), training, quiet=options.quiet)
    facts: dict[str, Any] = facts_of(estimator, training, held_out)
    _save(estimator, options.output)
    say(options, f"{account(facts)}\nWritten to {options.output}", facts | {"model": options.output})


def _save(estimator: Any, path: str) -> None:
    from sepc.model_files import save

    save(estimator, path)
