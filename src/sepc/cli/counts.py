"""`sepc counts`: count right and wrong labels at a site, for a promise to many sites."""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path

from sepc.cli._memory import add_memory_argument
from sepc.cli._messages import InputError, names_in, say, whole_number
from sepc.cli._model_file import add_model_arguments, load_model
from sepc.cli._model_rows import rows_in_memory
from sepc.cli._written_files import check_writable
from sepc.cli.source import add_table_arguments
from sepc.wording import counted

HELP = "count right and wrong labels at one site, so that sepc certify can make a promise without its rows"
EXAMPLE = """example:
  sepc counts model.sepc rows.csv --target label --site north --output north.json

Only the counts in the output leave the site. sepc certify makes a promise from the files of several sites.

exit code: 0; 2 for wrong input; 1 for other errors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc counts`."""
    add_model_arguments(parser)
    add_table_arguments(parser, what="rows with their true labels, none of them from training")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of true labels")
    parser.add_argument("--output", required=True, metavar="FILE", help="a .json file for the counts")
    parser.add_argument("--site", metavar="NAME", help="the name of the site; that of the output by default")
    parser.add_argument(
        "--smallest",
        type=whole_number,
        default=5,
        metavar="N",
        help="round counts down to multiples of N, so that no smaller count can be inferred; 5 by default, 1 for none",
    )
    parser.add_argument("--by-label", action="store_true", help="count predicted labels separately")
    parser.add_argument(
        "--by",
        type=names_in,
        default=[],
        metavar="A,B",
        help="one or two columns whose groups are counted separately",
    )
    add_memory_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Count, and write the counts."""
    check_writable(options.output, options.model, options.data)
    if not options.output.lower().endswith(".json"):
        raise InputError(f"--output {options.output}: the name must end in .json.")
    estimator = load_model(options.model)
    rows, _ = rows_in_memory(options, estimator, options.target, options.by)
    import numpy as np

    assert rows.labels is not None
    known = np.array([label is not None for label in rows.labels], dtype=bool)
    X, labels = rows.labelled()
    if not len(labels):
        raise InputError(f"{options.data}, column {options.target!r} holds no labels.")
    from sepc.lifecycle.sites import count_site

    by = None if not options.by else options.by if len(options.by) > 1 else options.by[0]
    groups = {name: np.array(rows.kept[name], dtype=object)[known] for name in options.by} or None
    found = count_site(
        estimator,
        X,
        labels,
        site=options.site or Path(options.output).stem,
        smallest=options.smallest,
        by_label=options.by_label,
        by=by,
        groups=groups,
        digest=sha256(Path(options.model).read_bytes()).hexdigest(),
    )
    found.save(options.output)
    rounding = f"rounded down to multiples of {found.smallest}" if found.smallest > 1 else "exact"
    text = f"Counted {counted(len(labels), 'row')} of {found.site}, {rounding}.\nWritten to {options.output}"
    say(options, text, {"site": found.site, "rows": len(labels), "smallest": found.smallest, "output": options.output})
