"""Values of NumPy, dataclasses and mappings as plain Python, ready for messages and for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """A number, text or array of NumPy's as a number, text or list of Python's; anything else as it is.

    Examples
    --------
    >>> import numpy as np
    >>> plain(np.str_("benign")), plain(np.int64(3)), plain(np.arange(2)), plain(None)
    ('benign', 3, [0, 1], None)
    """
    # NumPy is not imported here: the command starts without it.
    return value.tolist() if hasattr(value, "tolist") else value


def json_value(value: Any) -> Any:
    """The value as dictionaries, lists, text and numbers; None for NaN and infinity, which JSON does not have.

    A value with a `to_dict` of its own says itself what it holds. Values of other kinds stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> json_value({"trust": np.array([0.5, np.nan]), 3: ("a", np.int64(1))})
    {'trust': [0.5, None], '3': ['a', 1]}
    """
    value = plain(value)
    if hasattr(value, "to_dict"):
        return json_value(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return json_fields(value)
    if isinstance(value, Mapping):
        return {str(name): json_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, ready for JSON: what its own `to_dict` may be made of."""
    return {field.name: json_value(getattr(record, field.name)) for field in fields(record)}
