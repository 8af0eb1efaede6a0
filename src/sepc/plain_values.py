"""Plain Python for messages and JSON: NumPy values, dataclasses and mappings converted, and versions of packages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays to plain Python; anything else is returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> plain(np.str_("benign")), plain(np.int64(3)), plain(np.arange(2)), plain(None)
    ('benign', 3, [0, 1], None)
    """
    # NumPy is not imported here: the command starts without it.
    return value.tolist() if hasattr(value, "tolist") else value


def json_value(value: Any) -> Any:
    """Convert a value to dicts, lists, strings and numbers; NaN and infinity, which JSON lacks, become None.

    A value's own `to_dict` is used if it has one. Values of other types are returned unchanged.

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
        return {str(name): json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, ready for JSON; useful to implement `to_dict`."""
    return {field.name: json_value(getattr(record, field.name)) for field in fields(record)}


def version_of(package: str) -> str:
    """The version of an installed package; "0+unknown" for one that only lies on the path, as a source folder does."""
    # Imported here, since it takes as long as all else that the command starts with.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "0+unknown"
