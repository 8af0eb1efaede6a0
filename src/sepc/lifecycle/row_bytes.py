"""The cells of rows as bytes, the same wherever the rows are stored, for digests of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.columns.table import column_names
from sepc.points.inputs import is_gap

NUMBER = b"n"


def cells_by_column(X: Any) -> dict[str, list[bytes]]:
    """The cells of every column as bytes; named columns in the order of their names."""
    if not hasattr(X, "columns"):
        rows = np.asarray(X)
        return {f"x{j}": cells_in_bytes(rows[:, j]) for j in range(rows.shape[1])}
    values = {str(name): X[name] for name in column_names(X)}
    return {name: cells_in_bytes(np.asarray(values[name])) for name in sorted(values)}


def cells_in_bytes(values: NDArray[Any]) -> list[bytes]:
    """Every cell as bytes that begin with their kind and, for text, their length, so that joined cells stay apart."""
    if values.dtype.kind in "biuf":
        # Adding zero turns -0.0 into 0.0; every gap is the same NaN.
        doubles = values.astype(np.float64) + 0.0
        numbers = np.where(np.isnan(doubles), np.nan, doubles)
        return [NUMBER + cell for cell in np.ascontiguousarray(numbers).view("V8").tolist()]
    return [_cell(value) for value in values.tolist()]


def _cell(value: Any) -> bytes:
    if is_gap(value):
        return NUMBER + np.float64(np.nan).tobytes()
    if isinstance(value, bool | int | float):
        return NUMBER + np.float64(value + 0.0).tobytes()
    text = str(value).encode("utf-8", "surrogatepass")
    return f"t{len(text)} ".encode() + text
