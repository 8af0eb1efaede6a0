"""A digest of rows, by which a command knows rows that it has seen before, whatever file they are in."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


# Half of a SHA-256: nobody gains by rows of equal digest, so it need only tell rows apart.
LETTERS = 32


class RowDigest:
    """The digest of rows that come in parts; it does not depend on how they are divided."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}
        self._labels = sha256()
        self.n_rows = 0

    def add(self, arrays: Mapping[str, NDArray[Any]], labels: NDArray[Any] | None) -> None:
        """Take some more rows: their features and, if known, their labels."""
        for name, cells in arrays.items():
            self._columns.setdefault(name, sha256()).update(_bytes(cells))
        if labels is not None:
            self._labels.update(_bytes(labels))
        self.n_rows += len(next(iter(arrays.values())))

    def of_labels(self) -> str:
        """The digest of all rows so far with their labels."""
        return sha256(f"{self.of_rows()} {self._labels.hexdigest()}".encode()).hexdigest()[:LETTERS]

    def of_rows(self) -> str:
        """The digest of the features of all rows so far."""
        whole = sha256()
        for name, column in sorted(self._columns.items()):
            whole.update(f"{len(name)} {name} {column.hexdigest()}\n".encode("utf-8", "surrogatepass"))
        return whole.hexdigest()[:LETTERS]


def _bytes(cells: NDArray[Any]) -> bytes:
    if cells.dtype.kind != "O":
        return cells.tobytes()
    return "".join(f"{len(text)} {text}\n" for text in map(repr, cells)).encode("utf-8", "surrogatepass")
