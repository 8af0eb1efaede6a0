"""What a fit takes from a file: its rows in memory, or a large Parquet file, whose blocks it reads as needed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any

from sepc.errors import LeftOutWarning
from sepc.tables.table_file import LONGEST_LABEL, Batch, TableFile, read_table
from sepc.wording import counted

# Tables with at most this many cells are read into memory anyway; a block of a fit from a file is as large.
SMALL_CELLS = 2**23
# With more distinct labels than this, the table is read into memory, where they are checked.
MOST_LABELS = 1_000


def rows_for_fit(file: str | PathLike[str] | TableFile, y: Any, forced: Collection[Any]) -> tuple[Any, Any]:
    """The features of a file, as an Arrow table, and labels; or the path of a large file or a folder, and `y`."""
    if not isinstance(y, str):
        raise ValueError("If X is a file, y must be the name of the label column.")
    if not isinstance(file, TableFile):
        if os.path.isdir(file):
            return file, y
        file = read_table(file)
    if may_be_in_blocks(file, len(file.names) - 1) and not why_in_memory(file, y, forced, file):
        return file.source.path, y
    X, labels, n_without = file.read(y)
    if n_without:
        left_out = counted(n_without, "row without a label is", "rows without a label are")
        warnings.warn(f"{left_out} left out.", LeftOutWarning, stacklevel=5)
    return X, labels


def may_be_in_blocks(table: TableFile, n_features: int) -> bool:
    """Whether a table is large, and in a format that can be read from any place."""
    source, n_cells = table.source, (table.n_rows or 0) * n_features
    return source.format == "parquet" and not source.is_standard_input and n_cells > SMALL_CELLS


def why_in_memory(table: TableFile, target: str, forced: Collection[Any], batches: Iterable[Batch]) -> str:
    """Why the cells rule out a fit in blocks: missing numbers, unusable labels, or columns that are not features."""
    from sepc.columns.table import as_typed

    table.check_names([target])
    ranges, labels = dict[str, _Range](), set[Any]()
    for batch in batches:
        columns = table.typed(batch.columns)
        labels |= set(columns.pop(target).unique().to_pylist())
        if len(labels) > MOST_LABELS or any(_is_odd(label) for label in labels):
            return f"some cells of column {target!r} are empty or not labels"
        for name, column in columns.items():
            values = as_typed(column.to_numpy(zero_copy_only=False))
            if values.dtype.kind != "O" and (values != values).any():
                return f"column {name!r} has missing values"
            if values.dtype.kind == "f" and name not in forced:
                ranges[name] = ranges.get(name, _Range()).extended(values)
    if len(labels) < 2:
        return "it has a single label"
    odd = next((name for name, own in ranges.items() if own.may_be_no_feature(table.n_rows or 0)), None)
    return "" if odd is None else f"column {odd!r} may be a constant, an id or an index"


def _is_odd(label: Any) -> bool:
    """Whether a label is empty, a fraction or a long text; a fit in memory leaves it out or refuses it."""
    if label is None or label != label:
        return True
    return len(str(label)) > LONGEST_LABEL or (isinstance(label, float) and not label.is_integer())


@dataclass(frozen=True)
class _Range:
    """The smallest and the largest number of a column, and whether all are whole."""

    low: float = float("inf")
    high: float = float("-inf")
    whole: bool = True

    def extended(self, values: Any) -> _Range:
        whole = self.whole and bool((values == values.round()).all())
        return _Range(min(self.low, float(values.min())), max(self.high, float(values.max())), whole)

    def may_be_no_feature(self, n_rows: int) -> bool:
        """Whether it is a constant, or whole numbers in the range of an id or an index."""
        from sepc.columns.kinds import may_be_counted

        n_values = self.high - self.low + 1.0
        is_counted = self.whole and n_rows <= n_values and may_be_counted(self.low, self.high, n_rows)
        return self.low == self.high or is_counted
