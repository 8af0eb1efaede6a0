"""`sepc landscape`: how the classes of a data set overlap, before any model."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import InputError, complain, say
from sepc.cli._options import N_IMPURE, Command, add, add_labelled_table, add_seed, number_or_share
from sepc.cli.labelled_rows import LabelledRows, LabelledTable, named_columns
from sepc.wording import MOST_NAMES, counted, listed


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_labelled_table(parser)
    add(parser, *N_IMPURE, type=number_or_share)
    add(parser, "--fit-rows N", "partition at most N rows; 3,000 by default", type=int)
    add_seed(parser)


def _run(options: argparse.Namespace) -> None:
    """Read the table and print the landscape of its numeric columns."""
    rows = LabelledTable.of(options).read_for_fit(options)
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


LANDSCAPE = Command("describe how the classes of a table overlap, before any model", _add_arguments, _run)
