"""`sepc explain`: why rows were decided as they were, in words."""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Iterator
from typing import Any

from sepc.cli.errors import InputError
from sepc.cli.labelled_rows import names_in
from sepc.cli.model_file import Scorer, loaded, scorer_for
from sepc.cli.open_table import open_table
from sepc.cli.printing import say
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.source import add_table_arguments, source_of
from sepc.cli.tables import Batch, Table
from sepc.wording import counted

HELP = "say in words why rows were decided as they were"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    add_table_arguments(parser)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--row", type=_row, action="append", metavar="N", help="a row, counted from 1; may be repeated")
    chosen.add_argument("--worst", type=_row, default=5, metavar="N", help="the least trusted rows; 5 by default")
    parser.add_argument(
        "--features", type=names_in, metavar="A,B,C", help="the model's features, if it has no names for them"
    )


def _row(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows or of a row; they are counted from 1")
    return int(text)


def run(options: argparse.Namespace) -> None:
    """Find the rows and print their reasons."""
    estimator = loaded(options.model)
    with (
        open_table(source_of(options)) as table,
        ProgressBar(f"reading {table.source.name}", quiet=options.quiet) as bar,
    ):
        scorer = scorer_for(estimator, table, options.features)
        batches = _read(table, scorer, bar)
        found = (
            _asked_for(table, scorer, batches, options.row)
            if options.row
            else _worst(table, scorer, batches, options.worst)
        )
    say(options, "\n\n".join(f"Row {one['row']:,}: {one['why']}" for one in found), found)


def _read(table: Table, scorer: Scorer, bar: ProgressBar) -> Iterator[Batch]:
    for batch in table.batches(list(scorer.features), scorer.numbers):
        yield batch
        bar.tell_rows(batch.last_row, table.n_rows, batch.share)


def _asked_for(table: Table, scorer: Scorer, batches: Iterator[Batch], rows: list[int]) -> list[dict[str, Any]]:
    """What there is to say of some rows; others may have empty cells."""
    found: dict[int, dict[str, Any]] = {}
    n_rows = 0
    for batch in batches:
        n_rows = batch.last_row
        for row in rows:
            if batch.first_row <= row <= n_rows:
                found[row] = _told(row, _decided(table, scorer, batch.only(row))[0])
        if len(found) == len(set(rows)):
            return [found[row] for row in rows]
    missing = next(row for row in rows if row not in found)
    raise InputError(f"{table.source.name} has {counted(n_rows, 'row')}; there is no row {missing:,}.")


def _worst(table: Table, scorer: Scorer, batches: Iterator[Batch], n: int) -> list[dict[str, Any]]:
    """The rows with the least trust; of equals the first."""
    import numpy as np

    worst: list[tuple[float, int, Any]] = []
    for batch in batches:
        decisions = _decided(table, scorer, batch)
        least = np.argsort(decisions.trust, kind="stable")[:n]
        some = [(float(decisions.trust[i]), batch.first_row + int(i), decisions[[int(i)]]) for i in least]
        worst = heapq.nsmallest(n, worst + some, key=lambda one: one[:2])
    return [_told(row, decisions[0]) for _, row, decisions in worst]


def _decided(table: Table, scorer: Scorer, batch: Batch) -> Any:
    numbers = scorer.whole_numbers(table.source, batch, "Fill such cells, or ask for other rows with --row.")
    return scorer.decide(batch, numbers)


def _told(row: int, decision: Any) -> dict[str, Any]:
    return {
        "row": row,
        "label": decision.label,
        "trust": decision.trust,
        "accepted": decision.accepted,
        "cause": decision.cause.name,
        "why": decision.why(),
    }
