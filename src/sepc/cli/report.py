"""`sepc report`: a report on a model and held-out rows, as an HTML page or plain text."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import InputError, complain, say
from sepc.cli._model_file import load_model
from sepc.cli._model_rows import ModelReader, ModelRows
from sepc.cli._options import KEY, Command, add, add_fit, add_held_out, add_labelled_table
from sepc.cli._written_files import check_writable
from sepc.cli.fitting import (
    check_fit_options,
    estimator_of,
    fitted,
    merged_words,
    split,
    split_words,
    with_merged_labels,
)
from sepc.cli.labelled_rows import LabelledRows, LabelledTable, check_labels, ids_in, kept_rows
from sepc.cli.rows import data_frame, is_gap, open_table
from sepc.io.atomic_files import replacing


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_table(parser)
    add(parser, "--output FILE", "the HTML file to write")
    add(parser, "--text", "print the report as plain text")
    add_held_out(parser, by_default=0.3)
    add(parser, "--title TITLE", "title of the report")
    add(parser, "--id COLUMN", "the column that identifies rows; it is not used as a feature")
    add(
        parser,
        "--results-by A,B",
        "columns by which to break down results and filter rows; they need not be features",
    )
    add_fit(parser, or_file=True)
    add(parser, *KEY)


def _run(options: argparse.Namespace) -> None:
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
    from sepc.looking.look import look

    rows = LabelledTable.of(options, options.by).read_for_fit(options)
    findings = look(rows.X, rows.y)
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

    from sepc.looking.look import look

    estimator, table = load_model(options.model, options.key), open_table(options)
    beside, but = [*ids_in(options), *options.results_by], [*options.drop, *ids_in(options)]
    reader = ModelReader.of(estimator, table, options.features, options.target, beside, but)
    with reader.batches(options, in_memory=True) as batches:
        rows = ModelRows.joined([reader.rows(batch) for batch in batches])
    assert rows.labels is not None
    gaps = {name: is_gap(values) for name, values in rows.arrays.items()}
    kept = kept_rows(table.source, gaps, {options.target: rows.labels}, options)
    arrays = {name: values[kept] for name, values in rows.arrays.items()}
    y = np.array(rows.labels[kept].tolist())
    check_labels(table, options.target, y)
    cells = {name: values[kept] for name, values in rows.kept.items()}
    findings = look(data_frame(arrays), y)
    X = reader.rows_for_model(arrays, named=True)
    return _report(estimator, LabelledRows(X, y, beside=cells), options, findings=findings)


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


REPORT = Command("report on a model and held-out rows, as an HTML page or plain text", _add_arguments, _run)
