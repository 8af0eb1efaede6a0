"""Dataclasses of arrays with one entry per row: filter all arrays together, or take one row as single values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

One = TypeVar("One")
Rows = TypeVar("Rows", bound="RowWise[Any]")

# Metadata of a field that all rows share.
SHARED = {"shared": True}

# Cached for each dataclass, since looking through its fields takes longer than taking a row.
_FIELD_NAMES: dict[type[Any], tuple[str, ...]] = {}
_SHARED_FIELDS: dict[type[Any], frozenset[str]] = {}


class RowWise(Generic[One]):
    """Mixin for frozen dataclasses of arrays, one of them `label`: length, indexing and filtering.

    An integer gives one row; a slice, a mask or an array of positions gives fewer rows. Fields that are `SHARED` or
    None stay as they are.
    """

    label: NDArray[Any]

    def _single(self) -> One:
        """The only row, as single values."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.label)

    def __iter__(self) -> Iterator[One]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, chosen: int | np.integer[Any]) -> One: ...

    @overload
    def __getitem__(self, chosen: slice | NDArray[Any] | list[Any]) -> Self: ...

    def __getitem__(self, chosen: Any) -> Any:
        if isinstance(chosen, int | np.integer):
            return self[[int(chosen)]]._single()
        rows = chosen if isinstance(chosen, slice) else np.asarray(chosen)
        if not isinstance(rows, slice) and rows.size == 0:
            rows = rows.astype(np.int64)
        shared = shared_fields(type(self))
        by_row = {name: values for name, values in given_fields(self).items() if name not in shared}
        return replace_columns(self, **{name: values[rows] for name, values in by_row.items() if values is not None})


def given_fields(rows: Any) -> dict[str, Any]:
    """The fields as they were given: deferred columns are not computed."""
    given = vars(rows)
    return {name: given[name] for name in _field_names(type(rows))}


def replace_columns(rows: Rows, /, **changes: Any) -> Rows:
    """The same rows with some fields replaced, like `dataclasses.replace`, without computing deferred columns."""
    replaced = object.__new__(type(rows))
    vars(replaced).update(given_fields(rows) | changes)
    return replaced


def _field_names(kind: type[Any]) -> tuple[str, ...]:
    if kind not in _FIELD_NAMES:
        _FIELD_NAMES[kind] = tuple(f.name for f in fields(kind))
    return _FIELD_NAMES[kind]


def shared_fields(kind: type[Any]) -> frozenset[str]:
    """Names of the fields that all rows share."""
    if kind not in _SHARED_FIELDS:
        _SHARED_FIELDS[kind] = frozenset(f.name for f in fields(kind) if "shared" in f.metadata)
    return _SHARED_FIELDS[kind]


class RowView:
    """One row of a `RowWise`: the same attributes, as single values."""

    _kinds: ClassVar[Mapping[str, type]] = {}
    _only: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_only":
            raise AttributeError(name)
        value = getattr(self._only, name)
        if value is None or name in shared_fields(type(self._only)):
            return value
        if callable(value):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        single = value[0]
        if name in self._kinds:
            return self._kinds[name](single)
        return single.item() if isinstance(single, np.generic) else single
