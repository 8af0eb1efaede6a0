"""Labels, parameters and other small values as JSON, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.errors import FormatError
from sepc.io.reader import Reader
from sepc.io.writer import Node

# Types of label arrays whose values JSON holds exactly, by NumPy's own codes.
WHOLE_TYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
PLAIN_TYPES = ("|b1", *WHOLE_TYPES, "<f4", "<f8")
SIMPLE = (bool, int, float, str)


def labels_to_node(labels: NDArray[Any]) -> Node:
    """Labels with their type: numbers, truth values, text, or any mixture of these as objects."""
    kind = labels.dtype.str if labels.dtype.byteorder != ">" else labels.dtype.newbyteorder("<").str
    if kind in PLAIN_TYPES:
        return {"type": kind, "values": labels.tolist()}
    if labels.dtype.kind == "U":
        return {"type": "text", "values": labels.tolist()}
    values = [value.item() if isinstance(value, np.generic) else value for value in labels.tolist()]
    odd = [value for value in values if not isinstance(value, SIMPLE)]
    if labels.dtype.kind != "O" or odd:
        shown = repr(odd[0]) if odd else str(labels.dtype)
        raise TypeError(f"Labels such as {shown} cannot be written to a file; use numbers, truth values or text.")
    return {"type": "object", "values": values}


def labels_from(reader: Reader) -> NDArray[Any]:
    """Labels, checked to be sorted and distinct."""
    kind, values = reader.text("type"), reader.value("values", list)
    allowed = {"text": (str,), "object": SIMPLE}.get(kind, (bool, int, float))
    if kind not in ("text", "object", *PLAIN_TYPES) or not all(isinstance(value, allowed) for value in values):
        raise reader.wrong("holds labels of a type that is not known")
    if kind in WHOLE_TYPES and not all(np.iinfo(kind).min <= value <= np.iinfo(kind).max for value in values):
        raise reader.wrong("holds labels that do not fit their type")
    try:
        labels = np.array(values, dtype={"text": np.str_, "object": object}.get(kind, kind))
        plain = labels.tolist() == values and [type(one) for one in labels.tolist()] == [type(one) for one in values]
        ordered = all(bool(one < two) for one, two in zip(values[:-1], values[1:], strict=True))
    except (TypeError, ValueError, OverflowError) as error:
        raise reader.wrong("holds labels that do not fit their type") from error
    if not (values and plain and ordered):
        raise reader.wrong("holds labels that are not sorted and distinct")
    return labels


def parameters_to_node(parameters: dict[str, Any]) -> Node:
    """Parameters that JSON holds, and for the others what they looked like."""
    kept = {name: value for name, value in parameters.items() if _is_simple(value)}
    lost = {name: repr(value)[:200] for name, value in parameters.items() if name not in kept}
    return {"kept": kept, "lost": lost}


def parameters_from(reader: Reader, known: set[str]) -> dict[str, Any]:
    """The parameters that were kept; the others take their defaults."""
    kept = reader.value("kept", dict)
    if not set(kept) <= known or not all(_is_simple(value) for value in kept.values()):
        raise reader.wrong("holds parameters that the estimator does not have")
    return dict(kept)


def _is_simple(value: Any) -> bool:
    if isinstance(value, float) and not np.isfinite(value):
        return False
    return value is None or type(value) in SIMPLE


def plain(value: Any) -> Any:
    """A label or category as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is not None and not _is_simple(value):
        raise TypeError(f"{value!r} cannot be written to a file; use numbers, truth values or text.")
    return value


def checked_plain(value: Any, reader: Reader) -> Any:
    """A label or category as read from JSON."""
    if value is not None and not _is_simple(value):
        raise FormatError(f"The part {reader.path} holds a value that is no label and no category.")
    return value
