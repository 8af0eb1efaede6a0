"""The rows that a plan fixes beforehand: by a keyed digest of a table, by a rule of drawing, or both."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import IntArray
from sepc.columns.table import column_names
from sepc.estimators.selective.groups import len_of
from sepc.lifecycle.change_plans.plan import PlannedRows
from sepc.plain_values import plain
from sepc.points.inputs import is_gap
from sepc.wording import counted

# Bytes of the digest of a row.
ROW_BYTES = 16
LONGEST_KEY = 64


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
    parts = [_labelled(y, n_rows, "y"), *([] if groups is None else [_labelled(groups, n_rows, "groups")])]
    each = _row_digests(key, [*_columns(X), *parts])
    whole = hmac.new(key.encode(), b"".join(sorted(each)), hashlib.sha256)
    return whole.hexdigest()


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


def _row_digests(key: str, columns: list[list[bytes]]) -> list[bytes]:
    """A keyed digest of each row, given its cells column by column."""
    secret = hashlib.sha512(key.encode()).digest()[:LONGEST_KEY]
    rows = zip(*columns, strict=True)
    return [hashlib.blake2b(b"".join(row), key=secret, digest_size=ROW_BYTES).digest() for row in rows]


def _columns(X: Any) -> list[list[bytes]]:
    """The cells of every column as bytes; named columns in the order of their names."""
    if not hasattr(X, "columns"):
        rows = np.asarray(X)
        return [_cells(rows[:, j], f"x{j}") for j in range(rows.shape[1])]
    names = sorted(map(str, column_names(X)))
    values = {str(name): X[name] for name in X.columns}
    return [_cells(np.asarray(values[name]), name) for name in names]


def _labelled(values: ArrayLike, n_rows: int, name: str) -> list[bytes]:
    cells = np.asarray(values)
    if len(cells) != n_rows:
        raise ValueError(f"{name} has {len(cells):,} entries, but there are {counted(n_rows, 'row')}.")
    return _cells(cells, name)


def _cells(values: NDArray[Any], name: str) -> list[bytes]:
    """Every cell as bytes with a length or a kind, so that no two rows of different cells have the same bytes."""
    prefix = f"{len(name)} {name} ".encode("utf-8", "surrogatepass")
    if values.dtype.kind in "biuf":
        # Adding zero turns -0.0 into 0.0; every gap is the same NaN.
        numbers = np.where(np.isnan(doubles := values.astype(np.float64) + 0.0), np.nan, doubles)
        return [prefix + b"n" + number.tobytes() for number in numbers]
    return [prefix + _cell(value) for value in values.tolist()]


def _cell(value: Any) -> bytes:
    value = plain(value)
    if is_gap(value):
        return b"n" + np.float64(np.nan).tobytes()
    if isinstance(value, bool | int | float):
        return b"n" + np.float64(value + 0.0).tobytes()
    text = str(value).encode("utf-8", "surrogatepass")
    return f"t{len(text)} ".encode() + text
