"""`sepc fit`: fit a model on a table and save it."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.facts import facts_of, rows_of_labels, summary_of
from sepc.cli.fitting import add_fit_arguments, check_fit_options, estimator_of, fitted, share, split
from sepc.cli.labelled_rows import add_labelled_arguments, found_features, read_rows
from sepc.cli.messages import say
from sepc.cli.open_table import open_table
from sepc.cli.parquet_fit import plan_of
from sepc.cli.source import add_table_arguments, check_writable, source_from

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
    estimator, facts = _fitted(options)
    _save(estimator, options.output)
    say(options, f"{summary_of(facts)}\nWritten to {options.output}", facts | {"model": options.output})


def _fitted(options: argparse.Namespace) -> tuple[Any, dict[str, Any]]:
    """Fit from the file if it is large and that can be done, else from memory."""
    with open_table(source_from(options)) as table:
        features = found_features(table, options, options.by)
        plan = plan_of(table, features, options)
        if plan.in_blocks:
            estimator, facts = _fitted_in_blocks(options, features.used, table.n_rows or 0)
            return estimator, facts | {"read": plan.words}
        rows = read_rows(table, features, options)
    training, held_out = split(rows, options.test_size, options.seed)
    estimator = fitted(estimator_of(options), training.X, training.y, len(training.y), quiet=options.quiet)
    names, n_rows = [str(name) for name in training.X.columns], rows_of_labels(training.y)
    facts = facts_of(estimator, names, n_rows, training.n_dropped, held_out)
    return estimator, facts | {"read": plan.words}


def _fitted_in_blocks(options: argparse.Namespace, names: list[str], n_rows: int) -> tuple[Any, dict[str, Any]]:
    estimator = fitted(estimator_of(options), options.data, options.target, n_rows, quiet=options.quiet)
    n_rows_of = dict(zip(estimator.classes_.tolist(), estimator.model_.class_counts.tolist(), strict=True))
    return estimator, facts_of(estimator, names, n_rows_of, 0, None)


def _save(estimator: Any, path: str) -> None:
    from sepc.model_files import save

    save(estimator, path)
