"""`sepc review`: choose the rows that a person should look at, and learn from the labels they give."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from sepc.cli.memory import add_memory_argument
from sepc.cli.messages import InputError, say
from sepc.cli.model_file import add_model_arguments, in_words, load_model
from sepc.cli.model_rows import ModelRows, beside, rows_in_memory
from sepc.cli.option_values import names_in, whole_number
from sepc.cli.result_files import TABLES, check_result_file, check_writable, write_frame
from sepc.cli.review_sheet import ANSWER, learn_from, sheet_of
from sepc.cli.source import add_table_arguments
from sepc.cli.state_files import Record, Run, check_reference, read_state, write_state
from sepc.cli.state_lock import locked
from sepc.io.atomic_files import replacing
from sepc.wording import counted

if TYPE_CHECKING:
    from sepc.lifecycle import Review, ReviewQueue

HELP = "choose the rows that a person should look at, and say what their labels prove"
EXAMPLE = f"""examples:
  sepc review model.sepc today.csv --state queue.sepc --budget 50 --copy id --output asked.csv
  sepc review model.sepc --state queue.sepc --labels asked.csv
  sepc review model.sepc --state queue.sepc

The first chooses 50 rows and writes them to a table with an empty column {ANSWER}, which a person fills in. The second
learns these labels and says what they prove about the rows that nobody looked at. The third says it again.

exit code: 0; 2 for wrong input; 1 for other errors
"""

# Options fixed when a queue is started, and the parameters that they set.
SETTINGS = ("max_risk", "confidence", "coverage", "certify_share")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc review`."""
    add_model_arguments(parser)
    add_table_arguments(parser, optional=True, what="new rows")
    parser.add_argument("--state", required=True, metavar="FILE", help="the file that keeps the queue between runs")
    parser.add_argument("--budget", type=whole_number, metavar="N", help="how many rows a person can look at")
    parser.add_argument("--output", metavar="FILE", help="a .csv or .parquet file for the rows to look at")
    parser.add_argument(
        "--copy", type=names_in, default=[], metavar="A,B", help="columns to copy to the output, such as an id"
    )
    parser.add_argument(
        "--hide-model",
        action="store_true",
        help="leave out the model's label and reason, so that they do not bias the reviewer",
    )
    learning = parser.add_argument_group("labels")
    learning.add_argument("--labels", metavar="FILE", help="the table of --output, with labels filled in")
    learning.add_argument(
        "--target", default=ANSWER, metavar="COLUMN", help=f"the column of labels in that table; {ANSWER} by default"
    )
    learning.add_argument(
        "--complete", action="store_true", help="no more labels will come; rows without one permanently count as errors"
    )
    learning.add_argument(
        "--other",
        type=names_in,
        default=[],
        metavar="A,B",
        help="labels that the model does not know, such as 'neither'",
    )
    start = parser.add_argument_group("to start a queue")
    start.add_argument(
        "--reference",
        metavar="FILE",
        help="a table of recent rows that shows the distribution of trust; DATA by default",
    )
    start.add_argument("--max-risk", type=float, metavar="R", help="the error rate to certify; 0.02 by default")
    start.add_argument("--confidence", type=float, metavar="C", help="confidence of the certificate; 0.95 by default")
    start.add_argument("--coverage", type=float, metavar="S", help="the share of rows to certify first")
    start.add_argument(
        "--certify-share",
        type=float,
        metavar="S",
        help="share of the budget spent on rows for the certificate; 1 by default",
    )
    start.add_argument("--seed", type=int, metavar="N", help="random seed; a new one each time by default")
    add_memory_argument(parser)


def run(options: argparse.Namespace) -> None:
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
    rows, digest = rows_in_memory(options, estimator, None, options.copy)
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
    say(options, f"{in_words(review, queue.model)}\nWritten to {options.output}", _review_facts(options, review))


def _started(options: argparse.Namespace, estimator: Any) -> tuple[ReviewQueue, Record]:
    from sepc.lifecycle import ReviewQueue

    if options.budget is None:
        raise InputError("Give --budget N: how many rows a person can look at.")
    given = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    record = Record()
    if options.reference is not None:
        rows, digest = rows_in_memory(beside(options, options.reference), estimator, None)
        given, record = given | {"rows": rows.X}, Record(digest)
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


def _review_facts(options: argparse.Namespace, review: Review) -> dict[str, Any]:
    return {
        "review": review.number,
        "rows": len(review),
        "chosen_before": False,
        "output": options.output,
        "state": options.state,
    }
