"""The secrets of a receipt: a salt for each row that is left, one for the model, and the key of the seal."""

from __future__ import annotations

import base64
import binascii
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray
from sepc.errors import FormatError
from sepc.io.atomic_files import write_whole

FORMAT = "sepc-erasure-salts-1"

# Bytes of a salt: too many to guess.
SALT_BYTES = 16


@dataclass(frozen=True, eq=False)
class Salts:
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

    def save(self, path: str | Path) -> None:
        """Write the salts to a file that only its owner may read."""
        content = {
            "format": FORMAT,
            "rows": base64.b64encode(self.rows.tobytes()).decode(),
            "model": self.model.hex(),
            "seal": self.seal.hex(),
            "of": self.of,
        }
        write_whole(path, json.dumps(content).encode())
        os.chmod(path, 0o600)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file written by `save`.

        Raises
        ------
        FormatError
            If the file is not such a file.
        """
        try:
            content: Any = json.loads(Path(path).read_bytes())
            if content["format"] != FORMAT:
                raise FormatError(f"{path} does not hold the salts of a receipt.")
            data = base64.b64decode(content["rows"], validate=True)
            rows = np.frombuffer(data, dtype=np.uint8).reshape(-1, SALT_BYTES)
            return cls(rows, bytes.fromhex(content["model"]), bytes.fromhex(content["seal"]), str(content["of"]))
        except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
            raise FormatError(f"{path} does not hold the salts of a receipt, or is damaged.") from error
