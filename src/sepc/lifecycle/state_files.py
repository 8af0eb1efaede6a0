"""Files beside a model: those of monitors and queues, in the container of model files, and JSON documents."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from sepc.errors import FormatError
from sepc.io.atomic_files import write_whole
from sepc.io.codec import Reader, Writer, record_from, record_to_node
from sepc.io.container import decode, encode
from sepc.wording import version_of

NAMES = {"monitor": "monitor", "queue": "review queue"}

State = TypeVar("State")


def state_to_bytes(kind: str, state: Any, fingerprint: str) -> bytes:
    """A state as bytes, with the fingerprint of its model."""
    writer = Writer()
    node = record_to_node(state, writer.under(kind)) | {"model": fingerprint}
    return encode(writer.arrays, {"library": f"sepc {version_of('sepc')}", kind: node})


def state_from_bytes(
    kind: str, data: bytes, of: type[State], fingerprint: str, sizes: Mapping[str, int] | None = None
) -> tuple[State, Reader]:
    """Read a state, and check that it belongs to the model with this fingerprint; also what it was read with."""
    arrays, content = decode(data)
    if kind not in content:
        raise FormatError(f"The file is not a {NAMES[kind]}; read models with sepc.load.")
    front = Reader(content, arrays)
    reader = front.part(kind)
    if reader.text("model") != fingerprint:
        raise FormatError(f"The file belongs to a {NAMES[kind]} for another model; give the model it was saved with.")
    state = record_from(of, reader, sizes)
    strange = sorted(set(arrays) - front.used)
    if strange:
        raise FormatError(f"The file holds an array that no {NAMES[kind]} has: {strange[0][:80]!r}.")
    return state, reader


# Larger documents are not read: counts of 200 thresholds and a thousand cells take less.
MOST_BYTES = 20_000_000


class JSONDocument:
    """Mixin for what is kept in a JSON file: it adds `to_json`, `save` and `load`."""

    # What the file says that it is, what messages call it, and spaces by which it is indented.
    _form: ClassVar[str]
    _what: ClassVar[str]
    _indent: ClassVar[int | None] = None

    def _content(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _from(cls, reader: Reader) -> Self:
        raise NotImplementedError

    def to_json(self) -> str:
        """The content as a JSON document."""
        content = {"format": self._form, **self._content()}
        return json.dumps(content, indent=self._indent, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file; an existing one is replaced atomically."""
        write_whole(path, self.to_json().encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by `save`.

        Raises
        ------
        FormatError
            If the file is not such a file, or what it holds is impossible.
        """
        try:
            if Path(path).stat().st_size > MOST_BYTES:
                raise FormatError("it is too large.")
            reader = Reader(json.loads(Path(path).read_bytes()), {})
            if reader.text("format") != cls._form:
                raise FormatError(f"its format is not {cls._form}.")
            return cls._from(reader)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{path} is not {cls._what}, or is damaged: {error}") from error
