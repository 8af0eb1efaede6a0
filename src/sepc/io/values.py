"""Convert labels, parameters and other small values to JSON and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.io.reader import Reader
from sepc.io.writer import Node

# NumPy dtypes of labels whose values JSON can hold exactly.
WHOLE_TYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
PLAIN_TYPES = ("|b1", *WHOLE_TYPES, "<f4", "<f8")
SIMPLE = (bool, int, float, str)

# In a NumPy array of predictions, every text label takes as much memory as the longest.
LONGEST_LABEL = 1_000

LABELS = f"numbers of up to 64 bits, booleans or strings of up to {LONGEST_LABEL:,} characters"

# Parameters renamed since 0.1.0; files keep the old name, so that files of all versions can be read.
IN_FILES = {"force_features": "keep"}
# Parameters added since 0.1.0, with their defaults; files without them stay the same.
ADDED = {"keep_rows": True}


def labels_to_node(labels: NDArray[Any]) -> Node:
    """Labels with their type: numbers, booleans, strings, or objects for a mixture."""
    kind = labels.dtype.str if labels.dtype.byteorder != ">" else labels.dtype.newbyteorder("<").str
    if kind in PLAIN_TYPES:
        return {"type": kind, "values": labels.tolist()}
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    odd = [value for value in values if not _is_label(value)]
    if labels.dtype.kind not in "UO" or odd:
        shown = repr(odd[0])[:80] if odd else str(labels.dtype)
        raise TypeError(f"Labels such as {shown} cannot be saved; use {LABELS}.")
    return {"type": "text" if labels.dtype.kind == "U" else "object", "values": values}


def labels_from(reader: Reader) -> NDArray[Any]:
    """Read labels, and check that they are sorted and distinct."""
    kind, values = reader.text("type"), reader.value("values", list)
    allowed = {"text": (str,), "object": SIMPLE}.get(kind, (bool, int, float))
    if kind not in ("text", "object", *PLAIN_TYPES) or not all(isinstance(value, allowed) for value in values):
        raise reader.wrong("has labels of an unknown type")
    if kind in WHOLE_TYPES and not all(np.iinfo(kind).min <= value <= np.iinfo(kind).max for value in values):
        raise reader.wrong("has labels that do not fit their type")
    if not all(_is_label(value) for value in values):
        raise reader.wrong("has labels that are too long or too large")
    if kind == "text":
        reader.take(4 * len(values) * max(map(len, values), default=0))
    try:
        labels = np.array(values, dtype={"text": np.str_, "object": object}.get(kind, kind))
        plain = labels.tolist() == values and [type(label) for label in labels.tolist()] == [
            type(label) for label in values
        ]
        ordered = all(bool(left < right) for left, right in zip(values[:-1], values[1:], strict=True))
    except (TypeError, ValueError, OverflowError) as error:
        raise reader.wrong("has labels that do not fit their type") from error
    if not (values and plain and ordered):
        raise reader.wrong("has labels that are not sorted and distinct")
    return labels


def are_text(labels: NDArray[Any]) -> bool:
    """Whether labels are strings, judging by the first; strings cannot be compared with numbers."""
    return isinstance(labels.tolist()[0], str)


def are_among(labels: NDArray[Any], others: NDArray[Any]) -> bool:
    """Whether all labels are among the others."""
    return set(labels.tolist()) <= set(others.tolist())


def parameters_to_node(parameters: dict[str, Any]) -> Node:
    """Parameters that JSON can hold, and the `repr` of the others."""
    changed = {name: value for name, value in parameters.items() if name not in ADDED or value is not ADDED[name]}
    named = {IN_FILES.get(name, name): value for name, value in changed.items()}
    kept = {name: _parameter_to_node(value) for name, value in named.items() if _is_parameter(value)}
    lost = {name: repr(value)[:200] for name, value in named.items() if name not in kept}
    return {"kept": kept, "lost": lost}


def parameters_from(reader: Reader, known: set[str]) -> dict[str, Any]:
    """The parameters that were saved; the others get their defaults."""
    kept = {name_now(name): _parameter_from(value) for name, value in reader.value("kept", dict).items()}
    if not set(kept) <= known or not all(map(_is_parameter, kept.values())):
        raise reader.wrong("has parameters that the estimator does not have")
    return kept


def name_now(name: str) -> str:
    """The name of a parameter that has this name in files."""
    return next((now for now, in_files in IN_FILES.items() if in_files == name), name)


def _is_parameter(value: Any) -> bool:
    """Whether this is None, a label, or a list or mapping of labels."""
    if isinstance(value, Mapping):
        return all(map(_is_label, [*value.keys(), *value.values()]))
    return all(map(_is_label, value)) if isinstance(value, list | tuple) else value is None or _is_label(value)


def _parameter_to_node(value: Any) -> Any:
    """A mapping as two lists, since JSON keys are strings."""
    return {"of": list(value.keys()), "to": list(value.values())} if isinstance(value, Mapping) else value


def _parameter_from(node: Any) -> Any:
    """The parameter that was written; the node itself if it is not a mapping."""
    if not isinstance(node, dict) or set(node) != {"of", "to"}:
        return node
    keys, values = node.values()
    is_mapping = isinstance(keys, list) and isinstance(values, list) and len(keys) == len(values)
    return dict(zip(keys, values, strict=True)) if is_mapping and all(map(_is_label, keys)) else node


def simple_value(value: Any) -> Any:
    """A label or category as a value that JSON can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not _is_label(value):
        raise TypeError(f"{repr(value)[:80]} cannot be saved; use {LABELS}.")
    return value


def read_simple_value(value: Any, reader: Reader) -> Any:
    """Check a label or category that was read from JSON."""
    if value is not None and not _is_label(value):
        raise reader.wrong(f"has a value that is neither a label nor a category; these are {LABELS}")
    return value


def _is_label(value: Any) -> bool:
    """Whether this is a boolean, a finite number of at most 64 bits or a string that is not too long."""
    if isinstance(value, str):
        return len(value) <= LONGEST_LABEL
    if isinstance(value, int):
        # Larger integers could be chosen to have equal hashes, which makes dictionaries slow.
        return -(2**63) <= value < 2**64
    return isinstance(value, float) and math.isfinite(value)
