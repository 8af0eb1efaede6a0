"""`sepc review`: choose the rows that a person should look at, and learn from the labels they give."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import InputError, say
from sepc.cli._model_file import in_words, load_model
from sepc.cli._model_rows import ModelReader, ModelRows, digest_of, rows_in_memory
from sepc.cli._options import COPY, MEMORY, Command, add, add_model, add_table, beside
from sepc.cli._state_files import Record, Run, check_reference, locked, read_state, write_state
from sepc.cli._written_files import TABLES, check_result_file, check_writable, write_frame
from sepc.cli.rows import Reading, data_frame, open_table
from sepc.io.atomic_files import replacing
from sepc.tables.files import Source
from sepc.tables.table_file import TableFile
from sepc.wording import MOST_NAMES, counted, did_you_mean, listed, shown

if TYPE_CHECKING:
    from sepc.lifecycle import Review, ReviewQueue


# The column that a person fills in.
ANSWER = "true_label"
NUMBER, ROW = "review", "row"
OWN = (NUMBER, ROW, "purpose", "label", "trust", "reason", ANSWER)


def sheet_of(model: Any, review: Review, rows: ModelRows, *, hide_model: bool) -> Any:
    """A DataFrame of the rows to look at, in order, with an empty column for their labels."""
    from sepc.estimators.base import decide_rows

    if clash := set(rows.kept) & set(OWN):
        raise InputError(f"--copy names {min(clash)!r}, which is also a column of the review; rename it in the table.")
    positions = review.positions.tolist()
    columns: dict[str, Any] = {NUMBER: review.number, ROW: [position + 1 for position in positions]}
    columns |= {name: [cells[position] for position in positions] for name, cells in rows.kept.items()}
    columns["purpose"] = review.to_frame()["purpose"].tolist()
    if not hide_model:
        columns |= {"label": review.label.tolist(), "trust": review.trust.tolist()}
        decisions = decide_rows(model, rows.at(positions))
        columns["reason"] = [decisions.why(i) for i in range(len(decisions))]
    return data_frame(columns | {ANSWER: ""})


def learn_from(queue: ReviewQueue, options: argparse.Namespace) -> int:
    """Pass the labels of a filled table to the queue; return how many there were."""
    table = open_table(options, options.labels)
    source = table.source
    numbers, rows, labels = _filled(table, queue, options)
    n_labels = sum(label is not None for label in labels)
    if not n_labels and not options.complete:
        raise InputError(f"{source.name}, column {options.target!r} is empty; fill in labels, or give --complete.")
    for number in sorted(set(numbers)):
        own = [i for i, other in enumerate(numbers) if other == number]
        review = _open_review(queue, number, source)
        positions = [rows[i] - 1 for i in own]
        _check_rows(review, positions, source)
        queue.learn(review, [labels[i] for i in own], positions, complete=options.complete)
    return n_labels


def _filled(
    table: TableFile, queue: ReviewQueue, options: argparse.Namespace
) -> tuple[list[int], list[int], list[Any]]:
    """The reviews, row numbers and labels of a filled table."""
    table.check_names([NUMBER, ROW, options.target])
    numbers = dict.fromkeys((NUMBER, ROW), Reading.NUMBER)
    reader = ModelReader(queue.model, table, (NUMBER, ROW), numbers, target=options.target)
    with reader.batches(options) as batches:
        rows = ModelRows.joined([reader.rows(batch) for batch in batches])
    assert rows.labels is not None
    labels = rows.labels.tolist()
    _check_known(table.source, options, labels, queue.model.classes_.tolist())
    whole = {name: _whole(table.source, name, cells) for name, cells in rows.arrays.items()}
    return whole[NUMBER], whole[ROW], labels


def _whole(source: Source, name: str, column: Any) -> list[int]:
    values = column.tolist()
    for value in values:
        if value != value or value != int(value):
            raise InputError(f"{source.name}, column {name!r} holds {value!r}; leave it as sepc review wrote it.")
    return [int(value) for value in values]


def _check_known(source: Source, options: argparse.Namespace, labels: Sequence[Any], classes: list[Any]) -> None:
    """Raise if the model does not know a label; a typing error would permanently count as an error of the model."""
    allowed = {*classes, *options.other}
    for label in labels:
        if label is not None and label not in allowed:
            known = listed(map(shown, classes), MOST_NAMES)
            hint = did_you_mean([str(label)], [str(name) for name in classes])
            raise InputError(
                f"{source.name}, column {options.target!r} holds {label!r}; the labels of the model are {known}.{hint} "
                "If it is a new label, give --other."
            )


def _open_review(queue: ReviewQueue, number: int, source: Source) -> Review:
    if number not in queue.reviews_:
        waiting = listed(map(str, sorted(queue.reviews_))) if queue.reviews_ else "none"
        raise InputError(f"{source.name} holds labels of review {number}, which is not open; open reviews: {waiting}.")
    return queue.reviews_[number]


def _check_rows(review: Review, positions: list[int], source: Source) -> None:
    asked = set(review.positions.tolist())
    for position in positions:
        if position not in asked:
            raise InputError(
                f"{source.name}, column {ROW!r} holds {position + 1}, which is not in review {review.number}; "
                "leave it as sepc review wrote it."
            )
    if len(set(positions)) < len(positions):
        raise InputError(f"{source.name} holds a row of review {review.number} twice; keep only one of them.")


# Options fixed when a queue is started, and the parameters that they set.
SETTINGS = ("max_risk", "confidence", "coverage", "certify_share")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_table(parser, optional=True, what="new rows")
    add(parser, "--state FILE", "the file that keeps the queue between runs", required=True)
    add(parser, "--budget N", "how many rows a person can look at")
    add(parser, "--output FILE", "a .csv or .parquet file for the rows to look at")
    add(parser, *COPY)
    add(parser, "--hide-model", "leave out the model's label and reason, so that they do not bias the reviewer")
    learning = parser.add_argument_group("labels")
    add(learning, "--labels FILE", "the table of --output, with labels filled in")
    add(learning, "--target COLUMN", f"the column of labels in that table; {ANSWER} by default", default=ANSWER)
    add(learning, "--complete", "no more labels will come; rows without one permanently count as errors")
    add(learning, "--other A,B", "labels that the model does not know, such as 'neither'")
    start = parser.add_argument_group("to start a queue")
    add(start, "--reference FILE", "a table of recent rows that shows the distribution of trust; DATA by default")
    add(start, "--max-risk R", "the error rate to certify; 0.02 by default")
    add(start, "--confidence C", "confidence of the certificate; 0.95 by default")
    add(start, "--coverage S", "the share of rows to certify first")
    add(start, "--certify-share S", "share of the budget spent on rows for the certificate; 1 by default")
    add(start, "--seed N", "random seed; a new one each time by default", type=int)
    add(parser, *MEMORY)


def _run(options: argparse.Namespace) -> None:
    """Choose rows, learn labels, or say what is certified."""
    _check(options)
    estimator = load_model(options.model, options.key)
    with locked(options.state):
        if options.data is not None:
            _choose(options, estimator)
        elif options.labels is not None:
            _learn(options, estimator)
        else:
            queue, _ = _opened(options, estimator)
            say(options, _standing(queue), _facts(queue))


def _check(options: argparse.Namespace) -> None:
    if options.data is not None and options.labels is not None:
        raise InputError("Give either rows to choose from or --labels, not both at once.")
    if options.data is not None and options.output is None:
        raise InputError("Give --output FILE for the rows to look at.")
    if options.data is None and options.output is not None:
        raise InputError("--output is for the rows to look at; give DATA to choose them from.")
    if options.labels is None and (options.complete or options.other):
        raise InputError("--complete and --other are only for --labels FILE.")
    inputs = [name for name in (options.model, options.data, options.labels, options.reference) if name is not None]
    check_writable(options.state, *inputs, option="--state")
    check_result_file(options, *inputs, options.state, endings=TABLES)


def _opened(options: argparse.Namespace, estimator: Any) -> tuple[ReviewQueue, Record]:
    from sepc.errors import FormatError
    from sepc.lifecycle import ReviewQueue

    if not os.path.exists(options.state):
        raise InputError(f"{options.state} does not exist yet; choose rows first, with DATA, --budget and --output.")
    data, record = read_state(options.state)
    try:
        return ReviewQueue.from_bytes(data, estimator), record
    except FormatError as error:
        raise InputError(f"{options.state}: {error}") from error


def _choose(options: argparse.Namespace, estimator: Any) -> None:
    """Choose rows and write them for a person; the same rows give the same review again."""
    if os.path.exists(options.state):
        queue, record = _opened(options, estimator)
        _check_settings(options, queue)
        check_reference(options, estimator, record)
    else:
        queue, record = _started(options, estimator)
    rows = rows_in_memory(options, estimator, None, options.copy)
    digest = digest_of(rows)
    before = record.of(digest, "rows")
    if before is not None:
        _repeat(options, queue, rows, before.first)
        return
    if os.path.exists(options.output):
        raise InputError(
            f"{options.output} exists, and a person may have filled it in; give a different name, or delete it first."
        )
    review = _chosen(options, queue, rows)
    record = record.with_run(Run(digest, "rows", review.number, review.number))
    # The table is in place before the state: an open review without a table would never get labels.
    with replacing(options.state) as state:
        write_state(state, queue.to_bytes(), record)
        _write(options, queue, review, rows)
    facts = {"review": review.number, "rows": len(review), "chosen_before": False}
    facts |= {"output": options.output, "state": options.state}
    say(options, f"{in_words(review, queue.model)}\nWritten to {options.output}", facts)


def _started(options: argparse.Namespace, estimator: Any) -> tuple[ReviewQueue, Record]:
    from sepc.lifecycle import ReviewQueue

    if options.budget is None:
        raise InputError("Give --budget N: how many rows a person can look at.")
    given = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    record = Record()
    if options.reference is not None:
        rows = rows_in_memory(beside(options, options.reference), estimator, None)
        given, record = given | {"rows": rows.X}, Record(digest_of(rows))
    return ReviewQueue(estimator, options.budget, **given, random_state=options.seed), record


def _check_settings(options: argparse.Namespace, queue: ReviewQueue) -> None:
    for name in SETTINGS:
        given, own = getattr(options, name), getattr(queue, name)
        if given is not None and given != own:
            option = name.replace("_", "-")
            raise InputError(
                f"{options.state} was started with --{option} {own}; for a different value, start a new --state file."
            )


def _chosen(options: argparse.Namespace, queue: ReviewQueue, rows: ModelRows) -> Review:
    try:
        return queue.choose(rows.X, n_rows=options.budget)
    except ValueError as error:
        if options.reference is None and not os.path.exists(options.state):
            raise InputError(f"{error} In this command, give --reference FILE.") from error
        raise


def _repeat(options: argparse.Namespace, queue: ReviewQueue, rows: ModelRows, number: int) -> None:
    """Report that a review of these rows exists, and rewrite its table if the file is gone."""
    if os.path.exists(options.output):
        text = f"Review {number} was already chosen from these rows; {options.output} is unchanged."
    elif number in queue.reviews_:
        _write(options, queue, queue.reviews_[number], rows)
        text = f"Review {number} was already chosen from these rows.\nWritten to {options.output}"
    else:
        raise InputError(f"Review {number} was already chosen from the rows of {options.data}, and has all its labels.")
    say(options, text, {"review": number, "chosen_before": True, "output": options.output, "state": options.state})


def _write(options: argparse.Namespace, queue: ReviewQueue, review: Review, rows: ModelRows) -> None:
    sheet = sheet_of(queue.model, review, rows, hide_model=options.hide_model)
    with replacing(options.output) as path:
        write_frame(sheet, path, options.output)


def _learn(options: argparse.Namespace, estimator: Any) -> None:
    queue, record = _opened(options, estimator)
    n_labels = learn_from(queue, options)
    with replacing(options.state) as state:
        write_state(state, queue.to_bytes(), record)
    say(options, f"{counted(n_labels, 'label')} learned. {_standing(queue)}", _facts(queue) | {"labels": n_labels})


def _standing(queue: ReviewQueue) -> str:
    """What is certified, and which reviews wait for labels."""
    n_open = len(queue.reviews_)
    waiting = "" if not n_open else f"\nStill open: {counted(n_open, 'review')} with rows that have no label."
    return f"{in_words(queue, queue.model)}{waiting}"


def _facts(queue: ReviewQueue) -> dict[str, Any]:
    certificate = queue.certificate()
    return {"certified": certificate.is_certified, "certificate": certificate, "open_reviews": sorted(queue.reviews_)}


REVIEW = Command(
    "choose the rows that a person should look at, and say what their labels prove",
    _add_arguments,
    _run,
    f"""examples:
  sepc review model.sepc today.csv --state queue.sepc --budget 50 --copy id --output asked.csv
  sepc review model.sepc --state queue.sepc --labels asked.csv
  sepc review model.sepc --state queue.sepc

The first chooses 50 rows and writes them to a table with an empty column {ANSWER}, which a person fills in. The second
learns these labels and says what they prove about the rows that nobody looked at. The third says it again.

exit code: 0; 2 for wrong input; 1 for other errors
""",
)
