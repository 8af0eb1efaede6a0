"""Convert labels, parameters and other small values to JSON and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.errors import FormatError
from sepc.io.reader import Reader
from sepc.io.writer import Node

# NumPy dtypes of labels whose values JSON can hold exactly.
WHOLE_TYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
PLAIN_TYPES = ("|b1", *WHOLE_TYPES, "<f4", "<f8")
SIMPLE = (bool, int, float, str)


def labels_to_node(labels: NDArray[Any]) -> Node:
    """Labels with their type: numbers, booleans, strings, or a mixture of these as objects."""
    kind = labels.dtype.str if labels.dtype.byteorder != ">" else labels.dtype.newbyteorder("<").str
    if kind in PLAIN_TYPES:
        return {"type": kind, "values": labels.tolist()}
    if labels.dtype.kind == "U":
        return {"type": "text", "values": labels.tolist()}
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    odd = [value for value in values if not isinstance(value, SIMPLE)]
    if labels.dtype.kind != "O" or odd:
        shown = repr(odd[0]) if odd else str(labels.dtype)
        raise TypeError(f"Labels such as {shown} cannot be saved; use numbers, booleans or strings.")
    return {"type": "object", "values": values}


def labels_from(reader: Reader) -> NDArray[Any]:
    """Read labels, and check that they are sorted and distinct."""
    kind, values = reader.text("type"), reader.value("values", list)
    allowed = {"text": (str,), "object": SIMPLE}.get(kind, (bool, int, float))
    if kind not in ("text", "object", *PLAIN_TYPES) or not all(isinstance(value, allowed) for value in values):
        raise reader.wrong("holds labels of an unknown type")
    if kind in WHOLE_TYPES and not all(np.iinfo(kind).min <= value <= np.iinfo(kind).max for value in values):
        raise reader.wrong("holds labels that do not fit their type")
    try:
        labels = np.array(values, dtype={"text": np.str_, "object": object}.get(kind, kind))
        plain = labels.tolist() == values and [type(label) for label in labels.tolist()] == [
            type(label) for label in values
        ]
        ordered = all(bool(left < right) for left, right in zip(values[:-1], values[1:], strict=True))
    except (TypeError, ValueError, OverflowError) as error:
        raise reader.wrong("holds labels that do not fit their type") from error
    if not (values and plain and ordered):
        raise reader.wrong("holds labels that are not sorted and distinct")
    return labels


def parameters_to_node(parameters: dict[str, Any]) -> Node:
    """Parameters that JSON can hold, and the `repr` of the others."""
    kept = {name: value for name, value in parameters.items() if _is_simple(value)}
    lost = {name: repr(value)[:200] for name, value in parameters.items() if name not in kept}
    return {"kept": kept, "lost": lost}


def parameters_from(reader: Reader, known: set[str]) -> dict[str, Any]:
    """The parameters that were kept; the others get their defaults."""
    kept = reader.value("kept", dict)
    if not set(kept) <= known or not all(_is_simple(value) for value in kept.values()):
        raise reader.wrong("holds parameters that the estimator does not have")
    return dict(kept)


def _is_simple(value: Any) -> bool:
    if isinstance(value, float) and not np.isfinite(value):
        return False
    return value is None or type(value) in SIMPLE


def simple_value(value: Any) -> Any:
    """A label or category as a value that JSON can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not _is_simple(value):
        raise TypeError(f"{value!r} cannot be saved; use numbers, booleans or strings.")
    return value


def read_simple_value(value: Any, reader: Reader) -> Any:
    """Check a label or category that was read from JSON."""
    if value is not None and not _is_simple(value):
        raise FormatError(f"The part {reader.path} holds a value that is neither a label nor a category.")
    return value
