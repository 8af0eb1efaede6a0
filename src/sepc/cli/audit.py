"""`sepc audit`: compare the trust that a model claims with labels that arrived later."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import ALARM, say
from sepc.cli._model_file import in_words, load_model
from sepc.cli._model_rows import read_feedback
from sepc.cli._options import Command, add, add_feedback
from sepc.cli._written_files import check_result_file, write_result

if TYPE_CHECKING:
    from sepc.lifecycle import Audit


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_feedback(parser)
    add(parser, "--fdr S", "false discovery rate of the findings; 0.1 by default", default=0.1)
    add(parser, "--output FILE", "an .html page, or a .csv or .parquet file with a row for each region")


def _run(options: argparse.Namespace) -> int:
    """Audit, print what was found, and return the exit code."""
    check_result_file(options, options.model, options.data)
    estimator = load_model(options.model, options.key)
    X, y = read_feedback(options, estimator)
    from sepc.lifecycle import audit

    with ProgressBar("auditing", quiet=options.quiet):
        found = audit(estimator, X, y, fdr=options.fdr, random_state=options.seed)
    written = write_result(found, options)
    say(options, f"{in_words(found, estimator)}{written}", _facts(found, options))
    is_changed = any(column.is_guessed for column in found.columns)
    return ALARM if found.overall.fails or len(found.to_repair) or found.disjuncts or is_changed else 0


def _facts(found: Audit, options: argparse.Namespace) -> dict[str, Any]:
    regions = found.to_frame()
    return {
        "rows": found.n_rows,
        "wrong": found.n_errors,
        "expected": found.expected,
        "fdr": found.fdr,
        "p_value": found.overall.p_value,
        "overall_fails": found.overall.fails,
        "columns": list(found.columns),
        "tested_regions": int(regions["tested"].sum()) if len(regions) else 0,
        "failing_regions": regions[regions["failing"]].to_dict("records") if len(regions) else [],
        "clusters": list(found.disjuncts),
        "output": options.output,
    }


AUDIT = Command(
    "compare the trust that a model claims with labels that arrived later",
    _add_arguments,
    _run,
    """example:
  sepc audit model.sepc feedback.csv --target label --output audit.html

Feedback means rows with their true labels, none of them from training.

exit code: 0 if nothing was found; 3 if the model fails overall or in a region, errors cluster somewhere, or a column
has changed, for example its unit; 2 for wrong input; 1 for other errors
""",
)
