"""Tables on a Dask cluster or in Parquet files: whether they have not only numbers, and a sample of them."""

from __future__ import annotations

from os import PathLike
from typing import Any

from numpy.typing import NDArray

from sepc.estimators.dask_scoring import is_lazy

# The most rows to learn from what columns are, and how to encode categories: as many as weights are fitted to.
DRAWN_ROWS = 40_000


def is_lazy_table(X: Any) -> bool:
    """Whether a collection has named columns: a Dask DataFrame, or Parquet files."""
    return isinstance(X, str | PathLike) or hasattr(X, "columns")


def has_other_columns(X: Any, y: Any) -> bool:
    """Whether a collection has columns whose type is not one of numbers; no row is read."""
    if is_lazy(X):
        from sepc.points.dask.drawn_table import has_other_columns as on_dask

        return on_dask(X, y)
    from sepc.points.on_parquet import has_other_columns as on_parquet

    return on_parquet(X, y)


def drawn_table(X: Any, y: Any, seed: int) -> tuple[Any, NDArray[Any]]:
    """A sample of the rows of a collection in memory, and their labels; the same whenever it is drawn."""
    if is_lazy(X):
        from sepc.points.dask.drawn_table import drawn_table as on_dask

        return on_dask(X, y, DRAWN_ROWS, seed)
    from sepc.points.on_parquet import drawn_table as on_parquet

    return on_parquet(X, y, DRAWN_ROWS, seed)
