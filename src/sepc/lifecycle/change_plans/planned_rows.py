"""The rows that a plan fixes beforehand: by a keyed digest of a table, by a rule of drawing, or both."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import IntArray
from sepc.estimators.selective.groups import len_of
from sepc.lifecycle.change_plans.plan import PlannedRows
from sepc.points.inputs import is_gap
from sepc.wording import counted

# Bytes of the digest of a row.
ROW_BYTES = 16
LONGEST_KEY = 64
NUMBER, BYTES_OF_A_DOUBLE = b"n", 8
# Kinds of NumPy types that are hashed as numbers.
NUMBERS = "biuf"


def row_digest(key: str, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> str:
    """The keyed digest of rows with their labels and groups, for a change plan.

    It is the same for any order of rows and of named columns. It reveals nothing about the rows to who does not know
    the key; who has both can check that they are the rows that were meant.

    Parameters
    ----------
    key : str
        The `key` of the plan: at least 16 random characters.
    X : array or DataFrame of n rows
    y : array of shape (n,)
    groups : array of shape (n,), optional

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    >>> row_digest("some random characters", X, y) == row_digest("some random characters", X[::-1], y[::-1])
    True
    """
    n_rows = len_of(X)
    columns = _columns(X) | {"label of the row": _checked(y, n_rows, "y")}
    columns |= {} if groups is None else {"group of the row": _checked(groups, n_rows, "groups")}
    whole = b"".join(sorted(_row_digests(key, columns)))
    return hmac.new(key.encode(), whole, hashlib.sha256).hexdigest()


def planned_positions(planned: PlannedRows, X: Any) -> IntArray:
    """The positions of the rows to judge: all of them, or those that the plan draws.

    A row is drawn by a keyed hash of its values, so that its place in the table does not matter, nor do labels.
    """
    n_rows = len_of(X)
    if not planned.draw:
        return np.arange(n_rows)
    if n_rows < planned.draw:
        raise ValueError(f"The plan draws {planned.draw:,} rows, but there are only {counted(n_rows, 'row')}.")
    each, copies = _row_digests(f"{planned.seed} {planned.key}", _columns(X)), Counter[bytes]()
    ranks = []
    for digest in each:
        # Equal rows are drawn independently of each other.
        ranks.append(hashlib.sha256(digest + copies[digest].to_bytes(8, "big")).digest())
        copies[digest] += 1
    return np.sort(np.array(sorted(range(n_rows), key=ranks.__getitem__)[: planned.draw], dtype=np.int64))


def _row_digests(key: str, columns: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """A keyed digest of each row, given its cells column by column."""
    secret = hashlib.sha512(json.dumps([key, *columns]).encode()).digest()[:LONGEST_KEY]
    parts = [
        part
        for are_numbers, some in groupby(columns.values(), key=lambda values: values.dtype.kind in NUMBERS)
        for part in ([_number_bytes(list(some))] if are_numbers else [list(map(_cell, one.tolist())) for one in some])
    ]
    rows = zip(*parts, strict=True)
    return [hashlib.blake2b(b"".join(row), key=secret, digest_size=ROW_BYTES).digest() for row in rows]


def _columns(X: Any) -> dict[str, NDArray[Any]]:
    """The columns of a table; named ones in the order of their names."""
    if not hasattr(X, "columns"):
        rows = np.asarray(X)
        return {f"x{j}": rows[:, j] for j in range(rows.shape[1])}
    values = {str(name): X[name] for name in X.columns}
    return {name: np.asarray(values[name]) for name in sorted(values)}


def _checked(values: ArrayLike, n_rows: int, name: str) -> NDArray[Any]:
    cells = np.asarray(values)
    if len(cells) != n_rows:
        raise ValueError(f"{name} has {len(cells):,} entries, but there are {counted(n_rows, 'row')}.")
    return cells


def _number_bytes(columns: list[NDArray[Any]]) -> list[bytes]:
    """The cells of several columns of numbers as bytes, joined row by row; the same bytes as `_cell` gives for each."""
    cells = np.empty((len(columns[0]), len(columns), 1 + BYTES_OF_A_DOUBLE), dtype=np.uint8)
    cells[:, :, 0] = NUMBER[0]
    for j, values in enumerate(columns):
        # Adding zero turns -0.0 into 0.0; every gap is the same NaN.
        doubles = values.astype(np.float64) + 0.0
        numbers = np.where(np.isnan(doubles), np.nan, doubles)
        cells[:, j, 1:] = numbers.view(np.uint8).reshape(-1, BYTES_OF_A_DOUBLE)
    return list(cells.reshape(len(cells), -1).view(f"V{cells[:1].size}").ravel().tolist()) if len(cells) else []


def _cell(value: Any) -> bytes:
    """A cell as bytes that begin with its kind and, for text, its length, so that joined cells stay apart."""
    if is_gap(value):
        return NUMBER + np.float64(np.nan).tobytes()
    if isinstance(value, bool | int | float):
        return NUMBER + np.float64(value + 0.0).tobytes()
    text = str(value).encode("utf-8", "surrogatepass")
    return f"t{len(text)} ".encode() + text
