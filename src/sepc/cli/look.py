"""`sepc look`: what stands out in a table and its labels, before any model."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from sepc.cli._messages import say
from sepc.cli._options import Command, add, add_labelled_table
from sepc.cli.fitting import fitted
from sepc.cli.labelled_rows import LabelledRows, LabelledTable, named_columns
from sepc.wording import counted, decimal, name_of

# Longer tables are sampled: at most about this many rows are examined.
MOST_ROWS = 40_000
# Suspects to print; --json has all.
MOST_SHOWN = 20
WIDTH = 96
INDENT = "  "


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_table(parser)
    add(
        parser,
        "--suspects",
        "also name rows whose label is probably wrong, according to models fitted without these rows",
    )


def _run(options: argparse.Namespace) -> None:
    """Read the table, or evenly spaced rows of a long one, and print what stands out."""
    from sepc.looking.look import look

    rows = LabelledTable.of(options).read(options, MOST_ROWS)
    findings = look(rows.X, rows.y, n_rows=rows.n_rows - rows.n_dropped)
    which = "" if options.missing == "drop" else " without a label"
    dropped = f"; {counted(rows.n_dropped, 'row')}{which} left out" if rows.n_dropped else ""
    text = "\n".join([f"{findings.title}{dropped}", *map(_paragraph, findings)])
    facts: dict[str, Any] = {
        "rows": rows.n_rows,
        "looked_at": findings.n_looked_at,
        "findings": [finding.to_dict() for finding in findings],
    }
    if options.suspects:
        found = _suspects(rows, options)
        text += f"\n{found.title}\n{_rows_of(found, rows)}"
        facts["suspects"] = found.to_dict() | {"row": rows.numbers[found.rows]}
    say(options, text, facts)


def _paragraph(finding: Any) -> str:
    return textwrap.fill(str(finding), WIDTH, initial_indent=INDENT, subsequent_indent=2 * INDENT)


def _suspects(rows: LabelledRows, options: argparse.Namespace) -> Any:
    """Rows whose label is probably wrong, as positions among those that were read."""
    from sepc.estimators.sep.estimator import SEPClassifier
    from sepc.looking.suspects import suspects

    estimator = SEPClassifier(out_of_fold=True, **named_columns(options))
    return suspects(fitted(estimator, rows.X, rows.y, len(rows.y), quiet=options.quiet), rows.y)


def _rows_of(found: Any, rows: LabelledRows) -> str:
    cells = zip(rows.numbers[found.rows], found.given, found.likely, found.probability, strict=True)
    lines = [
        f"{INDENT}row {row:,}: labelled {name_of(given)}, probably {name_of(likely)} ({decimal(p)})"
        for row, given, likely, p in list(cells)[:MOST_SHOWN]
    ]
    more = len(found) - len(lines)
    return "\n".join([*lines, *([f"{INDENT}and {counted(more, 'row')} more; --json has all"] if more else [])])


LOOK = Command("show what stands out in a table and its labels, before any model", _add_arguments, _run)
