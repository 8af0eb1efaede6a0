"""Describe a model file in a few lines, although nothing in its description has been checked."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sepc.cards import Card, ShownAsCard
from sepc.io.codec import Node
from sepc.io.history import ModelHistory, edits_in_words
from sepc.wording import name_of

# The most classes and features to name, and the most parameters; no estimator has more parameters.
MOST_NAMED = 8
MOST_PARAMETERS = 20


@dataclass(frozen=True, repr=False)
class Inspection(ShownAsCard):
    """The contents of a model file.

    Attributes
    ----------
    format : int
    library : str
        The library that wrote it, and its version.
    model : dict
        The JSON description of the model. Nothing in it has been checked.
    n_arrays, n_bytes : int
        Number of arrays, and their total size.
    history : ModelHistory
        How the model was made, step by step; prints as text.
    """

    format: int
    library: str
    model: Node
    n_arrays: int
    n_bytes: int
    history: ModelHistory

    def __str__(self) -> str:
        head = f"{_kind_of(self.model)}, format {self.format}, written by {name_of(self.library)}"
        size = f"{self.n_arrays:,} arrays, {self.n_bytes:,} bytes"
        return "\n".join([head, size, *(f"{'  ' * n}{name}: {value}" for n, name, value in _facts(self.model))])

    def _card(self) -> Card:
        facts = [("format", f"{self.format}, written by {name_of(self.library)}")]
        facts.append(("size", f"{self.n_arrays:,} arrays, {self.n_bytes:,} bytes"))
        for n_deep, name, value in _facts(self.model):
            if (name, value) not in facts:
                facts.append((f"its {name}" if n_deep else name, value))
        return Card(f"Model file of {_kind_of(self.model)}", tuple(facts))


def _facts(node: Node, n_deep: int = 0) -> Iterator[tuple[int, str, str]]:
    """Names and values that describe a node and the models inside it, with their depth."""
    inner = node.get("model") or node.get("trust") or {}
    if classes := (inner.get("classes") or node.get("classes") or {}).get("values"):
        yield n_deep, "classes", _some(classes)
    names = inner.get("feature_names") or node.get("feature_names_in")
    yield n_deep, "features", name_of(node.get("n_features_in")) + (f": {_some(names)}" if names else "")
    parameters = node.get("parameters") or {}
    kept = [f"{name}={value!r}" for name, value in parameters.get("kept", {}).items()]
    yield n_deep, "parameters", _some(kept, MOST_PARAMETERS)
    for i, edit in enumerate(edits_in_words(node) or edits_in_words(node.get("partition") or {})):
        yield n_deep, f"edit {i}", edit
    if lost := parameters.get("lost"):
        yield n_deep, "parameters not saved", _some(lost, MOST_PARAMETERS)
    held = node.get("estimator") or {}
    if "ours" in held:
        yield n_deep, "around", _kind_of(held["ours"])
        yield from _facts(held["ours"], n_deep + 1)
    elif held:
        yield n_deep, "around", _kind_of(held["foreign"])


def _kind_of(node: Node) -> str:
    return name_of(node.get("kind", "a model of another library"))


def _some(values: Collection[Any], most: int = MOST_NAMED) -> str:
    """The first values, and how many more there are."""
    more = f" and {len(values) - most:,} more" if len(values) > most else ""
    return ", ".join(map(name_of, list(values)[:most])) + more
