"""`sepc look`: what stands out in a table and its labels, before any model."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import replace
from typing import Any

from sepc.cli._messages import say
from sepc.cli.fitting import fitted
from sepc.cli.labelled_rows import (
    LabelledRows,
    SampledRows,
    add_labelled_arguments,
    labelled_table,
    named_columns,
    read_sample,
    read_spread,
)
from sepc.cli.source import add_table_arguments, open_table
from sepc.wording import counted, decimal, name_of

HELP = "show what stands out in a table and its labels, before any model"

# Longer tables are sampled: at most about this many rows are examined.
MOST_ROWS = 40_000
# Suspects to print; --json has all.
MOST_SHOWN = 20
WIDTH = 96
INDENT = "  "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc look`."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument(
        "--suspects",
        action="store_true",
        help="also name rows whose label is probably wrong, according to models fitted without these rows",
    )


def run(options: argparse.Namespace) -> None:
    """Read the table, or evenly spaced rows of a long one, and print what stands out."""
    table = open_table(options)
    # A long CSV file is not read in full unless --suspects needs row numbers.
    sample = None if options.suspects else read_spread(table, options, MOST_ROWS)
    sample = sample or read_sample(labelled_table(table, options), options, MOST_ROWS)
    n_rows, findings = _looked_at(sample)
    n_dropped = sample.rows.n_dropped
    rows = "row of the sample" if sample.is_estimate else "row"
    which = "" if options.missing == "drop" else " without a label"
    dropped = f"; {counted(n_dropped, rows, rows.replace('row', 'rows'))}{which} left out" if n_dropped else ""
    text = "\n".join([f"{findings.title}{dropped}", *map(_paragraph, findings)])
    facts: dict[str, Any] = {
        "rows": n_rows,
        "rows_are_estimated": sample.is_estimate,
        "looked_at": findings.n_looked_at,
        "findings": [finding.to_dict() for finding in findings],
    }
    if options.suspects:
        found = _suspects(sample, options)
        text += f"\n{found.title}\n{_rows_of(found, sample)}"
        facts["suspects"] = found.to_dict() | {"row": sample.numbers[found.rows]}
    say(options, text, facts)


def _looked_at(sample: SampledRows) -> tuple[int, Any]:
    """The number of rows of the table, rounded if estimated, and what stands out in the labelled ones."""
    n_dropped, n_kept = sample.rows.n_dropped, len(sample.rows.y)
    if not sample.is_estimate:
        return sample.n_rows, looked_at(sample.rows, sample.n_rows - n_dropped)
    n_labelled = _rounded(sample.n_rows * n_kept / (n_kept + n_dropped))
    return _rounded(sample.n_rows), replace(looked_at(sample.rows, n_labelled), is_estimate=True)


def _rounded(n: float) -> int:
    """A number rounded to two significant digits."""
    return int(float(f"{n:.1e}"))


def looked_at(rows: LabelledRows, n_rows: int | None = None) -> Any:
    """What stands out in these rows, which may be a sample of `n_rows`."""
    from sepc.looking.look import look

    return look(rows.X, rows.y, n_rows=n_rows)


def _paragraph(finding: Any) -> str:
    return textwrap.fill(str(finding), WIDTH, initial_indent=INDENT, subsequent_indent=2 * INDENT)


def _suspects(sample: SampledRows, options: argparse.Namespace) -> Any:
    """Rows whose label is probably wrong, as positions in the sample."""
    from sepc.estimators.sep.estimator import SEPClassifier
    from sepc.looking.suspects import suspects

    X, y = sample.rows.X, sample.rows.y
    return suspects(
        fitted(SEPClassifier(out_of_fold=True, **named_columns(options)), X, y, len(y), quiet=options.quiet), y
    )


def _rows_of(found: Any, sample: SampledRows) -> str:
    cells = zip(sample.numbers[found.rows], found.given, found.likely, found.probability, strict=True)
    lines = [
        f"{INDENT}row {row:,}: labelled {name_of(given)}, probably {name_of(likely)} ({decimal(p)})"
        for row, given, likely, p in list(cells)[:MOST_SHOWN]
    ]
    more = len(found) - len(lines)
    return "\n".join([*lines, *([f"{INDENT}and {counted(more, 'row')} more; --json has all"] if more else [])])
