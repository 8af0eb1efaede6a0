"""`sepc landscape`: how the classes of a data set overlap, before any model."""

from __future__ import annotations

import argparse

from sepc.cli.fitting import number_or_share
from sepc.cli.labelled_rows import add_labelled_arguments, read_labelled
from sepc.cli.messages import say
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.source import add_table_arguments

HELP = "describe how the classes of a table overlap, before any model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc landscape`."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument(
        "--n-impure", type=number_or_share, metavar="N", help="rows of other labels an ellipsoid may hold"
    )
    parser.add_argument("--fit-rows", type=int, metavar="N", help="partition at most N rows; 3,000 by default")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed; 0 by default")


def run(options: argparse.Namespace) -> None:
    """Read the table and print its landscape."""
    rows = read_labelled(options)
    from sepc.landscape.landscape import Landscape

    given = {name: getattr(options, name) for name in ("n_impure", "fit_rows") if getattr(options, name) is not None}
    with ProgressBar("partitioning", quiet=options.quiet) as bar:
        bar.update(f"{len(rows.y):,} rows")
        landscape = Landscape(rows.X, rows.y, random_state=options.seed, **given)
        facts, text = landscape.figures.to_dict(), landscape.summary()
    say(options, text, facts)
