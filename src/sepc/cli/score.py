"""`sepc score`: decide on every row of a table, batch by batch."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

from sepc.cli._messages import InputError, say
from sepc.cli._model_file import load_model
from sepc.cli._model_rows import ModelReader
from sepc.cli._options import COPY, FEATURES, KEY, MODEL, Command, add, add_table
from sepc.cli._written_files import check_writable
from sepc.cli.monitor import open_monitor
from sepc.cli.rows import is_gap, open_table, refuse_gaps
from sepc.io.atomic_files import replacing
from sepc.tables.table_file import Batch
from sepc.wording import MOST_NAMES, counted, listed, percent, shown

# Returns the output columns of a batch, and counts of its rows.
Decider = Callable[[Batch], tuple[dict[str, Any], dict[str, int]]]

ADVICE = "Decide on such rows with --missing use, or leave them undecided with --missing leave."


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, *MODEL)
    add(parser, *KEY)
    add_table(parser)
    add(parser, "--output FILE", "a .csv or .parquet file to write, or - for CSV on standard output", required=True)
    add(parser, *COPY)
    add(parser, *FEATURES)
    add(parser, "--target COLUMN", "a column of true labels, if there is one, to report how many labels are right")
    add(
        parser,
        "--monitor STATE",
        "a state file of sepc monitor; abstain in regions where it found that a feature moved or a rate rose",
    )
    add(
        parser,
        "--missing {use,leave,refuse}",
        "rows with missing values: decide on them (use, the default), leave them undecided, or refuse the table",
        default="use",
    )
    add(parser, "--raw-cells", "in CSV, write text as it is, even if a spreadsheet would run it as a formula")


def _run(options: argparse.Namespace) -> None:
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
    reader = ModelReader.of(estimator, table, options.features, options.target, options.copy)
    with nullcontext("-") if to_standard_output else replacing(options.output) as path:
        writer = DecisionWriter(path, form, raw_cells=options.raw_cells)
        counts = _score(reader, _decider(reader, options), writer, options)
        writer.close()
    if not to_standard_output:
        remarks = [*_ignored(reader), *_remarks(estimator)]
        text = "\n".join([_words(counts, options.output), *remarks])
        say(options, text, counts | {"output": options.output} | ({"remarks": remarks} if remarks else {}))


def _ignored(reader: ModelReader) -> list[str]:
    """Name the columns of the table that are neither used nor copied."""
    used = {*reader.names, *reader.wanted}
    further = [shown(name) for name in reader.table.names if name not in used]
    named = f"{counted(len(further), 'column')} that the model was not fitted to: {listed(further, MOST_NAMES)}"
    return [f"Ignored {named}"] if further else []


def _remarks(estimator: Any) -> list[str]:
    """What is to be said of an edited model; nothing for others."""
    from sepc.estimators.unwrapping import edits_in
    from sepc.model.edits import count_of_edits

    edits = edits_in(estimator)
    return [f"Edited model: {count_of_edits(edits)}; sepc inspect lists them."] if edits else []


def _score(reader: ModelReader, decide: Decider, writer: Any, options: argparse.Namespace) -> Counter[str]:
    """Score all rows; return the numbers of rows, of accepted and undecided ones and, with labels, of right ones."""
    counts = Counter(rows=0, accepted=0, left_undecided=0)
    with reader.batches(options, "scoring") as batches, ThreadPoolExecutor(1) as pool:
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


def _decider(reader: ModelReader, options: argparse.Namespace) -> Decider:
    """A function that returns the output columns of a batch, and counts of its rows."""
    import numpy as np
    import pyarrow.compute as pc

    from sepc.cli.decision_files import arrow_columns
    from sepc.columns.preparation import UNREAD

    decided = reader.decide if options.monitor is None else _monitored(reader, options.monitor)

    def decide(batch: Batch) -> tuple[dict[str, Any], dict[str, int]]:
        arrays, complete = reader.arrays(batch), None
        gaps = {name: is_gap(values) for name, values in arrays.items()} if options.missing != "use" else {}
        if options.missing == "refuse":
            refuse_gaps(reader.table.source, batch.first_row + np.arange(batch.n_rows), gaps, ADVICE)
        elif gaps:
            complete = ~np.any(list(gaps.values()), axis=0)
        decisions = decided(arrays)
        columns = arrow_columns(decisions, complete)
        kept = {name: batch.columns[name] for name in reader.copied}
        if clash := set(kept) & set(columns):
            raise InputError(
                f"--copy names {min(clash)!r}, which is also a column of the decisions; rename it in the table."
            )
        accepted = np.asarray(decisions.accepted) if complete is None else decisions.accepted & complete
        n_left = 0 if complete is None else int(np.count_nonzero(~complete))
        counts = {"rows": batch.n_rows, "accepted": int(np.count_nonzero(accepted)), "left_undecided": n_left}
        if "notes" in columns and (n_unread := pc.sum(pc.match_substring(columns["notes"], UNREAD)).as_py()):
            counts["unread"] = n_unread
        if reader.target is not None:
            counts |= _compared(decisions.label, accepted, reader.labels(batch), complete)
        return kept | columns, counts

    return decide


def _monitored(reader: ModelReader, path: str) -> Callable[[dict[str, Any]], Any]:
    """Decide as the model does, but abstain in regions where the monitor raised an alarm that refuses rows."""
    monitor, _ = open_monitor(path, reader.estimator)
    return lambda arrays: monitor.decide(reader.rows_for_model(arrays))


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


SCORE = Command("decide on every row of a table: label, trust, accepted or not, and why not", _add_arguments, _run)
