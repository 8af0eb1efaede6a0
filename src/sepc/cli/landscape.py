"""`sepc landscape`: a data set before any model."""

from __future__ import annotations

import argparse

from sepc.cli.fit_options import number_or_share
from sepc.cli.labelled_rows import add_labelled_arguments, read_labelled
from sepc.cli.printing import say
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.source import add_table_arguments

HELP = "tell how the labels of a table overlap, before any model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    add_table_arguments(parser)
    add_labelled_arguments(parser)
    parser.add_argument(
        "--n-impure", type=number_or_share, metavar="N", help="rows of other labels an ellipsoid may hold"
    )
    parser.add_argument("--fit-rows", type=int, metavar="N", help="partition only so many rows; 3,000 by default")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the choice of these rows; 0 by default")


def run(options: argparse.Namespace) -> None:
    """Read, look, and tell."""
    rows = read_labelled(options)
    from sepc.landscape.landscape import Landscape

    given = {name: getattr(options, name) for name in ("n_impure", "fit_rows") if getattr(options, name) is not None}
    with ProgressBar("partitioning", quiet=options.quiet) as bar:
        bar.tell(f"{len(rows.y):,} rows")
        found = Landscape(rows.X, rows.y, random_state=options.seed, **given)
        facts, words = found.figures.to_dict(), found.summary()
    say(options, words, facts)
