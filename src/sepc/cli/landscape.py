"""`sepc landscape`: how the classes of a data set overlap, before any model."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import InputError, complain, number_or_share, say
from sepc.cli.labelled_rows import LabelledRows, add_labelled_arguments, named_columns, read_labelled
from sepc.cli.source import add_table_arguments
from sepc.wording import MOST_NAMES, counted, listed

HELP = "describe how the classes of a table overlap, before any model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc landscape`."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument(
        "--n-impure", type=number_or_share, metavar="N", help="rows of other labels that an ellipsoid may contain"
    )
    parser.add_argument("--fit-rows", type=int, metavar="N", help="partition at most N rows; 3,000 by default")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed; 0 by default")


def run(options: argparse.Namespace) -> None:
    """Read the table and print the landscape of its numeric columns."""
    rows = read_labelled(options)
    from sepc.landscape.landscape import Landscape

    given = {name: getattr(options, name) for name in ("n_impure", "fit_rows") if getattr(options, name) is not None}
    X, y = _numbers(rows, options)
    with ProgressBar("partitioning", quiet=options.quiet) as bar:
        bar.update(f"{len(y):,} rows")
        landscape = Landscape(X, y, random_state=options.seed, **given)
        facts, text = landscape.figures.to_dict(), landscape.summary()
    say(options, text, facts)


def _numbers(rows: LabelledRows, options: argparse.Namespace) -> tuple[Any, Any]:
    """The numeric columns, in rows without missing values; warnings say what is left out."""
    import numpy as np
    import pyarrow as pa

    from sepc.columns.kinds import Kind, read_columns

    columns, values = read_columns(rows.X, named_columns(options).get("categorical_features", ()), options.use)
    left_out = {own.name: own.why or f"a {own.kind.value}" for own in columns if own.kind is not Kind.NUMBER}
    numbers = {name: values[name] for name in values if name not in left_out}
    if not numbers:
        raise InputError(f"{options.data} has no column of numbers; a landscape needs one.")
    X = pa.table(numbers)
    complete = ~np.isnan(np.array(list(numbers.values()))).any(axis=0)
    if left_out:
        named = listed([f"{name!r} ({why})" for name, why in left_out.items()], MOST_NAMES)
        complain(f"warning: a landscape uses only numbers; left out: {named}.")
    if not complete.all():
        complain(f"warning: {counted(int((~complete).sum()), 'row')} with missing values left out of the landscape.")
    if complete.sum() < 2:
        raise InputError(
            f"{options.data} has fewer than two rows without missing values in numeric columns; a landscape needs two."
        )
    return X.filter(complete), rows.y[complete]
