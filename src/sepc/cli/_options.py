"""Options of the commands: how they are spelled, what their values are, and those that several commands share."""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sepc.cli._messages import OTHER


@dataclass(frozen=True)
class Command:
    """A command: its help, its arguments, and the function that runs it and returns its exit code (None is 0).

    `other` is the exit code for errors other than wrong input.
    """

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]
    example: str | None = None
    other: int = OTHER


def names_in(text: str) -> list[str]:
    """Parse names separated by commas; a name with a comma must be quoted."""
    try:
        return [name for name in next(csv.reader([text], skipinitialspace=True), []) if name]
    except csv.Error:
        message = f"{text!r} is not a list of names; a name with a comma or a line break goes in double quotes"
        raise argparse.ArgumentTypeError(message) from None


def whole_number(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def number_or_share(text: str) -> int | float:
    """Parse a whole number of rows, or a share of them."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def share(text: str) -> float:
    """Parse a share of rows: at least 0, less than 1."""
    value = float(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not a share of rows; give a number from 0 to below 1")
    return value


def gigabytes(text: str) -> float:
    """Parse an amount of memory."""
    value = float(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of gigabytes")
    return value


# What the placeholder of an option says of its values; with any other, they are text.
LISTS = ("A,B", "A,B=FORMAT")
TYPES: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys((*LISTS, "A,B,C"), names_in),
    **dict.fromkeys(("C", "R", "S", "T"), float),
    "N": whole_number,
    "GB": gigabytes,
}


def add(to: Any, spelling: str, text: str, **more: Any) -> None:
    """Add an argument, given as it is spelled, and its help; `more` are further arguments of `add_argument`.

    Spellings are "--copy A,B", "--missing {use,drop}", "--quiet" or "MODEL". Lists are empty by default.
    """
    name, _, placeholder = spelling.partition(" ")
    if not name.startswith("-"):
        to.add_argument(name.lower(), metavar=name, help=text, **more)
    elif not placeholder:
        to.add_argument(name, action="store_true", help=text, **more)
    elif placeholder.startswith("{"):
        to.add_argument(name, choices=placeholder.strip("{}").split(","), help=text, **more)
    else:
        given = {"type": TYPES.get(placeholder, str), "default": [] if placeholder in LISTS else None, **more}
        to.add_argument(name, metavar=placeholder, help=text, **given)


MODEL = "MODEL", "a file written by sepc fit or sepc.save"
KEY = "--key FILE", "a public key: use the model only if it was signed with the matching private key"
FEATURES = "--features A,B,C", "the columns to use as features, if the model has no feature names"
LABELS, TRUE_LABELS = ("--target COLUMN", "the column of labels"), ("--target COLUMN", "the column of true labels")
COPY = "--copy A,B", "columns to copy to the output, such as an id"
MODEL_OUTPUT = "--output MODEL", "the model file to write, usually *.sepc"
MEMORY = (
    "--max-memory GB",
    "refuse a table that would take more than this many gigabytes of memory; by default, all that is free",
)
N_IMPURE = "--n-impure N", "rows of other labels that an ellipsoid may contain"


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model, and the options for models without feature names and for signed ones."""
    for argument in (MODEL, FEATURES, KEY):
        add(parser, *argument)


def add_seed(parser: Any) -> None:
    """Add the random seed."""
    add(parser, "--seed N", "random seed; 0 by default", type=int, default=0)


def add_table(parser: argparse.ArgumentParser, *, optional: bool = False, what: str = "") -> None:
    """Add a table to read, and how it is written; `what` says which rows it holds."""
    files = f"{what}: a CSV" if what else "a CSV"
    nargs = "?" if optional else None
    add(parser, "DATA", f"{files}, Parquet or Excel file, or - for standard input", nargs=nargs)
    add_table_format(parser)


def add_table_format(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a table is written."""
    table = parser.add_argument_group("table format")
    add(table, "--format {csv,parquet,excel}", "format of the file; by default, from the file extension")
    add(table, "--separator CHAR", "separator of a CSV file, a single character or tab; detected by default")
    add(
        table,
        "--decimal CHAR",
        "decimal separator of a CSV file, a point or a comma; detected by default",
        choices=(".", ","),
    )
    add(table, "--encoding ENCODING", "text encoding of a CSV file; by default utf-8, or utf-16 if detected")
    add(table, "--sheet NAME", "sheet of an Excel file; the first by default")
    add(
        table,
        "--na A,B",
        "cells that mean a missing value in any column, such as -999, besides empty ones; in numbers and dates, "
        "NA, ?, -, unknown and the like always do",
    )
    add(
        table,
        "--date A,B=FORMAT",
        "columns of text that hold dates, with a format such as %%d/%%m/%%Y if it cannot be detected",
    )


def add_labelled_table(parser: argparse.ArgumentParser) -> None:
    """Add a table with labels, for a new model."""
    add_table(parser)
    add(parser, *LABELS, required=True)
    add(parser, "--features A,B,C", "columns to use as features; by default all but the target")
    add(parser, "--drop A,B", "columns to leave out")
    add(parser, "--use A,B", "columns to use even if they look like an id, an index, a constant or free text")
    add(
        parser,
        "--categorical A,B",
        "columns that hold categories even if they look like numbers; also the target, if it holds codes",
    )
    add(
        parser,
        "--missing {use,drop,refuse}",
        "rows with missing values: use them (the default), drop them, or refuse the table",
        default="use",
    )
    add(parser, *MEMORY)


def add_feedback(parser: argparse.ArgumentParser) -> None:
    """Add a model, and rows with the labels that they turned out to have."""
    add_model(parser)
    add_table(parser, what="feedback")
    add(parser, *TRUE_LABELS, required=True)
    add_seed(parser)
    add(parser, *MEMORY)


def add_held_out(parser: argparse.ArgumentParser, by_default: float) -> None:
    """Add the options that say which rows are held out, and --merge-labels."""
    held_out = parser.add_mutually_exclusive_group()
    add(
        held_out,
        "--test-size S",
        f"share of rows to hold out for a test, drawn at random; {by_default:g} by default",
        type=share,
        default=by_default,
    )
    add(
        held_out,
        "--test-last S",
        "share of rows to hold out at the end of the table, for rows in time order",
        type=share,
        default=0.0,
    )
    add(parser, "--merge-labels", "merge labels that differ only in case, blanks or one letter, and say which")


def add_fit(parser: argparse.ArgumentParser, *, or_file: bool = False) -> None:
    """Add the options that describe an estimator; with `or_file`, also --model for an already fitted one."""
    model = parser.add_argument_group("the model")
    if or_file:
        add(model, "--model MODEL", "report on this model file instead of fitting; it must not have seen these rows")
    add(model, N_IMPURE[0], f"{N_IMPURE[1]}: a number or a share", type=number_or_share)
    add(model, "--trust {weights,counts,published}", "how labels and trust are computed; weights by default")
    add(model, "--min-trust T", "the minimum trust at which a label is accepted")
    add(
        model,
        "--class-weight {balanced}",
        "decide as if all labels were equally frequent, so that a rare one is not missed",
    )
    add(model, "--fit-rows N", "partition at most N rows; 4,000 to 10,000 by default", type=int)
    add(model, "--by A,B", "fit a model for each combination of values in these columns")
    add(model, "--max-risk R", "promise that at most this share of accepted rows is wrong")
    add(model, "--confidence C", "confidence of the --max-risk promise; 0.95 by default")
    add(
        model,
        "--promise-by A,B",
        "keep the --max-risk promise in each group of rows that share the values of one or two columns",
    )
    add(model, "--no-rows", "keep no training row, and no hash of one, in the model file")
    add_seed(model)


def beside(options: argparse.Namespace, data: str) -> argparse.Namespace:
    """The same options for another table, in the same format as the first."""
    return argparse.Namespace(**vars(options) | {"data": data})
