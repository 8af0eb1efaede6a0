"""`sepc explain`: the reasons behind decisions, in words."""

from __future__ import annotations

import argparse
import heapq
from collections.abc import Callable, Iterator
from typing import Any

from sepc.cli._messages import InputError, names_in, say, whole_number
from sepc.cli._model_file import add_key_argument, load_model
from sepc.cli._model_rows import scorer_for
from sepc.cli.letter import add_letter_arguments, write_letter
from sepc.cli.recourse import add_recourse_arguments, explain_recourse
from sepc.cli.source import add_table_arguments, open_table
from sepc.tables.files import Source
from sepc.tables.table_file import Batch
from sepc.wording import counted, visible

Decider = Callable[[Batch], Any]

HELP = "explain in words why rows got their label and trust"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc explain`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    add_key_argument(parser)
    add_table_arguments(parser)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--row",
        type=whole_number,
        action="append",
        metavar="N",
        help="explain this row, counted from 1; may be repeated",
    )
    chosen.add_argument(
        "--worst", type=whole_number, default=5, metavar="N", help="explain the N least trusted rows; 5 by default"
    )
    parser.add_argument(
        "--features",
        type=names_in,
        metavar="A,B,C",
        help="the columns to use as features, if the model has no feature names",
    )

    add_recourse_arguments(parser)
    add_letter_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Find the rows and print their reasons, or what would have to change in them, or write a letter about one."""
    if options.letter:
        write_letter(options)
        return
    if options.recourse:
        explain_recourse(options)
        return
    estimator = load_model(options.model, options.key)
    table = open_table(options)
    scorer = scorer_for(estimator, table, options.features)
    rows = scorer.reader(table)

    def decided(batch: Batch) -> Any:
        return scorer.decide(rows.arrays(batch))

    with rows.batches(options) as batches:
        if options.row:
            explanations = _chosen(table.source, batches, decided, options.row)
        else:
            explanations = _worst(batches, decided, options.worst)
    say(options, "\n\n".join(f"Row {row['row']:,}: {visible(row['why'])}" for row in explanations), explanations)


def _chosen(source: Source, batches: Iterator[Batch], decided: Decider, rows: list[int]) -> list[dict[str, Any]]:
    """Explain the requested rows; cells of other rows are not checked."""
    explained: dict[int, dict[str, Any]] = {}
    n_rows = 0
    for batch in batches:
        n_rows = batch.last_row
        for row in rows:
            if batch.first_row <= row <= n_rows:
                explained[row] = _explanation(row, decided(batch.only(row))[0])
        if len(explained) == len(set(rows)):
            return [explained[row] for row in rows]
    missing = next(row for row in rows if row not in explained)
    raise InputError(f"{source.name} has {counted(n_rows, 'row')}; there is no row {missing:,}.")


def _worst(batches: Iterator[Batch], decided: Decider, n: int) -> list[dict[str, Any]]:
    """Explain the `n` least trusted rows; of rows with equal trust, the first."""
    import numpy as np

    worst: list[tuple[float, int, Any]] = []
    for batch in batches:
        decisions = decided(batch)
        least = np.argsort(decisions.trust, kind="stable")[:n]
        some = [(float(decisions.trust[i]), batch.first_row + int(i), decisions[[int(i)]]) for i in least]
        worst = heapq.nsmallest(n, worst + some, key=lambda row: row[:2])
    return [_explanation(row, decisions[0]) for _, row, decisions in worst]


def _explanation(row: int, decision: Any) -> dict[str, Any]:
    return {
        "row": row,
        "label": decision.label,
        "trust": decision.trust,
        "accepted": decision.accepted,
        "cause": decision.cause.name,
        "why": decision.why(),
    }
