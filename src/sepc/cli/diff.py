"""`sepc diff`: compare the decisions of two models on the rows of a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import WRONG_INPUT, say
from sepc.cli._model_file import in_words, load_model
from sepc.cli._model_rows import add_paired_arguments, paired_batches
from sepc.cli._written_files import check_result_file, write_result

if TYPE_CHECKING:
    from sepc.lifecycle.comparison import Comparison

HELP = "compare the decisions of two models on the rows of a table"
EXAMPLE = """example:
  sepc diff old.sepc new.sepc rows.csv --target label --group ward --output changes.html

A decision changes if its label, its acceptance or the cause of abstaining is another.

exit code, as of diff: 0 if no decision changes; 1 if some do; 2 for wrong input and all other errors
"""

CHANGED = 1
OTHER = WRONG_INPUT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc diff`."""
    add_paired_arguments(parser, target_is_required=False)
    parser.add_argument(
        "--output", metavar="FILE", help="an .html page, or a .csv or .parquet file with a row for each change"
    )


def run(options: argparse.Namespace) -> int:
    """Compare, print what changes, and return the exit code."""
    check_result_file(options, options.old, options.new, options.data)
    old, new = load_model(options.old), load_model(options.new)
    from sepc.lifecycle.compare import compare_batches

    found = compare_batches(old, new, paired_batches(options, old, new))
    written = write_result(found, options)
    say(options, f"{in_words(found, old)}{written}", _facts(found, options))
    return 0 if found.is_same else CHANGED


def _facts(found: Comparison, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "rows": found.n_rows,
        "changed": found.n_changed,
        "total": found.total.to_frame().drop(columns=["key", "name"]).to_dict("records")[0],
        "regions": found.regions.to_frame().to_dict("records"),
        "groups": found.groups.to_frame().to_dict("records"),
        "classes": found.classes.to_frame().to_dict("records"),
        "parts": found.to_frame("part").to_dict("records"),
        "terms": found.to_frame("column").to_dict("records"),
        "thresholds": {"old": found.thresholds[0], "new": found.thresholds[1]},
        "promises": {"old": list(found.promises[0]), "new": list(found.promises[1])},
        "output": options.output,
    }
