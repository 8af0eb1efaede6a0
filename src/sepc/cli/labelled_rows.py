"""A table with labels in memory: all of it for a fit, or a sample of a long file for a look."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from sepc.cli._memory import add_memory_argument
from sepc.cli._messages import InputError, names_in
from sepc.cli.rows import RowReader, open_table
from sepc.cli.source import AsUtf8, source_from
from sepc.cli.tables import (
    Batch,
    ColumnType,
    Features,
    Table,
    as_text,
    check_names,
    data_frame,
    is_gap,
    objects,
    refuse_gaps,
    without_gaps,
)
from sepc.wording import shown

if TYPE_CHECKING:
    from sepc.cli._csv_table import CsvTable

ADVICE = "Use such rows with --missing use, or leave them out with --missing drop."


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Features and labels of a table."""

    X: Any
    y: Any
    n_dropped: int
    beside: Mapping[str, Any] = field(default_factory=dict)

    def at(self, positions: Any) -> LabelledRows:
        """Some of the rows."""
        beside = {name: values[positions] for name, values in self.beside.items()}
        return LabelledRows(self.X.iloc[positions].reset_index(drop=True), self.y[positions], self.n_dropped, beside)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Evenly spaced rows of a table, in their order."""

    rows: LabelledRows
    numbers: Any
    n_rows: int
    is_estimate: bool = False


class Part(NamedTuple):
    """Features and labels of a batch, the numbers of their rows, how many were left out, and columns for display."""

    arrays: dict[str, Any]
    labels: Any
    numbers: Any
    n_dropped: int
    beside: dict[str, Any]

    def of(self, chosen: Any) -> Part:
        """Some of the rows."""
        arrays = {name: values[chosen] for name, values in self.arrays.items()}
        beside = {name: values[chosen] for name, values in self.beside.items()}
        return Part(arrays, self.labels[chosen], self.numbers[chosen], self.n_dropped, beside)


def add_labelled_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that read a table with labels."""
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column of labels")
    parser.add_argument(
        "--features", type=names_in, metavar="A,B,C", help="columns to use as features; by default all but the target"
    )
    parser.add_argument("--drop", type=names_in, default=[], metavar="A,B", help="columns to leave out")
    parser.add_argument(
        "--use",
        type=names_in,
        default=[],
        metavar="A,B",
        help="columns to use even if they look like an id, an index, a constant or free text",
    )
    parser.add_argument(
        "--categorical",
        type=names_in,
        default=[],
        metavar="A,B",
        help="columns that hold categories even if they look like numbers; also the target, if it holds codes",
    )
    parser.add_argument(
        "--missing",
        choices=("use", "drop", "refuse"),
        default="use",
        help="rows with missing values: use them (the default), drop them, or refuse the table",
    )
    add_memory_argument(parser)


def categorical_features(options: argparse.Namespace) -> list[str] | None:
    """The features declared as categories; None if there are none."""
    return [name for name in options.categorical if name != options.target] or None


def read_labelled(options: argparse.Namespace, by: Sequence[str] = ()) -> LabelledRows:
    """Read the table that the options name, for a new model."""
    with open_table(source_from(options)) as table:
        return read_rows(found_rows(table, options, by), options)


def read_rows(rows: RowReader, options: argparse.Namespace) -> LabelledRows:
    """Read the features and the labels of a table."""
    with rows.batches(options, in_memory=True) as batches:
        parts = [_part(rows, batch, options.missing) for batch in batches]
    joined = _joined(rows, parts, options)
    _check_labels(rows, joined.y)
    return joined


def read_sample(rows: RowReader, options: argparse.Namespace, most: int) -> SampledRows:
    """Read at most `most` rows of a table, however long it is: every row, every second, every fourth and so on."""
    import numpy as np

    parts: list[Part] = []
    n_rows, step = 0, 1
    with rows.batches(options) as batches:
        for batch in batches:
            n_rows = batch.last_row
            parts.append(_part(rows, batch, options.missing))
            while n_rows > most * step:
                step *= 2
            parts = [part.of((part.numbers - 1) % step == 0) for part in parts] if step > 1 else parts
    joined = _joined(rows, parts, options)
    return SampledRows(joined, np.concatenate([part.numbers for part in parts]), n_rows)


def found_rows(table: Table, options: argparse.Namespace, by: Sequence[str] = ()) -> RowReader:
    """A reader of the features, the labels and the columns for display that the options name."""
    given: list[str] | None = options.features
    check_names(table, [options.target, *by, *(given or [])])
    named = {*options.drop, *options.use, *options.categorical, *table.source.dates}
    for name in sorted(named - set(table.names)):
        check_names(table, [name])
    beside = beside_names(options)
    check_names(table, beside)
    left_out = {options.target, *by, *options.drop, *ids_in(options)}
    if given is not None and left_out & set(given):
        raise InputError(
            f"--features names {sorted(left_out & set(given))[0]!r}, which --target, --drop, --id or --by names too."
        )
    chosen = list(given if given is not None else (name for name in table.names if name not in left_out))
    check_names(table, chosen)
    if not chosen:
        raise InputError(f"{table.source.name} has no columns left to use as features.")
    readings = {name: _reading(table, name, options.categorical) for name in chosen}
    features = Features(readings | dict.fromkeys(by, ColumnType.FOUND), tuple(by))
    return RowReader(table, features, options.target, copied=beside)


def ids_in(options: argparse.Namespace) -> list[str]:
    """The column of ids, if one is named."""
    given = getattr(options, "id", None)
    return [] if given is None else [given]


def beside_names(options: argparse.Namespace) -> list[str]:
    """Columns to read for display: row ids, and those by which results are broken down."""
    return list(dict.fromkeys([*ids_in(options), *getattr(options, "results_by", [])]))


def _reading(table: Table, name: str, categorical: Sequence[str]) -> ColumnType:
    """What a column is read as."""
    if name in table.source.dates:
        return ColumnType.DATE
    if name in categorical:
        return ColumnType.TEXT
    return table.kind_of(name)


def _part(rows: RowReader, batch: Batch, missing: str) -> Part:
    """The rows of a batch that have a label and, with --missing drop, no missing values."""
    import numpy as np

    arrays, labels = rows.arrays(batch), rows.labels(batch)
    kept = np.array([label is not None for label in labels])
    if missing == "refuse":
        refuse_gaps(rows.source, batch.first_row, arrays, ADVICE)
        if not kept.all():
            row = batch.first_row + int(kept.argmin())
            raise InputError(f"{rows.source.name}, row {row:,}, column {rows.target!r} is empty. {ADVICE}")
    elif missing == "drop":
        kept &= ~np.any([is_gap(values) for values in arrays.values()], axis=0)
    beside = {name: arrays[name] if name in arrays else _text(rows, batch, name) for name in rows.copied}
    part = Part(arrays, labels, batch.first_row + np.arange(len(labels)), int((~kept).sum()), beside)
    return part if kept.all() else part.of(kept)


def _text(rows: RowReader, batch: Batch, name: str) -> Any:
    """A column that is not a feature, as text with None for missing values."""
    return objects(without_gaps(rows.source, as_text(batch.columns[name])).to_pylist())


def _joined(rows: RowReader, parts: list[Part], options: argparse.Namespace) -> LabelledRows:
    import numpy as np

    labels = [label for part in parts for label in part.labels]
    plain = options.target not in options.categorical and {type(label) for label in labels} <= {bool, int, float}
    y = np.array(labels) if plain else np.array([str(label) for label in labels])
    beside = {name: np.concatenate([part.beside[name] for part in parts]) for name in rows.copied}
    columns = {
        name: _whole(rows.table, name, [part.arrays.pop(name) for part in parts], options)
        for name in list(parts[0].arrays)
    }
    return LabelledRows(data_frame(columns), y, sum(part.n_dropped for part in parts), beside)


def _check_labels(rows: RowReader, y: Any) -> None:
    """Raise if a model could not be fitted to these labels."""
    import numpy as np

    source, target, classes = rows.source, rows.target, np.unique(y)
    if len(classes) < 2:
        only = f"only {shown(classes[0])}" if len(classes) else "nothing"
        raise InputError(f"{source.name}, column {target!r} holds {only}; a fit needs at least two labels.")
    if len(classes) > len(y) / 2:
        raise InputError(
            f"{source.name}, column {target!r} has {len(classes):,} different labels in {len(y):,} rows; "
            "is it the target?"
        )


def _whole(table: Table, name: str, parts: list[Any], options: argparse.Namespace) -> Any:
    """A column from its parts; text is numbers if all of it is, and --decimal is given or its first cells are empty."""
    import numpy as np

    from sepc.columns.recognition import Written, is_gap_text

    cells = np.concatenate(parts)
    is_open = options.decimal is not None or table.kind_of(name) is ColumnType.FOUND
    if cells.dtype.kind != "O" or name in options.categorical or not is_open:
        return cells
    decimal = options.decimal or table.source.decimal or "."
    read = Written.number("", decimal, "," if decimal == "." else ".").read(cells)
    is_known = np.array([cell is not None and not is_gap_text(cell) for cell in cells], dtype=bool)
    return read if is_known.any() and not np.isnan(read[is_known]).any() else cells


# In bytes; shorter files are read whole, in half a second.
SHORTEST_FILE = 32 * 2**20
# Sampling more than this share of a file saves little.
MOST_OF_FILE = 0.25
# Places to read from: many, because neighbouring rows are often alike.
N_PLACES = 1_000

# Lines that are not rows.
EMPTY = (b"\n", b"\r\n", b"\r")


def read_spread(table: Table, options: argparse.Namespace, most: int) -> SampledRows | None:
    """Read about `most` evenly spaced rows of a long CSV file; None if the whole file must be read."""
    from sepc.cli._csv_table import CsvTable

    lines = _lines(table, most) if isinstance(table, CsvTable) else None
    if not isinstance(table, CsvTable) or lines is None:
        return None
    sample = b"".join(lines)
    only = replace(table, head=sample, rest=io.BytesIO())
    try:
        read = read_sample(found_rows(only, options), options, len(lines))
    except InputError:
        return None
    if read.n_rows != sum(line not in EMPTY for line in lines):
        return None
    n_bytes = (table.source.n_bytes or 0) - _start(table)
    return replace(read, n_rows=round(n_bytes * read.n_rows / len(sample)), is_estimate=True)


def _start(table: CsvTable) -> int:
    """Where the first row begins in the file."""
    return table.rest.tell() - len(table.head)


def _lines(table: CsvTable, most: int) -> list[bytes] | None:
    """Whole lines from evenly spaced places in the file; None if it is short, or a line may not be a row."""
    n_bytes, row_bytes = table.source.n_bytes, len(table.head) / max(1, table.head.count(b"\n"))
    if n_bytes is None or isinstance(table.rest, AsUtf8):
        return None
    if n_bytes < max(SHORTEST_FILE, most * row_bytes / MOST_OF_FILE):
        return None
    lines: list[bytes] = []
    with open(table.source.path, "rb") as file:
        for block in _blocks(file, _start(table), n_bytes, round(most * row_bytes / N_PLACES)):
            own = block.splitlines(keepends=True)
            if not own or any(line.count(b'"') % 2 for line in own):
                return None
            lines += own
    return lines


def _blocks(file: IO[bytes], start: int, end: int, size: int) -> Iterator[bytes]:
    """Whole lines from each place; the first block begins with the first row, and the last ends with the last row."""
    for i in range(N_PLACES):
        place = start + i * (end - size - start) // (N_PLACES - 1)
        file.seek(place)
        block = file.read(size)
        first = 0 if i == 0 else block.find(b"\n") + 1
        is_last = i == N_PLACES - 1
        last = len(block) if is_last else block.rfind(b"\n") + 1
        yield block[first:last] + (b"\n" if is_last and not block.endswith(b"\n") else b"")
