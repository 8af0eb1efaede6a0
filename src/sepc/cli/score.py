"""`sepc score`: decide on every row of a table, batch by batch."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, cast

from sepc.cli._messages import InputError, names_in, say
from sepc.cli._model_file import add_key_argument, load_model
from sepc.cli._model_rows import Scorer, scorer_for
from sepc.cli._written_files import check_writable
from sepc.cli.monitor import open_monitor
from sepc.cli.rows import RowReader, is_gap, refuse_gaps
from sepc.cli.source import add_table_arguments, open_table
from sepc.io.atomic_files import replacing
from sepc.tables.table_file import Batch, TableFile
from sepc.wording import MOST_NAMES, counted, listed, percent, shown

# Returns the output columns of a batch, and counts of its rows.
Decider = Callable[[Batch], tuple[dict[str, Any], dict[str, int]]]

HELP = "decide on every row of a table: label, trust, accepted or not, and why not"
ADVICE = "Decide on such rows with --missing use, or leave them undecided with --missing leave."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc score`."""
    parser.add_argument("model", metavar="MODEL", help="a file written by sepc fit or sepc.save")
    add_key_argument(parser)
    add_table_arguments(parser)
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="a .csv or .parquet file to write, or - for CSV on standard output",
    )
    parser.add_argument(
        "--copy", type=names_in, default=[], metavar="A,B", help="columns to copy to the output, such as an id"
    )
    parser.add_argument(
        "--features",
        type=names_in,
        metavar="A,B,C",
        help="the columns to use as features, if the model has no feature names",
    )
    parser.add_argument(
        "--target",
        metavar="COLUMN",
        help="a column of true labels, if there is one, to report how many labels are right",
    )
    parser.add_argument(
        "--monitor",
        metavar="STATE",
        help="a state file of sepc monitor; abstain in regions where it found that a feature moved or a rate rose",
    )
    parser.add_argument(
        "--missing",
        choices=("use", "leave", "refuse"),
        default="use",
        help="rows with missing values: decide on them (use, the default), leave them undecided, or refuse the table",
    )
    parser.add_argument(
        "--raw-cells",
        action="store_true",
        help="in CSV, write text as it is, even if a spreadsheet would run it as a formula",
    )


def run(options: argparse.Namespace) -> None:
    """Read, decide and write in batches; the three run at the same time."""
    to_standard_output = options.output == "-"
    if to_standard_output and options.json:
        raise InputError("--json and --output - both write to standard output; choose one.")
    if not to_standard_output:
        check_writable(options.output, options.data, options.model)
    estimator = load_model(options.model, options.key)
    table = open_table(options)
    from sepc.cli.decision_files import DecisionWriter, output_format

    form = output_format(options.output)
    scorer = scorer_for(estimator, table, options.features)
    rows = scorer.reader(table, options.target, options.copy)
    ignored = _ignored(table, {*scorer.names, *rows.copied, options.target})
    with nullcontext("-") if to_standard_output else replacing(options.output) as path:
        writer = DecisionWriter(path, form, raw_cells=options.raw_cells)
        counts = _score(rows, _decider(rows, scorer, options), writer, options)
        writer.close()
    if not to_standard_output:
        remarks = [*ignored, *_remarks(estimator)]
        text = "\n".join([_words(counts, options.output), *remarks])
        say(options, text, counts | {"output": options.output} | ({"remarks": remarks} if remarks else {}))


def _ignored(table: TableFile, used: Collection[str]) -> list[str]:
    """Name the columns of a table that are neither used nor copied."""
    further = [shown(name) for name in table.names if name not in used]
    named = f"{counted(len(further), 'column')} that the model was not fitted to: {listed(further, MOST_NAMES)}"
    return [f"Ignored {named}"] if further else []


def _remarks(estimator: Any) -> list[str]:
    """What is to be said of an edited model; nothing for others."""
    from sepc.estimators.unwrapping import edits_in
    from sepc.model.edits import count_of_edits

    edits = edits_in(estimator)
    return [f"Edited model: {count_of_edits(edits)}; sepc inspect lists them."] if edits else []


def _score(rows: RowReader, decide: Decider, writer: Any, options: argparse.Namespace) -> Counter[str]:
    """Score all rows; return the numbers of rows, of accepted and undecided ones and, with labels, of right ones."""
    counts = Counter(rows=0, accepted=0, left_undecided=0)
    with rows.batches(options, "scoring", ahead=True) as batches, ThreadPoolExecutor(1) as pool:
        written: Future[None] | None = None
        for batch in batches:
            columns, some = decide(batch)
            if written is not None:
                written.result()
            written = pool.submit(writer.write, columns)
            counts.update(some)
        if written is not None:
            written.result()
    return counts


def _decider(rows: RowReader, scorer: Scorer, options: argparse.Namespace) -> Decider:
    """A function that returns the output columns of a batch, and counts of its rows."""
    import numpy as np

    from sepc.cli.decision_files import arrow_columns, columns_of
    from sepc.columns.preparation import UNREAD

    decided = scorer.decide if options.monitor is None else _monitored(scorer, options.monitor)

    def decide(batch: Batch) -> tuple[dict[str, Any], dict[str, int]]:
        arrays, complete = rows.arrays(batch), None
        gaps = {name: is_gap(values) for name, values in arrays.items()} if options.missing != "use" else {}
        if options.missing == "refuse":
            refuse_gaps(rows.source, batch.first_row + np.arange(batch.n_rows), gaps, ADVICE)
        elif gaps:
            complete = ~np.any(list(gaps.values()), axis=0)
        decisions = decided(arrays)
        accepted = np.asarray(decisions.accepted) if complete is None else decisions.accepted & complete
        found = columns_of(decisions)
        columns = arrow_columns(found | {"accepted": accepted}, complete)
        kept = {name: batch.columns[name] for name in rows.copied}
        if clash := set(kept) & set(columns):
            raise InputError(
                f"--copy names {min(clash)!r}, which is also a column of the decisions; rename it in the table."
            )
        n_left = 0 if complete is None else int(np.count_nonzero(~complete))
        counts = {"rows": batch.n_rows, "accepted": int(np.count_nonzero(accepted)), "left_undecided": n_left}
        if n_unread := sum(UNREAD in note for note in cast(Sequence[str], found.get("notes", ()))):
            counts["unread"] = n_unread
        if rows.target is not None:
            counts |= _compared(decisions.label, accepted, rows.labels(batch), complete)
        return kept | columns, counts

    return decide


def _monitored(scorer: Scorer, path: str) -> Callable[[dict[str, Any]], Any]:
    """Decide as the model does, but abstain in regions where the monitor raised an alarm that refuses rows."""
    monitor, _ = open_monitor(path, scorer.estimator)
    return lambda arrays: monitor.decide(scorer.table(arrays))


def _compared(label: Any, accepted: Any, true: Any, complete: Any) -> dict[str, int]:
    """How many rows have a true label and how many are right, among all rows and among accepted ones."""
    import numpy as np

    known = np.array([cell is not None for cell in true], dtype=bool)
    known = known if complete is None else known & complete
    right = known & (label.astype(object) == true)
    named = {
        "labelled": known,
        "right": right,
        "accepted_labelled": known & accepted,
        "accepted_right": right & accepted,
    }
    return {name: int(np.count_nonzero(rows)) for name, rows in named.items()}


def _words(counts: Counter[str], output: str) -> str:
    n, left = counts["rows"], counts["left_undecided"]
    text = f"{counted(n, 'row')}, {counts['accepted']:,} accepted ({percent(counts['accepted'] / max(n, 1))})"
    text += f", {left:,} left undecided" if left else ""
    if unread := counts["unread"]:
        text += f"\n{counted(unread, 'row has', 'rows have')} cells that cannot be read; the column notes names them"
    if "labelled" in counts:
        text += f"\nRight: {_share(counts, 'right', 'labelled')}"
        text += f"; {_share(counts, 'accepted_right', 'accepted_labelled')} accepted"
    return f"{text}\nWritten to {output}"


def _share(counts: Counter[str], part: str, whole: str) -> str:
    n = counts[whole]
    return f"{percent(counts[part] / n)} of {n:,}" if n else "none of 0"
