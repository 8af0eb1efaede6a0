"""A table with labels in memory: all of it for a fit, or some of its rows for a look."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import InputError
from sepc.cli.rows import batches_of, open_table, refuse_gaps
from sepc.tables.files import Source
from sepc.tables.table_file import TableFile, labels_array, objects, plain
from sepc.wording import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ADVICE = "Use such rows with --missing use, or leave them out with --missing drop."


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Features, as an Arrow table, and labels.

    `numbers` are those of the rows in a table of `n_rows`; `beside` has columns for display.
    """

    X: Any
    y: Any
    n_dropped: int = 0
    beside: Mapping[str, Any] = field(default_factory=dict)
    numbers: Any = None
    n_rows: int = 0

    def at(self, positions: Any) -> LabelledRows:
        """Some of the rows."""
        beside = {name: values[positions] for name, values in self.beside.items()}
        return LabelledRows(self.X.take(positions), self.y[positions], self.n_dropped, beside)


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """A table, and which of its columns are features, labels, and for display."""

    table: TableFile
    features: tuple[str, ...]
    target: str
    beside: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: argparse.Namespace, by: Sequence[str] = ()) -> LabelledTable:
        """The table and the columns that the options name; those in `by` are features, too."""
        table, given = open_table(options), options.features
        named = {*options.drop, *options.use, *options.categorical, *table.source.dates}
        beside = [*ids_in(options), *getattr(options, "results_by", [])]
        table.check_names([options.target, *by, *(given or []), *sorted(named - set(table.names)), *beside])
        left_out = {options.target, *by, *options.drop, *ids_in(options)}
        if twice := sorted(left_out & set(given or ())):
            raise InputError(f"--features names {twice[0]!r}, which --target, --drop, --id or --by names too.")
        chosen = list(given if given is not None else (name for name in table.names if name not in left_out))
        table.check_names(chosen)
        if not chosen:
            raise InputError(f"{table.source.name} has no columns left to use as features.")
        return cls(table, (*chosen, *by), options.target, tuple(dict.fromkeys(beside)))

    def read(self, options: argparse.Namespace, most: float = float("inf")) -> LabelledRows:
        """Read at most `most` rows, however long the table is: every row, every second, every fourth and so on."""
        import numpy as np
        import pyarrow as pa

        table, wanted = self.table, list(dict.fromkeys([*self.features, *self.beside, self.target]))
        parts: list[tuple[Any, NDArray[np.int64]]] = []
        n_rows, step = 0, 1
        with batches_of(table, wanted, len(self.features), options, in_memory=most == float("inf")) as batches:
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
        labels = table.labels(self.target, typed[self.target])
        gaps = {name: np.asarray(typed[name].is_null(nan_is_null=True)) for name in self.features}
        kept = kept_rows(table.source, gaps, {self.target: labels}, options, numbers)
        beside = {name: _display(table, whole.column(name), typed, name)[kept] for name in self.beside}
        X = pa.table({name: typed[name] for name in self.features})
        y = labels[kept]
        y = np.array([str(label) for label in y]) if self.target in options.categorical else labels_array(y)
        n_dropped = round((len(kept) - kept.sum()) * n_rows / len(kept))
        return LabelledRows(X.filter(kept), y, n_dropped, beside, numbers[kept], n_rows)

    def read_for_fit(self, options: argparse.Namespace) -> LabelledRows:
        """Read all rows; raises if a model could not be fitted to them."""
        rows = self.read(options)
        check_labels(self.table, self.target, rows.y)
        return rows


def named_columns(options: argparse.Namespace) -> dict[str, Any]:
    """The parameters of an estimator that name columns; empty if no column is named."""
    categorical = [name for name in options.categorical if name != options.target]
    given = {"categorical_features": categorical, "force_features": options.use}
    return {name: columns for name, columns in given.items() if columns}


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
