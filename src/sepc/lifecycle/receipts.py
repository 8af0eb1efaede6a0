"""The receipt of an erasure: digests that only its salts make comparable, and a seal."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from hmac import compare_digest
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray
from sepc.cards import Card, ShownAsCard
from sepc.io.codec import Reader
from sepc.lifecycle.rows import cells_by_column, cells_in_bytes
from sepc.lifecycle.state_files import JSONDocument
from sepc.wording import counted

DIGEST_BYTES = 32
TEXTS = ("date", "rows_before", "model_before", "rows_after", "model_after", "seal")
COUNTS = ("n_before", "n_erased", "n_after", "n_counted_wrong")


class ReceiptError(ValueError):
    """A receipt that does not match the rows, the model or the salts that are given with it."""


@dataclass(frozen=True, eq=False, repr=False)
class Receipt(ShownAsCard, JSONDocument):
    """What can be shown about an erasure without telling what was erased.

    It holds no salt, no row, no id and no hash that a guess could be compared with, so it may be given to anyone. With
    the salts, the rows that are left and the model, `verify_receipt` verifies it.

    Attributes
    ----------
    date : str
        The day of the erasure.
    n_before, n_erased, n_after : int
        Rows before, erased and left.
    n_counted_wrong : int
        Rows erased so far, which the promise of the model counts as wrong; 0 for a model without a promise.
    rows_before, rows_after : str
        Digests of the salted digests of all rows. `rows_before` equals `rows_after` of the previous receipt, if the
        erasure was made with its salts.
    model_before, model_after : str
        Salted digests of the models. `model_before` equals `model_after` of the previous receipt, likewise.
    erased : tuple of str
        The salted digests of the erased rows, whose salts no longer exist.
    versions : tuple of str
        Python and packages that the model was fitted with.
    reading : dict
        How the command read the table; empty for rows given in Python.
    seal : str
        A keyed digest of all of this.
    """

    _form, _what, _indent = "sepc-erasure-receipt-1", "a receipt of an erasure", 1

    date: str
    n_before: int
    n_erased: int
    n_after: int
    n_counted_wrong: int
    rows_before: str
    rows_after: str
    model_before: str
    model_after: str
    erased: tuple[str, ...] = field(repr=False)
    versions: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    seal: str = ""

    def sealed(self, key: bytes) -> Receipt:
        """The receipt with its seal."""
        return replace(self, seal=self._seal(key))

    def is_sealed_with(self, key: bytes) -> bool:
        """Whether nothing in the receipt was changed since it was sealed with this key."""
        return compare_digest(self.seal, self._seal(key))

    def _seal(self, key: bytes) -> str:
        text = json.dumps({"format": self._form} | self._content() | {"seal": ""}, sort_keys=True, allow_nan=False)
        return keyed_digest(key, text.encode())

    def _content(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in (*COUNTS, *TEXTS)}
        lists = {"erased": list(self.erased), "versions": list(self.versions)}
        return own | lists | {"reading": dict(self.reading)}

    @classmethod
    def _from(cls, reader: Reader) -> Self:
        values: dict[str, Any] = {name: reader.integer(name) for name in COUNTS}
        values |= {name: reader.text(name) for name in TEXTS}
        values |= {name: reader.texts(name) for name in ("erased", "versions")}
        return cls(**values, reading=reader.value("reading", dict))

    def _card(self) -> Card:
        facts: tuple[tuple[str, str], ...] = (
            ("rows", f"{self.n_before:,} before, {self.n_after:,} left"),
            ("date", self.date),
            ("versions", ", ".join(self.versions)),
        )
        if self.n_counted_wrong:
            facts = (*facts, ("promise", f"counts {counted(self.n_counted_wrong, 'erased row')} as wrong"))
        return Card(f"Receipt for the erasure of {counted(self.n_erased, 'row')}", facts)


def keyed_digest(key: bytes, data: bytes) -> str:
    """A digest that tells nothing about the data without the key."""
    return blake2b(data, key=key, digest_size=DIGEST_BYTES).hexdigest()


def digest_of_all(digests: Sequence[bytes]) -> str:
    """One digest of the salted digests of all rows, in whatever order."""
    return sha256(b"".join(sorted(digests))).hexdigest()


# Bytes of a salt: too many to guess.
SALT_BYTES = 16


@dataclass(frozen=True, eq=False)
class Salts(JSONDocument):
    """Secrets without which nobody can compare a row, or a model, with a receipt.

    Those who hold the rows that are left keep them, to verify the receipt and for the next erasure. The salts of erased
    rows are not among them: they are gone.

    Attributes
    ----------
    rows : (n, 16) array of bytes
        A salt for each row that is left, in the order of the rows.
    model, seal : bytes
        The salt of the model's digest, and the key of the receipt's seal.
    of : str
        The digest of the rows that are left, as in the receipt.
    """

    _form, _what = "sepc-erasure-salts-1", "a file of the salts of a receipt"

    rows: NDArray[np.uint8] = field(repr=False)
    model: bytes = field(repr=False)
    seal: bytes = field(repr=False)
    of: str = ""

    @classmethod
    def new(cls, n_rows: int) -> Self:
        """Random salts."""
        rows = np.frombuffer(secrets.token_bytes(n_rows * SALT_BYTES), dtype=np.uint8).reshape(n_rows, SALT_BYTES)
        return cls(rows, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(SALT_BYTES))

    def left_after(self, keep: IntArray) -> Self:
        """The salts of some of the rows, with new ones for the model and the seal."""
        return type(self)(self.rows[keep].copy(), secrets.token_bytes(SALT_BYTES), secrets.token_bytes(SALT_BYTES))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the salts to a file that only its owner may read."""
        super().save(path)
        os.chmod(path, 0o600)

    def _content(self) -> dict[str, Any]:
        rows = base64.b64encode(self.rows.tobytes()).decode()
        return {"rows": rows, "model": self.model.hex(), "seal": self.seal.hex(), "of": self.of}

    @classmethod
    def _from(cls, reader: Reader) -> Self:
        data = base64.b64decode(reader.text("rows"), validate=True)
        rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, SALT_BYTES)
        return cls(rows, bytes.fromhex(reader.text("model")), bytes.fromhex(reader.text("seal")), reader.text("of"))


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
