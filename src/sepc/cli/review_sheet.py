"""The table that `sepc review` writes for a person, and the labels that come back in it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sepc.cli.column_reading import Features, data_frame
from sepc.cli.messages import InputError
from sepc.cli.model_rows import ModelRows, beside
from sepc.cli.rows import RowReader, open_table
from sepc.cli.source import Source, source_from
from sepc.cli.tables import ColumnType, check_names
from sepc.wording import MOST_NAMES, did_you_mean, listed, shown

if TYPE_CHECKING:
    from sepc.lifecycle import Review, ReviewQueue

# The column that a person fills in.
ANSWER = "true_label"
REVIEW, ROW = "review", "row"
OWN = (REVIEW, ROW, "purpose", "label", "trust", "reason", ANSWER)


def sheet_of(model: Any, review: Review, rows: ModelRows, *, hide_model: bool) -> Any:
    """A DataFrame of the rows to look at, in order, with an empty column for their labels."""
    if clash := set(rows.kept) & set(OWN):
        raise InputError(f"--copy names {min(clash)!r}, which is also a column of the review; rename it in the table.")
    positions = review.positions.tolist()
    columns: dict[str, Any] = {REVIEW: review.number, ROW: [position + 1 for position in positions]}
    columns |= {name: [cells[position] for position in positions] for name, cells in rows.kept.items()}
    columns["purpose"] = review.to_frame()["purpose"].tolist()
    if not hide_model:
        columns |= {"label": review.label.tolist(), "trust": review.trust.tolist()}
        columns["reason"] = _reasons(model, rows.take(positions))
    return data_frame(columns | {ANSWER: ""})


def _reasons(model: Any, X: Any) -> list[str]:
    from sepc.estimators.base import decide_rows

    decisions = decide_rows(model, X)
    return [decisions.why(i) for i in range(len(decisions))]


def learn_from(queue: ReviewQueue, options: argparse.Namespace) -> int:
    """Pass the labels of a filled table to the queue; return how many there were."""
    source = source_from(beside(options, options.labels))
    numbers, rows, labels = _filled(source, queue, options)
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


def _filled(source: Source, queue: ReviewQueue, options: argparse.Namespace) -> tuple[list[int], list[int], list[Any]]:
    """The reviews, row numbers and labels of a filled table."""
    classes, features = queue.model.classes_, Features({REVIEW: ColumnType.NUMBER, ROW: ColumnType.NUMBER})
    numbers: list[int] = []
    rows: list[int] = []
    labels: list[Any] = []
    with open_table(source) as table:
        check_names(table, [REVIEW, ROW])
        reader = RowReader(table, features, options.target, classes)
        with reader.batches(options) as batches:
            for batch in batches:
                cells = reader.arrays(batch)
                numbers += _whole(source, REVIEW, cells[REVIEW])
                rows += _whole(source, ROW, cells[ROW])
                labels += reader.labels(batch).tolist()
    _check_known(source, options, labels, classes.tolist())
    return numbers, rows, labels


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
