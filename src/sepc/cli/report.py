"""`sepc report`: a report on a model and held-out rows, as an HTML page or plain text."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import InputError, complain, names_in, say
from sepc.cli._model_file import add_key_argument, load_model
from sepc.cli._model_rows import joined, part_of, scorer_for
from sepc.cli._written_files import check_writable
from sepc.cli.fitting import (
    add_fit_arguments,
    add_held_out_arguments,
    check_fit_options,
    estimator_of,
    fitted,
    merged_words,
    split,
    split_words,
    with_merged_labels,
)
from sepc.cli.labelled_rows import (
    LabelledRows,
    add_labelled_arguments,
    check_labels,
    ids_in,
    kept_rows,
    read_labelled,
)
from sepc.cli.look import looked_at
from sepc.cli.rows import data_frame, is_gap
from sepc.cli.source import add_table_arguments, open_table
from sepc.io.atomic_files import replacing

HELP = "report on a model and held-out rows, as an HTML page or plain text"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc report`."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument("--output", metavar="FILE", help="the HTML file to write")
    parser.add_argument("--text", action="store_true", help="print the report as plain text")
    add_held_out_arguments(parser, by_default=0.3)
    parser.add_argument("--title", help="title of the report")
    parser.add_argument("--id", metavar="COLUMN", help="the column that identifies rows; it is not used as a feature")
    parser.add_argument(
        "--results-by",
        type=names_in,
        default=[],
        metavar="A,B",
        help="columns by which to break down results and filter rows; they need not be features",
    )
    add_fit_arguments(parser, or_file=True)
    add_key_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Fit or load a model, and write or print the report."""
    if not (options.output or options.text or options.json):
        raise InputError("Give --output FILE for an HTML page, or --text to print the report.")
    if options.output:
        check_writable(options.output, options.data)
    report = _from_file(options) if options.model else _from_fit(options)
    facts = report.to_dict()
    if options.output:
        with replacing(options.output) as path:
            report.to_html(path)
        facts |= {"output": options.output}
    say(options, str(report) if options.text else _in_short(report, options.output), facts)


def _in_short(report: Any, path: str) -> str:
    """Where the page is, the verdict of the report, and its warnings."""
    figures = report.figures
    from sepc.reporting.trust_check import alarms

    warnings = [f"Warning: {message}" for message in (*alarms(figures.checks), *figures.warnings)]
    return "\n".join([f"Written to {path}", figures.verdict, *warnings])


def _from_fit(options: argparse.Namespace) -> Any:
    """Fit a model, and report on the held-out rows."""
    check_fit_options(options)
    if not options.test_size and not options.test_last:
        raise InputError(
            "--test-size is 0, which leaves no rows to report on; give a share, or a model file with --model."
        )
    rows = read_labelled(options, options.by)
    findings = looked_at(rows)
    if options.merge_labels:
        rows, pairs = with_merged_labels(rows)
        complain(merged_words(pairs))
    training, held_out = split(rows, options)
    assert held_out is not None
    estimator = fitted(estimator_of(options), training.X, training.y, len(training.y), quiet=options.quiet)
    known = {"X_train": training.X, "y_train": training.y, "held_out_rows": split_words(options)}
    return _report(estimator, held_out, options, findings=findings, **known)


def _from_file(options: argparse.Namespace) -> Any:
    """Load a model, and report on all rows of the table."""
    import numpy as np

    estimator, table = load_model(options.model, options.key), open_table(options)
    table.check_names([options.target])
    scorer = scorer_for(estimator, table, options.features, but=[options.target, *options.drop, *ids_in(options)])
    beside = [*ids_in(options), *options.results_by]
    reader = scorer.reader(table, options.target, beside)
    with reader.batches(options, in_memory=True) as batches:
        part = joined([part_of(reader, batch) for batch in batches])
    gaps = {name: is_gap(values) for name, values in part.arrays.items()}
    kept = kept_rows(table.source, gaps, {options.target: part.labels}, options)
    arrays = {name: values[kept] for name, values in part.arrays.items()}
    y = np.array(part.labels[kept].tolist())
    check_labels(table, options.target, y)
    cells = {name: np.array(part.kept[name], dtype=object)[kept] for name in beside}
    findings = looked_at(LabelledRows(data_frame(arrays), y, 0))
    X = scorer.table(arrays)
    if hasattr(estimator, "feature_names_in_") and not hasattr(X, "columns"):
        X = data_frame(arrays)
    return _report(estimator, LabelledRows(X, y, 0, cells), options, findings=findings)


def _report(estimator: Any, rows: LabelledRows, options: argparse.Namespace, **known: Any) -> Any:
    from sepc.reporting.report import report

    with ProgressBar("reporting", quiet=options.quiet):
        by = {name: _numbers_if_all(rows.beside[name]) for name in options.results_by}
        return report(estimator, rows.X, rows.y, **known, title=options.title, id=rows.beside.get(options.id), by=by)


def _numbers_if_all(cells: Any) -> Any:
    """A column of text as numbers, if all its cells are numbers."""
    import numpy as np

    if cells.dtype.kind != "O":
        return cells
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return cells
