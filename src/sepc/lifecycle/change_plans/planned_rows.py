"""The rows that a plan fixes beforehand: by a keyed digest of a table, by a rule of drawing, or both."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import IntArray
from sepc.estimators.selective.groups import len_of
from sepc.lifecycle.change_plans.plan import PlannedRows
from sepc.lifecycle.row_bytes import cells_by_column, cells_in_bytes
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
    columns = cells_by_column(X) | {"label of the row": _checked(y, n_rows, "y")}
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
    each, copies = _row_digests(f"{planned.seed} {planned.key}", cells_by_column(X)), Counter[bytes]()
    ranks = []
    for digest in each:
        # Equal rows are drawn independently of each other.
        ranks.append(hashlib.sha256(digest + copies[digest].to_bytes(8, "big")).digest())
        copies[digest] += 1
    return np.sort(np.array(sorted(range(n_rows), key=ranks.__getitem__)[: planned.draw], dtype=np.int64))


def _row_digests(key: str, columns: Mapping[str, list[bytes]]) -> list[bytes]:
    """A keyed digest of each row, given its cells column by column."""
    secret = hashlib.sha512(json.dumps([key, *columns]).encode()).digest()[:LONGEST_KEY]
    rows = zip(*columns.values(), strict=True)
    return [hashlib.blake2b(b"".join(row), key=secret, digest_size=ROW_BYTES).digest() for row in rows]


def _checked(values: ArrayLike, n_rows: int, name: str) -> list[bytes]:
    cells = np.asarray(values)
    if len(cells) != n_rows:
        raise ValueError(f"{name} has {len(cells):,} entries, but there are {counted(n_rows, 'row')}.")
    return cells_in_bytes(cells)
