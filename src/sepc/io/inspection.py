"""Describe a model file in a few lines, even if entries of its JSON are missing or have unexpected types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sepc.cards import Card, ShownAsCard
from sepc.io.codec import Node
from sepc.io.history import ModelHistory, edits_in_words
from sepc.wording import name_of

# The most classes and features to name, and the most parameters; no estimator has more parameters.
MOST_NAMED = 8
MOST_PARAMETERS = 20

Facts = Iterator[tuple[int, str, str]]


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


def _facts(node: Any, n_deep: int = 0) -> Facts:
    """Names and values that describe a node and the models inside it, with their depth."""
    if not isinstance(node, dict):
        return
    inner = _part(node, "model") or _part(node, "trust")
    classes = _entries(_part(inner, "classes") or _part(node, "classes"), "values")
    if classes:
        yield n_deep, "classes", _some(classes)
    names = _entries(inner, "feature_names") or _entries(node, "feature_names_in")
    yield n_deep, "features", name_of(node.get("n_features_in")) + (f": {_some(names)}" if names else "")
    parameters = _part(node, "parameters")
    kept = (f"{name}={value!r}" for name, value in _part(parameters, "kept").items())
    yield n_deep, "parameters", _some(kept, MOST_PARAMETERS)
    for i, edit in enumerate(edits_in_words(node) or edits_in_words(_part(node, "partition"))):
        yield n_deep, f"edit {i}", edit
    if lost := _part(parameters, "lost"):
        yield n_deep, "parameters not saved", _some(lost, MOST_PARAMETERS)
    if held := _part(node, "estimator"):
        ours = held.get("ours")
        yield n_deep, "around", _kind_of(ours if "ours" in held else held.get("foreign"))
        yield from _facts(ours, n_deep + 1)


def _part(node: Node, name: str) -> Node:
    """The part of this name; empty if there is none."""
    part = node.get(name)
    return part if isinstance(part, dict) else {}


def _entries(node: Node, name: str) -> list[Any]:
    """The list of this name; empty if there is none."""
    entries = node.get(name)
    return entries if isinstance(entries, list) else []


def _kind_of(node: Any) -> str:
    return name_of(node.get("kind", "a model of another library")) if isinstance(node, dict) else "nothing"


def _some(values: Iterable[Any], most: int = MOST_NAMED) -> str:
    """The first values, and how many more there are."""
    every = list(values)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(map(name_of, every[:most])) + more
