"""`sepc report`: a report on a model and held-out rows, as an HTML page or plain text."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.fitting import add_fit_arguments, check_fit_options, estimator_of, fitted, share, split
from sepc.cli.labelled_rows import LabelledRows, add_labelled_arguments, read_labelled
from sepc.cli.messages import InputError, say
from sepc.cli.model_file import load_model
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.source import add_table_arguments, check_writable
from sepc.io.atomic_files import replacing

HELP = "report on a model and held-out rows, as an HTML page or plain text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc report`."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument("--output", metavar="FILE", help="the HTML file to write")
    parser.add_argument("--text", action="store_true", help="print the report as plain text")
    parser.add_argument(
        "--test-size",
        type=share,
        default=0.3,
        metavar="S",
        help="share of rows to hold out and report on; 0.3 by default",
    )
    parser.add_argument("--title", help="title of the report")
    add_fit_arguments(parser, or_file=True)


def run(options: argparse.Namespace) -> None:
    """Fit or load a model, and write or print the report."""
    if not (options.output or options.text or options.json):
        raise InputError("Give --output FILE for an HTML page, or --text to print the report.")
    if options.output:
        check_writable(options.output, options.data)
    estimator, rows, training = _from_file(options) if options.model else _from_fit(options)
    report = _report(estimator, rows, training, options)
    facts = report.to_dict()
    if options.output:
        with replacing(options.output) as path:
            report.to_html(path)
        facts |= {"output": options.output}
    say(options, str(report) if options.text else f"Written to {options.output}", facts)


def _from_fit(options: argparse.Namespace) -> tuple[Any, LabelledRows, LabelledRows | None]:
    """Fit a model; return it with the held-out rows and the training rows."""
    check_fit_options(options)
    if not options.test_size:
        raise InputError(
            "--test-size is 0, which leaves no rows to report on; give a share, or a model file with --model."
        )
    training, held_out = split(read_labelled(options, options.by), options.test_size, options.seed)
    assert held_out is not None
    return fitted(estimator_of(options), training, quiet=options.quiet), held_out, training


def _from_file(options: argparse.Namespace) -> tuple[Any, LabelledRows, LabelledRows | None]:
    """Load a model; return it with all rows of the table."""
    estimator = load_model(options.model)
    names = [str(name) for name in getattr(estimator, "feature_names_in_", [])]
    from sepc.estimators.unwrapping import category_positions

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


def _report(estimator: Any, rows: LabelledRows, training: LabelledRows | None, options: argparse.Namespace) -> Any:
    from sepc.reporting.report import report

    known = {} if training is None else {"X_train": training.X, "y_train": training.y}
    with ProgressBar("reporting", quiet=options.quiet):
        return report(estimator, rows.X, rows.y, **known, title=options.title)
