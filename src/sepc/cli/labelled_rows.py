"""A table with labels, read into memory for a fit."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sepc.cli.column_reading import array_of
from sepc.cli.memory import MemoryLimit, add_memory_argument
from sepc.cli.messages import InputError
from sepc.cli.model_file import categories, pandas_package
from sepc.cli.open_table import open_table
from sepc.cli.option_values import names_in
from sepc.cli.progress_bar import ProgressBar
from sepc.cli.source import Source, is_number, source_from
from sepc.cli.tables import Batch, Reading, Table, bad_cell_line, check_names, is_gap, quoted, refuse_gaps
from sepc.wording import shown

ADVICE = "Use such rows with --missing use, or leave them out with --missing drop."

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


class Features(Protocol):
    """The features of a table and how they are read: as a table shows them, or as a model knows them."""

    @property
    def used(self) -> Sequence[str]:
        """Names of the columns."""

    @property
    def readings(self) -> dict[str, Reading]:
        """What each of them is read as."""

    def arrays(self, source: Source, batch: Batch) -> dict[str, Any]:
        """The features of a batch."""


@dataclass(frozen=True, eq=False)
class FoundFeatures:
    """Features of a table for a new model.

    Attributes
    ----------
    readings : dict of name to Reading
    by : tuple of str
        Columns whose values get models of their own.
    """

    readings: dict[str, Reading]
    by: tuple[str, ...]

    @property
    def used(self) -> list[str]:
        """Names of the columns."""
        return list(self.readings)

    def arrays(self, source: Source, batch: Batch) -> dict[str, Any]:
        """The features of a batch."""
        return {
            name: categories(batch.columns[name])
            if name in self.by
            else array_of(source, name, batch.columns[name], reading, batch.first_row)
            for name, reading in self.readings.items()
        }


def add_labelled_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that read a table with labels."""
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    parser.add_argument("--features", type=names_in, metavar="A,B,C", help="columns to use; by default all others")
    parser.add_argument("--drop", type=names_in, default=[], metavar="A,B", help="columns to leave out")
    parser.add_argument(
        "--keep",
        type=names_in,
        default=[],
        metavar="A,B",
        help="columns to use though they look like an id, an index, a constant or free text",
    )
    parser.add_argument(
        "--categorical",
        type=names_in,
        default=[],
        metavar="A,B",
        help="columns that hold categories though they look like numbers",
    )
    parser.add_argument(
        "--missing",
        choices=("use", "drop", "refuse"),
        default="use",
        help="rows with gaps: use what is there (the default), drop them, or refuse the table",
    )
    add_memory_argument(parser)


def read_labelled(options: argparse.Namespace, by: Sequence[str] = ()) -> LabelledRows:
    """Read the table that the options name, for a new model."""
    with open_table(source_from(options)) as table:
        return read_rows(table, found_features(table, options, by), options)


def read_rows(table: Table, features: Features, options: argparse.Namespace) -> LabelledRows:
    """Read these features and the labels of a table."""
    parts: list[tuple[dict[str, Any], list[Any], int]] = []
    memory = MemoryLimit.of(options.max_memory)
    memory.refuse(table.source, table.n_rows or 1, len(features.used))
    with ProgressBar(f"reading {table.source.name}", quiet=options.quiet) as bar:
        for batch in table.batches([*features.used, options.target], features.readings):
            memory.refuse(table.source, batch.last_row, len(features.used), batch.share)
            parts.append(_part(table.source, batch, features, options))
            bar.update_rows(batch.last_row, table.n_rows, batch.share)
    return _joined(table, parts, options.target)


def found_features(table: Table, options: argparse.Namespace, by: Sequence[str] = ()) -> FoundFeatures:
    """The columns to use as features, and what they are read as."""
    given: list[str] | None = options.features
    check_names(table, [options.target, *by, *(given or [])])
    named = {*options.drop, *options.keep, *options.categorical, *table.source.dates}
    for name in sorted(named - set(table.names)):
        check_names(table, [name])
    left_out = {options.target, *by, *options.drop}
    if given is not None and left_out & set(given):
        raise InputError(
            f"--features names {sorted(left_out & set(given))[0]!r}, which is the target, dropped or in --by."
        )
    chosen = list(given if given is not None else (name for name in table.names if name not in left_out))
    check_names(table, chosen)
    if not chosen:
        raise InputError(f"{table.source.name} has no columns left to be features.")
    readings = {name: _reading(table, name, options.categorical) for name in chosen}
    return FoundFeatures(readings | dict.fromkeys(by, Reading.FOUND), tuple(by))


def _reading(table: Table, name: str, categorical: Sequence[str]) -> Reading:
    """What a column is read as; raises if most of its cells are numbers, but not all."""
    if name in table.source.dates:
        return Reading.DATE
    if name in categorical:
        return Reading.TEXT
    kind = table.kind_of(name)
    if kind is Reading.TEXT:
        cell = table.first_bad_cell(name)
        if cell is not None and cell.mostly_numbers:
            more = f", and if the column holds categories, --categorical {quoted(name)}"
            raise InputError(bad_cell_line(table.source, name, cell, more))
    return kind


def _part(
    source: Source, batch: Batch, features: Features, options: argparse.Namespace
) -> tuple[dict[str, Any], list[Any], int]:
    """Features and labels of a batch, and how many rows were left out."""
    import numpy as np

    arrays = features.arrays(source, batch)
    labels = labels_in(source, options.target, batch.columns[options.target])
    kept = np.array([label is not None for label in labels])
    if options.missing == "refuse":
        refuse_gaps(source, batch.first_row, arrays, ADVICE)
        if not kept.all():
            row = batch.first_row + int(kept.argmin())
            raise InputError(f"{source.name}, row {row:,}, column {options.target!r} is empty. {ADVICE}")
    elif options.missing == "drop":
        kept &= ~np.any([is_gap(values) for values in arrays.values()], axis=0)
    if kept.all():
        return arrays, labels, 0
    some = {name: values[kept] for name, values in arrays.items()}
    return some, [label for label, is_kept in zip(labels, kept, strict=True) if is_kept], int((~kept).sum())


def labels_in(source: Source, name: str, column: Any) -> list[Any]:
    """Labels, with None for empty cells and those of --na; fractions and long texts are refused."""
    labels = [label.strip() if isinstance(label, str) else label for label in column.to_pylist()]
    for label in labels:
        if isinstance(label, str) and len(label) > LONGEST_LABEL:
            raise InputError(
                f"{source.name}, column {name!r} holds a text of {len(label):,} letters; is it the target?"
            )
        if isinstance(label, float) and label == label and not label.is_integer():
            raise InputError(
                f"{source.name}, column {name!r} holds {label!r}; labels are text or whole numbers, not measurements."
            )
    # The usual texts for a gap may be labels: NA is a continent, and None an answer.
    gaps = {None, "", *source.na, *source.gap_numbers}
    return [None if label in gaps or label != label else label for label in labels]


def _joined(table: Table, parts: list[tuple[dict[str, Any], list[Any], int]], target: str) -> LabelledRows:
    import numpy as np

    source, labels = table.source, [label for _, some, _ in parts for label in some]
    plain = {type(label) for label in labels} <= {bool, int, float}
    y = np.array(labels) if plain else np.array([str(label) for label in labels])
    classes = np.unique(y)
    if len(classes) < 2:
        only = f"only {shown(classes[0])}" if len(classes) else "nothing"
        raise InputError(f"{source.name}, column {target!r} holds {only}; a fit needs two labels or more.")
    if len(classes) > len(y) / 2:
        raise InputError(
            f"{source.name}, column {target!r} has {len(classes):,} different labels in {len(y):,} rows; "
            "is it the target?"
        )
    columns = {name: _whole(table, name, [arrays.pop(name) for arrays, _, _ in parts]) for name in list(parts[0][0])}
    return LabelledRows(pandas_package().DataFrame(columns), y, sum(n for _, _, n in parts))


def _whole(table: Table, name: str, parts: list[Any]) -> Any:
    """A column from its parts; one whose first cells did not show what it holds is numbers if all cells are."""
    import numpy as np

    cells = np.concatenate(parts)
    if table.kind_of(name) is not Reading.FOUND or cells.dtype.kind != "O":
        return cells
    decimal = table.source.decimal or "."
    if not all(cell is None or is_number(cell, decimal) for cell in cells):
        return cells
    return np.array([np.nan if cell is None else float(cell.replace(decimal, ".")) for cell in cells])
