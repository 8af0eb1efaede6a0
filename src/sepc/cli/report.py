"""`sepc report`: one HTML file, or words, on a table and a model of it."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.errors import InputError
from sepc.cli.fit_options import add_fit_arguments, check_fit_options, estimator_of, share, split
from sepc.cli.fitting import fitted
from sepc.cli.labelled_rows import LabelledRows, add_labelled_arguments, read_labelled
from sepc.cli.model_file import category_positions, loaded
from sepc.cli.output_file import check_writable
from sepc.cli.printing import say
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.source import add_table_arguments
from sepc.io.atomic_files import replacing

HELP = "report on a table, and on a model of it, as one HTML file or in words"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument("--output", metavar="FILE", help="the HTML file")
    parser.add_argument("--text", action="store_true", help="print the report in words")
    parser.add_argument(
        "--test-share", type=share, default=0.3, metavar="S", help="share of rows held out; 0.3 by default"
    )
    parser.add_argument("--title", help="of the report")
    add_fit_arguments(parser, or_file=True)


def run(options: argparse.Namespace) -> None:
    """Fit or load, report, and write."""
    if not (options.output or options.text or options.json):
        raise InputError("Give --output FILE for an HTML file, or --text for words.")
    if options.output:
        check_writable(options.output, options.data)
    estimator, rows, training = _of_file(options) if options.model else _of_fit(options)
    found = _reported(estimator, rows, training, options)
    facts = found.to_dict()
    if options.output:
        with replacing(options.output) as path:
            found.to_html(path)
        facts |= {"output": options.output}
    say(options, str(found) if options.text else f"Written to {options.output}", facts)


def _of_fit(options: argparse.Namespace) -> tuple[Any, LabelledRows, LabelledRows | None]:
    """A new model, the rows held out from it, and those it was fitted on."""
    check_fit_options(options)
    if not options.test_share:
        raise InputError(
            "--test-share is 0, which leaves no rows to report on; give a share, or a model file with --model."
        )
    training, held_out = split(read_labelled(options, options.by), options.test_share, options.seed)
    assert held_out is not None
    return fitted(estimator_of(options), training, quiet=options.quiet), held_out, training


def _of_file(options: argparse.Namespace) -> tuple[Any, LabelledRows, LabelledRows | None]:
    """A model from a file, and all rows of the table."""
    estimator = loaded(options.model)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    by = [names[j] for j in category_positions(estimator)] if names else []
    if names and options.features is None:
        options.features = [name for name in names if name not in by]
    rows = read_labelled(options, by)
    X = rows.X[names] if names else rows.X.to_numpy()
    if X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"{options.model} has {estimator.n_features_in_} features without names, but {options.data} has "
            f"{X.shape[1]} columns beside the target; name those it was fitted on with --features."
        )
    return estimator, LabelledRows(X, rows.y, rows.n_dropped), None


def _reported(estimator: Any, rows: LabelledRows, training: LabelledRows | None, options: argparse.Namespace) -> Any:
    from sepc.reporting.report import report

    known = {} if training is None else {"X_train": training.X, "y_train": training.y}
    with ProgressBar("reporting", quiet=options.quiet):
        return report(estimator, rows.X, rows.y, **known, title=options.title)
