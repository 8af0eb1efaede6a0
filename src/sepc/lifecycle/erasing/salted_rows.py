"""Salted digests of rows: without its salt, nobody can compare a row with its digest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.lifecycle.erasing.receipt import DIGEST_BYTES, ReceiptError
from sepc.lifecycle.row_bytes import cells_by_column, cells_in_bytes

LABEL = "label of the row"


def salted_digests(blocks: Iterable[tuple[Any, NDArray[Any]]], salts: NDArray[np.uint8]) -> list[bytes]:
    """The digest of each row and its label, keyed with the row's salt; blocks are rows and labels, in order."""
    digests: list[bytes] = []
    for X, labels in blocks:
        n_done = len(digests)
        if n_done + len(labels) > len(salts):
            raise ReceiptError(f"There are more rows than the {len(salts):,} that have a salt.")
        columns = cells_by_column(X) | {LABEL: cells_in_bytes(np.asarray(labels))}
        names, keys = json.dumps(list(columns)).encode(), salts[n_done : n_done + len(labels)]
        for key, cells in zip(keys, zip(*columns.values(), strict=True), strict=True):
            digests.append(blake2b(names + b"".join(cells), key=key.tobytes(), digest_size=DIGEST_BYTES).digest())
    return digests
