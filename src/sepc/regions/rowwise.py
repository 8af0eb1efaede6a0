"""Decisions as arrays of one entry a row, and one of them as single values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

One = TypeVar("One")


class RowWise(Generic[One]):
    """What frozen dataclasses of arrays with a `model` and a `label` share: length, indexing and filtering.

    A whole number gives one decision; a slice, a mask or an array of positions gives fewer.
    """

    label: NDArray[Any]

    def alone(self) -> One:
        """The only decision, as single values."""
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
            return self[[int(chosen)]].alone()
        own: Any = self
        return replace(own, **{f.name: getattr(own, f.name)[chosen] for f in fields(own) if f.name != "model"})


class OneRow:
    """What decisions on one row share: the attributes of the decisions they are taken from, as single values."""

    kinds: ClassVar[dict[str, type]] = {}
    alone: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "alone":
            raise AttributeError(name)
        value = getattr(self.alone, name)
        if name == "model":
            return value
        return self.kinds[name](value[0]) if name in self.kinds else value[0]
