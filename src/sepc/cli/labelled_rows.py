"""A table with labels, read into memory for a fit."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.cli.memory import MemoryLimit, add_memory_argument
from sepc.cli.messages import InputError
from sepc.cli.model_file import categories, pandas_package
from sepc.cli.open_table import open_table
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.source import Source, source_from
from sepc.cli.tables import Batch, Table, check_names, matrix, refuse_missing, refuse_text
from sepc.wording import shown

ADVICE_TEXT = (
    "Leave such columns out with --drop, choose others with --features, or model each of their values with --by."
)
ADVICE_MISSING = "Fill such cells, or leave these rows out with --missing drop."

# Letters of a label; longer text is no label, and an array of labels has room for the longest in every row.
LONGEST_LABEL = 1_000


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Features and labels of a table.

    Attributes
    ----------
    X : DataFrame
    y : array
    n_dropped : int
        Rows left out because a cell was empty.
    """

    X: Any
    y: Any
    n_dropped: int


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns hold the labels, the numbers and the categories."""

    target: str
    numbers: tuple[str, ...]
    by: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        """Every column to read."""
        return [*self.numbers, *self.by, self.target]


def names_in(text: str) -> list[str]:
    """Parse names separated by commas; a name with a comma must be quoted."""
    return [name for name in next(csv.reader([text], skipinitialspace=True), []) if name]


def add_labelled_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that read a table with labels."""
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    parser.add_argument("--features", type=names_in, metavar="A,B,C", help="columns to use; by default all others")
    parser.add_argument("--drop", type=names_in, default=[], metavar="A,B", help="columns to leave out")
    parser.add_argument(
        "--missing",
        choices=("refuse", "drop"),
        default="refuse",
        help="what to do with empty cells: refuse the table (default), or drop their rows",
    )
    add_memory_argument(parser)


def read_labelled(options: argparse.Namespace, by: Sequence[str] = ()) -> LabelledRows:
    """Read the table that the options name."""
    parts: list[tuple[Any, ...]] = []
    with open_table(source_from(options)) as table, ProgressBar(f"reading {options.data}", quiet=options.quiet) as bar:
        chosen = _chosen(table, options, by)
        refuse_text(table, chosen.numbers, ADVICE_TEXT)
        memory = MemoryLimit.of(options.max_memory)
        memory.refuse(table.source, table.n_rows or 1, len(chosen.numbers))
        for batch in table.batches(chosen.all, chosen.numbers):
            memory.refuse(table.source, batch.last_row, len(chosen.numbers), batch.share)
            parts.append(_part(table.source, batch, chosen, drop=options.missing == "drop"))
            bar.update_rows(batch.last_row, table.n_rows, batch.share)
        return _joined(parts, chosen, table.source)


def _chosen(table: Table, options: argparse.Namespace, by: Sequence[str]) -> ColumnRoles:
    given: list[str] | None = options.features
    check_names(table, [options.target, *by, *(given or [])])
    for name in set(options.drop) - set(table.names):
        check_names(table, [name])
    left_out = {options.target, *by, *options.drop}
    if given is not None and left_out & set(given):
        raise InputError(
            f"--features names {sorted(left_out & set(given))[0]!r}, which is the target, dropped or in --by."
        )
    numbers = tuple(given if given is not None else (name for name in table.names if name not in left_out))
    check_names(table, numbers)
    if not numbers:
        raise InputError(f"{table.source.name} has no columns left to be features.")
    return ColumnRoles(options.target, numbers, tuple(by))


def _part(source: Source, batch: Batch, chosen: ColumnRoles, *, drop: bool) -> tuple[Any, ...]:
    """Numbers, categories and labels of a batch, and how many rows were dropped."""
    import numpy as np

    numbers, labels = matrix(batch, chosen.numbers), _labels(source, chosen.target, batch.columns[chosen.target])
    kept = np.array([label is not None for label in labels])
    if drop:
        kept &= np.isfinite(numbers).all(axis=1)
    else:
        refuse_missing(source, batch, numbers, chosen.numbers, ADVICE_MISSING)
        if not kept.all():
            row = batch.first_row + int(kept.argmin())
            raise InputError(f"{source.name}, row {row:,}, column {chosen.target!r} is empty. {ADVICE_MISSING}")
    groups = [categories(batch.columns[name])[kept] for name in chosen.by]
    kept_labels = [label for label, is_kept in zip(labels, kept, strict=True) if is_kept]
    return numbers[kept], groups, kept_labels, int((~kept).sum())


def _labels(source: Source, name: str, column: Any) -> list[Any]:
    """Labels, with None for empty cells; fractions and long texts are refused."""
    labels = column.to_pylist()
    for label in labels:
        if isinstance(label, str) and len(label) > LONGEST_LABEL:
            raise InputError(
                f"{source.name}, column {name!r} holds a text of {len(label):,} letters; is it the target?"
            )
        if isinstance(label, float) and label == label and not label.is_integer():
            raise InputError(
                f"{source.name}, column {name!r} holds {label!r}; labels are text or whole numbers, not measurements."
            )
    return [None if label is None or label == "" or label != label else label for label in labels]


def _joined(parts: list[tuple[Any, ...]], chosen: ColumnRoles, source: Source) -> LabelledRows:
    import numpy as np

    labels = [label for part in parts for label in part[2]]
    plain = {type(label) for label in labels} <= {bool, int, float}
    y = np.array(labels) if plain else np.array([str(label) for label in labels])
    classes = np.unique(y)
    if len(classes) < 2:
        only = f"only {shown(classes[0])}" if len(classes) else "nothing"
        raise InputError(f"{source.name}, column {chosen.target!r} holds {only}; a fit needs two labels or more.")
    if len(classes) > len(y) / 2:
        raise InputError(
            f"{source.name}, column {chosen.target!r} has {len(classes):,} different labels in {len(y):,} rows; "
            "is it the target?"
        )
    X = pandas_package().DataFrame(np.concatenate([part[0] for part in parts]), columns=list(chosen.numbers))
    for j, name in enumerate(chosen.by):
        X[name] = np.concatenate([part[1][j] for part in parts])
    return LabelledRows(X, y, sum(part[3] for part in parts))
