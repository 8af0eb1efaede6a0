"""A table with labels in memory: all of it for a fit, or a sample of a long file for a look."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

from sepc.cli._memory import add_memory_argument
from sepc.cli._messages import InputError, names_in
from sepc.cli.rows import batches_of, refuse_gaps
from sepc.cli.source import open_table
from sepc.tables.files import Source
from sepc.tables.table_file import TableFile, labels_array, objects, plain
from sepc.wording import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ADVICE = "Use such rows with --missing use, or leave them out with --missing drop."


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Features, as an Arrow table, and labels."""

    X: Any
    y: Any
    n_dropped: int
    beside: Mapping[str, Any] = field(default_factory=dict)

    def at(self, positions: Any) -> LabelledRows:
        """Some of the rows."""
        beside = {name: values[positions] for name, values in self.beside.items()}
        return LabelledRows(self.X.take(positions), self.y[positions], self.n_dropped, beside)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Evenly spaced rows of a table, in their order."""

    rows: LabelledRows
    numbers: Any
    n_rows: int
    is_estimate: bool = False


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table, and which of its columns are features, labels, and for display."""

    table: TableFile
    features: tuple[str, ...]
    target: str
    beside: tuple[str, ...] = ()


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


def named_columns(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of an estimator that name columns; empty if no column is named."""
    categorical = [name for name in options.categorical if name != options.target]
    given = {"categorical_features": categorical, "force_features": options.use}
    return {name: columns for name, columns in given.items() if columns}


def read_labelled(options: argparse.Namespace, by: Sequence[str] = ()) -> LabelledRows:
    """Read the table that the options name, for a new model."""
    return read_rows(labelled_table(open_table(options), options, by), options)


def read_rows(given: LabelledTable, options: argparse.Namespace) -> LabelledRows:
    """Read the features and the labels of a table; raises if a model could not be fitted to them."""
    rows = read_sample(given, options, in_memory=True).rows
    check_labels(given.table, given.target, rows.y)
    return rows


def read_sample(
    given: LabelledTable,
    options: argparse.Namespace,
    most: float = float("inf"),
    *,
    in_memory: bool = False,
    stream: IO[bytes] | None = None,
) -> SampledRows:
    """Read at most `most` rows of a table, however long it is: every row, every second, every fourth and so on."""
    import numpy as np
    import pyarrow as pa

    table, wanted = given.table, list(dict.fromkeys([*given.features, *given.beside, given.target]))
    parts: list[tuple[Any, NDArray[np.int64]]] = []
    n_rows, step = 0, 1
    with batches_of(table, wanted, len(given.features), options, in_memory=in_memory, stream=stream) as batches:
        for batch in batches:
            n_rows = batch.last_row
            parts.append((pa.table(batch.columns), batch.first_row + np.arange(batch.n_rows)))
            while n_rows > most * step:
                step *= 2
            if step > 1:
                parts = [(part.filter((own - 1) % step == 0), own[(own - 1) % step == 0]) for part, own in parts]
    numbers = np.concatenate([own for _, own in parts])
    whole = pa.concat_tables([part for part, _ in parts])
    typed = table.typed({name: whole.column(name) for name in wanted}, numbers)
    labels = table.labels(given.target, typed[given.target])
    gaps = {name: np.asarray(typed[name].is_null(nan_is_null=True)) for name in given.features}
    kept = kept_rows(table.source, gaps, {given.target: labels}, options, numbers)
    beside = {name: _display(table, whole.column(name), typed, name)[kept] for name in given.beside}
    X = pa.table({name: typed[name] for name in given.features})
    y = labels[kept]
    y = np.array([str(label) for label in y]) if given.target in options.categorical else labels_array(y)
    n_dropped = round((len(kept) - kept.sum()) * n_rows / len(kept))
    return SampledRows(LabelledRows(X.filter(kept), y, n_dropped, beside), numbers[kept], n_rows)


def kept_rows(
    source: Source, gaps: Mapping[str, Any], target: Mapping[str, Any], options: argparse.Namespace, numbers: Any = None
) -> NDArray[np.bool_]:
    """Which rows have a label and, with --missing drop, no missing values; `gaps` of the features."""
    import numpy as np

    ((name, labels),) = target.items()
    kept = np.array([label is not None for label in labels], dtype=bool)
    if options.missing == "refuse":
        refuse_gaps(source, np.arange(1, len(kept) + 1) if numbers is None else numbers, {**gaps, name: ~kept}, ADVICE)
    return kept & ~np.any(list(gaps.values()), axis=0) if options.missing == "drop" else kept


def _display(table: TableFile, column: Any, typed: Mapping[str, Any], name: str) -> NDArray[Any]:
    """A column for display: numbers if it is a feature of numbers, else its texts, with None for missing values."""
    from sepc.columns.table import column_of

    values = column_of(typed, name)
    return values if values.dtype.kind == "f" and column.type != "string" else objects(as_text(table, column))


def as_text(table: TableFile, column: Any) -> list[Any]:
    """The cells of a column as texts without surrounding whitespace; floats that are all whole as integers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = plain(table.source, column)
    if pa.types.is_floating(column.type):
        whole = pc.and_(pc.equal(column, pc.round(column)), pc.less(pc.abs(column), 2.0**53))
        column = column.cast("int64") if pc.all(whole, min_count=0).as_py() else column
    return list(column.cast("string").to_pylist())


def labelled_table(table: TableFile, options: argparse.Namespace, by: Sequence[str] = ()) -> LabelledTable:
    """The features, the labels and the columns for display that the options name."""
    given: list[str] | None = options.features
    named = {*options.drop, *options.use, *options.categorical, *table.source.dates}
    beside = [*ids_in(options), *getattr(options, "results_by", [])]
    table.check_names([options.target, *by, *(given or []), *sorted(named - set(table.names)), *beside])
    left_out = {options.target, *by, *options.drop, *ids_in(options)}
    if given is not None and left_out & set(given):
        raise InputError(
            f"--features names {sorted(left_out & set(given))[0]!r}, which --target, --drop, --id or --by names too."
        )
    chosen = list(given if given is not None else (name for name in table.names if name not in left_out))
    table.check_names(chosen)
    if not chosen:
        raise InputError(f"{table.source.name} has no columns left to use as features.")
    return LabelledTable(table, (*chosen, *by), options.target, tuple(dict.fromkeys(beside)))


def ids_in(options: argparse.Namespace) -> list[str]:
    """The column of ids, if one is named."""
    given = getattr(options, "id", None)
    return [] if given is None else [given]


def check_labels(table: TableFile, target: str, y: Any) -> None:
    """Raise if a model could not be fitted to these labels."""
    import numpy as np

    source, classes = table.source, np.unique(y)
    if len(classes) < 2:
        only = f"only {shown(classes[0])}" if len(classes) else "nothing"
        raise InputError(f"{source.name}, column {target!r} holds {only}; a fit needs at least two labels.")
    if len(classes) > len(y) / 2:
        raise InputError(
            f"{source.name}, column {target!r} has {len(classes):,} different labels in {len(y):,} rows; "
            "is it the target?"
        )


# Bytes that show how long rows are.
HEAD_BYTES = 2**20
# In bytes; shorter files are read whole, in half a second.
SHORTEST_FILE = 32 * 2**20
# Sampling more than this share of a file saves little.
MOST_OF_FILE = 0.25
# Places to read from: many, because neighbouring rows are often alike.
N_PLACES = 1_000

# Lines that are not rows.
EMPTY = (b"\n", b"\r\n", b"\r")


def read_spread(table: TableFile, options: argparse.Namespace, most: int) -> SampledRows | None:
    """Read about `most` evenly spaced rows of a long CSV file; None if the whole file must be read."""
    start, n_bytes = table.first_byte, table.source.n_bytes or 0
    lines = None if start is None else _lines(table.source.path, start, n_bytes, most)
    if start is None or lines is None:
        return None
    sample = b"".join(lines)
    try:
        read = read_sample(labelled_table(table, options), options, stream=io.BufferedReader(io.BytesIO(sample)))
    except ValueError:
        return None
    if read.n_rows != sum(line not in EMPTY for line in lines):
        return None
    return replace(read, n_rows=round((n_bytes - start) * read.n_rows / len(sample)), is_estimate=True)


def _lines(path: str, start: int, n_bytes: int, most: int) -> list[bytes] | None:
    """Whole lines from evenly spaced places in the file; None if it is short, or a line may not be a row."""
    lines: list[bytes] = []
    with open(path, "rb") as file:
        file.seek(start)
        head = file.read(HEAD_BYTES)
        row_bytes = len(head) / max(1, head.count(b"\n"))
        if n_bytes < max(SHORTEST_FILE, most * row_bytes / MOST_OF_FILE):
            return None
        for block in _blocks(file, start, n_bytes, round(most * row_bytes / N_PLACES)):
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
