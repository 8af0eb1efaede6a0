"""`sepc monitor`: compare the rows that arrive with a reference, and raise an alarm where something has changed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import ALARM, InputError, complain, say
from sepc.cli._model_file import in_words, load_model
from sepc.cli._model_rows import RowDigest, digest_of, rows_in_batches, rows_in_memory
from sepc.cli._options import MEMORY, TRUE_LABELS, Command, add, add_model, add_table, beside
from sepc.cli._state_files import Record, Run, check_reference, locked, read_state, write_state
from sepc.cli._written_files import check_result_file, check_writable, write_result
from sepc.cli.rows import quoted
from sepc.io.atomic_files import replacing
from sepc.tables.files import check_readable
from sepc.wording import counted, visible

if TYPE_CHECKING:
    from sepc.lifecycle import Alarm, Monitor

# Alarms to print; the others are counted.
MOST_ALARMS = 10


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_table(parser, optional=True, what="new rows")
    add(parser, "--state FILE", "the file that keeps the monitor's state between runs", required=True)
    add(
        parser,
        "--reference FILE",
        "to start: a table of rows from when the model was good, none of them from its training",
    )
    add(parser, TRUE_LABELS[0], f"{TRUE_LABELS[1]}, to monitor errors as well")
    add(parser, "--labels-only", "add the labels of rows that were counted before")
    add(parser, "--again", "count the rows even if the same rows were counted before")
    add(parser, "--confidence C", "to start: the probability that there is never a false alarm; 0.95 by default")
    add(parser, "--output FILE", "an .html page, or a .csv or .parquet file, of all alarms so far")
    add(parser, *MEMORY)


def _run(options: argparse.Namespace) -> int:
    """Start or continue a monitor; return the exit code."""
    _check(options)
    estimator = load_model(options.model, options.key)
    with locked(options.state):
        if os.path.exists(options.state):
            monitor, record = open_monitor(options.state, estimator)
            check_reference(options, estimator, record, options.target)
            return _standing(options, monitor) if options.data is None else _update(options, monitor, record)
        monitor, record = _started(options, estimator)
        if options.data is not None:
            return _update(options, monitor, record)
        _save(options.state, monitor, record)
        say(options, f"Started {options.state}; no rows counted yet.", {"state": options.state})
        return 0


def _check(options: argparse.Namespace) -> None:
    if options.labels_only and (options.target is None or options.data is None):
        raise InputError("--labels-only adds the labels of rows; give DATA, and the column of labels with --target.")
    if options.confidence is not None and options.reference is None:
        raise InputError("--confidence belongs to --reference; it is chosen when a monitor is started.")
    inputs = [name for name in (options.model, options.data, options.reference) if name is not None]
    check_writable(options.state, *inputs, option="--state")
    check_result_file(options, *inputs, options.state)


def open_monitor(path: str, estimator: Any) -> tuple[Monitor, Record]:
    """Read a state file for the model it belongs to."""
    check_readable(path)
    from sepc.errors import FormatError
    from sepc.lifecycle import Monitor

    data, record = read_state(path)
    try:
        return Monitor.from_bytes(data, estimator), record
    except FormatError as error:
        raise InputError(f"{path}: {error}") from error


def _started(options: argparse.Namespace, estimator: Any) -> tuple[Monitor, Record]:
    from sepc.lifecycle import Monitor

    if options.reference is None:
        raise InputError(
            f"{options.state} does not exist yet; start it with --reference FILE, a table of rows from when the model "
            "was good, none of them from its training."
        )
    rows = rows_in_memory(beside(options, options.reference), estimator, options.target)
    X, labels = (rows.X, None) if options.target is None else rows.labelled()
    n_without = 0 if labels is None else len(rows) - len(labels)
    if n_without:
        complain(f"warning: left out {counted(n_without, 'row')} of {options.reference} without a label")
    given = {} if options.confidence is None else {"confidence": options.confidence}
    return Monitor(estimator, X, labels, **given), Record(digest_of(rows))


def _standing(options: argparse.Namespace, monitor: Monitor) -> int:
    """Print all alarms so far; return the exit code."""
    written = write_result(monitor, options)
    facts = _facts(monitor, monitor.alarms) | {"state": options.state}
    say(options, f"{in_words(monitor, monitor.model)}{written}", facts)
    return ALARM if monitor.alarms else 0


def _update(options: argparse.Namespace, monitor: Monitor, record: Record) -> int:
    """Count the rows, unless they were counted before, and print their alarms; return the exit code."""
    if options.target is not None and not monitor.watches_errors:
        raise InputError(
            f"{options.state} was started without labels, so errors are not monitored; leave --target out, or start "
            "a new --state file with --reference FILE --target COLUMN."
        )
    saved, n_before, digest = monitor.to_bytes(), len(monitor.alarms), RowDigest()
    for rows in rows_in_batches(options, monitor.model, options.target):
        digest.add(rows)
        _take(monitor, rows, labels_only=options.labels_only)
    wanted = _digests(options, digest)
    before = [] if options.again else _runs_before(options, record, wanted)
    if before:
        first, last = min(run.first for run in before), max(run.last for run in before)
        monitor = type(monitor).from_bytes(saved, monitor.model)
        return _say(options, monitor, monitor.alarms[first:last], digest.n_rows, repeated=True)
    for kind, text in wanted.items():
        record = record.with_run(Run(text, kind, n_before, len(monitor.alarms)))
    _save(options.state, monitor, record)
    return _say(options, monitor, monitor.alarms[n_before:], digest.n_rows, repeated=False)


def _digests(options: argparse.Namespace, digest: RowDigest) -> dict[str, str]:
    """Digests by which later runs recognise these rows and, if given, their labels."""
    rows = {} if options.labels_only else {"rows": digest.of_rows()}
    return rows if options.target is None else rows | {"labels": digest.of_labels()}


def _runs_before(options: argparse.Namespace, record: Record, wanted: dict[str, str]) -> list[Run]:
    """The earlier runs that read the same rows and labels; raises if they read the rows without these labels."""
    runs = [run for kind, digest in wanted.items() if (run := record.of(digest, kind)) is not None]
    if runs and len(runs) < len(wanted):
        raise InputError(
            f"The rows of {options.data} were counted before without these labels; add the labels with --labels-only, "
            "or give --again to count the rows a second time."
        )
    return runs


def _take(monitor: Monitor, rows: Any, *, labels_only: bool) -> None:
    if rows.labels is None:
        monitor.update(rows.X)
        return
    X, labels = rows.labelled()
    if len(labels) == len(rows) and not labels_only:
        monitor.update(X, labels)
        return
    if not labels_only:
        monitor.update(rows.X)
    if len(labels):
        monitor.update_labels(X, labels)


def _say(options: argparse.Namespace, monitor: Monitor, alarms: Sequence[Alarm], n_rows: int, *, repeated: bool) -> int:
    """Print the alarms that some rows raised; return the exit code."""
    rows = f"{'labels of ' if options.labels_only else ''}{counted(n_rows, 'row')}"
    done = "were counted before and are not counted again" if repeated else "counted"
    raised = f"{counted(len(alarms), 'alarm')}:" if alarms else "No alarm."
    head = f"{rows[0].upper()}{rows[1:]} {done}; {counted(monitor.n_rows, 'row')} so far. {raised}"
    lines = [head, *(visible(f"- {alarm}") for alarm in alarms[:MOST_ALARMS])]
    if len(alarms) > MOST_ALARMS:
        lines.append(f"- and {counted(len(alarms) - MOST_ALARMS, 'more alarm')}")
    n_other = len(monitor.alarms) - len(alarms)
    if n_other or len(alarms) > MOST_ALARMS:
        others = f"{counted(n_other, 'alarm')} from other runs. " if n_other else ""
        lines.append(f"{others}To see all: sepc monitor {quoted(options.model)} --state {quoted(options.state)}")
    facts = {"rows": n_rows, "counted_before": repeated, "state": options.state}
    say(options, "\n".join(lines) + write_result(monitor, options), facts | _facts(monitor, alarms))
    return ALARM if alarms else 0


def _facts(monitor: Monitor, alarms: Sequence[Alarm]) -> dict[str, Any]:
    return {"rows_seen": monitor.n_rows, "alarms": list(alarms), "alarms_so_far": len(monitor.alarms)}


def _save(path: str, monitor: Monitor, record: Record) -> None:
    with replacing(path) as temporary:
        write_state(temporary, monitor.to_bytes(), record)


MONITOR = Command(
    "compare new rows with a reference, and raise an alarm where something has changed",
    _add_arguments,
    _run,
    """examples:
  sepc monitor model.sepc --state watch.sepc --reference test.csv --target label
  sepc monitor model.sepc today.csv --state watch.sepc
  sepc monitor model.sepc --state watch.sepc

The first starts the monitor with rows from when the model was good, none of them from its training. The second, run
every day, counts new rows. The third shows all alarms so far. Rows that were counted before are not counted again.

exit code: 0 if there is no alarm; 3 if these rows raised one or, without DATA, if there is any; 2 for wrong input;
1 for other errors
""",
)
