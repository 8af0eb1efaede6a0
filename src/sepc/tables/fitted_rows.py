"""What a fit takes from a file: its rows in memory, or a large Parquet file, whose blocks it reads as needed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable
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
        warnings.warn(f"{left_out} left out.", LeftOutWarning, stacklevel=4)
    return X, labels


def may_be_in_blocks(table: TableFile, n_features: int) -> bool:
    """Whether a table is large, and in a format that can be read from any place."""
    source, n_cells = table.source, (table.n_rows or 0) * n_features
    return source.format == "parquet" and n_cells > SMALL_CELLS


def why_in_memory(table: TableFile, target: str, forced: Collection[Any], batches: Iterable[Batch]) -> str:
    """Why the cells rule out a fit in blocks: missing numbers, unusable labels, or columns that are not features."""
    import numpy as np

    from sepc.columns.kinds import may_be_counted
    from sepc.columns.table import as_typed

    table.check_names([target])
    ranges, labels = dict[str, tuple[float, float, bool]](), set[Any]()
    for batch in batches:
        columns = table.typed(batch.columns)
        labels |= set(columns.pop(target).unique().to_pylist())
        # A fit in memory leaves rows with an empty label out, and refuses fractions and long texts.
        if len(labels) > MOST_LABELS or any(
            label is None
            or label != label
            or len(str(label)) > LONGEST_LABEL
            or (isinstance(label, float) and not label.is_integer())
            for label in labels
        ):
            return f"some cells of column {target!r} are empty or not labels"
        for name, column in columns.items():
            values = as_typed(column.to_numpy(zero_copy_only=False))
            if values.dtype.kind != "O" and (values != values).any():
                return f"column {name!r} has missing values"
            if values.dtype.kind == "f" and name not in forced:
                low, high, whole = ranges.get(name, (np.inf, -np.inf, True))
                whole = whole and bool((values == values.round()).all())
                ranges[name] = min(low, float(values.min())), max(high, float(values.max())), whole
    if len(labels) < 2:
        return "it has a single label"
    n = table.n_rows or 0
    for name, (low, high, whole) in ranges.items():
        if low == high or (whole and n <= high - low + 1.0 and may_be_counted(low, high, n)):
            return f"column {name!r} may be a constant, an id or an index"
    return ""
