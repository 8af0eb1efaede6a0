"""The rows of a fit block by block, and the rows that an erasure leaves, wherever they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import IntArray
from sepc.estimators.checks import check_labels
from sepc.estimators.dask_scoring import is_lazy
from sepc.io.atomic_files import replacing
from sepc.wording import counted

# Rows and labels of a part of a table.
Block = tuple[Any, NDArray[Any]]


def blocks_of(X: Any, y: Any) -> Iterator[Block]:
    """Rows and labels in memory, some at a time: of Parquet files and Dask collections, block by block."""
    if isinstance(X, str | PathLike):
        from sepc.points.on_parquet import labelled_tables

        yield from labelled_tables(X, y)
    elif is_lazy(X):
        yield from _lazy_blocks(X, y)
    else:
        yield X, check_labels(y, "forget")


def _lazy_blocks(X: Any, y: Any) -> Iterator[Block]:
    if isinstance(y, str):
        for part in X.to_delayed():
            table = part.compute()
            yield table.drop(columns=y), np.asarray(table[y])
        return
    rows = X if hasattr(X, "columns") else X.rechunk({1: -1})
    for part, labels in zip(np.ravel(rows.to_delayed()), np.ravel(y.to_delayed()), strict=True):
        yield part.compute(), np.asarray(labels.compute())


def positions_left(rows: ArrayLike, n_rows: int) -> tuple[IntArray, IntArray]:
    """The positions of the rows to erase, and of those that are left; raises if `rows` are not such positions."""
    given = np.asarray(rows)
    if given.dtype.kind == "b":
        if given.shape != (n_rows,):
            raise ValueError(f"rows is a mask of {given.size:,} entries, but there are {counted(n_rows, 'row')}.")
        given = np.flatnonzero(given)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise ValueError("rows must be positions of the rows to erase, or a mask of them, and name at least one.")
    erased = np.unique(given).astype(np.int64)
    if erased[0] < 0 or erased[-1] >= n_rows:
        raise ValueError(f"rows holds {given.min()} to {given.max()}, but positions go from 0 to {n_rows - 1:,}.")
    left = np.setdiff1d(np.arange(n_rows), erased)
    if not len(left):
        raise ValueError("rows names every row; delete the model instead.")
    return erased, left


def rows_left(X: Any, y: Any, left: IntArray, rest: str | PathLike[str] | None) -> tuple[Any, Any]:
    """The rows at these positions and their labels; those of Parquet files are written to the file `rest`."""
    if isinstance(X, str | PathLike):
        if rest is None:
            raise ValueError("X is a path, so give rest=..., the Parquet file to write the other rows to.")
        from sepc.points.on_parquet import write_some

        with replacing(rest) as temporary:
            write_some(X, y, left, temporary)
        return rest, y
    if rest is not None:
        raise ValueError("rest is for Parquet files; rows in memory and Dask collections are not written.")
    if is_lazy(X):
        return _some_lazy(X, left), y if isinstance(y, str) else _some_lazy(y, left)
    return some(X, left), some(check_labels(y, "forget"), left)


def _some_lazy(values: Any, left: IntArray) -> Any:
    """Some rows of a Dask collection, in the same partitions."""
    if not hasattr(values, "map_partitions"):
        return values[left]
    sizes = values.map_partitions(len).compute().tolist()
    starts = np.cumsum([0, *sizes])
    inside = [left[(left >= start) & (left < start + n)] - start for start, n in zip(starts, sizes, strict=False)]
    return values.map_partitions(_some_of_partition, inside, meta=values)


def _some_of_partition(part: Any, inside: list[IntArray], partition_info: Any = None) -> Any:
    return part if partition_info is None else part.iloc[inside[partition_info["number"]]]


def some(values: Any, left: IntArray) -> Any:
    """Some of the rows of a table, an array or a mapping of arrays; categories that none of them has are dropped."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: some(column, left) for name, column in values.items()}
    return _without_unused(_safe_indexing(values, left))


def _without_unused(values: Any) -> Any:
    """A pandas DataFrame without the categories that no row has, since its dtype would still name them."""
    dtypes = getattr(values, "dtypes", None)
    if not hasattr(values, "assign") or dtypes is None:
        return values
    named = [name for name, dtype in dtypes.items() if hasattr(dtype, "categories")]
    return values.assign(**{name: values[name].cat.remove_unused_categories() for name in named}) if named else values
