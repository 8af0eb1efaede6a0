"""Models inside a wrapper: those of this library are written with it, others are recognised when passed to `load`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sepc.io.fingerprint import fingerprint_of, reattach
from sepc.io.reader import Reader
from sepc.io.writer import Node, Writer


@dataclass(frozen=True)
class InnerModels:
    """Writes and reads models inside a wrapper: those of this library in full, others by their fingerprint."""

    write: Callable[[Any, Writer], Node | None]
    read: Callable[[Reader], Any]
    estimator: Any = None
    transformer: Any = None

    def to_node(self, model: Any, writer: Writer) -> Node:
        """Write a model inside a wrapper."""
        node = self.write(model, writer.under("ours"))
        return {"ours": node} if node is not None else {"foreign": fingerprint_of(model)}

    def from_node(self, reader: Reader) -> Any:
        """Read the model, or take the one given to `load`."""
        if reader.has("ours"):
            return self.read(reader.part("ours"))
        return reattach(self.estimator, reader.part("foreign"), "estimator")
