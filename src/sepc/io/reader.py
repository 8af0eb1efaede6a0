"""Read the parts of a model file, and check every value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.errors import FormatError
from sepc.records import MOST

# Numbers from here on are rejected: a larger integer may overflow a double.
HUGE = 10**300

# Memory that text labels may take beyond twice the size of the arrays; each label takes as much as the longest.
SPARE_BYTES = 16 * 2**20


@dataclass
class Allowance:
    """Bytes that may still be allocated for content that a file stores more compactly."""

    left: int = 0


@dataclass(frozen=True)
class Reader:
    """Reads the arrays and values of one node, or raises a `FormatError` that says what is wrong with them."""

    node: Any
    arrays: Mapping[str, NDArray[Any]]
    path: str = ""
    used: set[str] = field(default_factory=set)
    allowance: Allowance = field(default_factory=Allowance)

    def __post_init__(self) -> None:
        if not self.path:
            self.allowance.left = SPARE_BYTES + 2 * sum(array.nbytes for array in self.arrays.values())

    def under(self, name: str | int, node: Any) -> Reader:
        """A reader for a part of this node."""
        return Reader(node, self.arrays, f"{self.path}{name}/", self.used, self.allowance)

    def parts(self, name: str) -> Iterator[Reader]:
        """Readers for the parts in a list."""
        for i, node in enumerate(self.value(name, list)):
            yield self.under(f"{name}/{i}", node)

    def part(self, name: str) -> Reader:
        """A reader for the part of this name."""
        return self.under(name, self.value(name, dict))

    def has(self, name: str) -> bool:
        """Whether the node has a value of this name other than null."""
        return isinstance(self.node, dict) and self.node.get(name) is not None

    def value(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """A value of the node, of this type."""
        if not isinstance(self.node, dict) or name not in self.node:
            raise FormatError(f"{self._where(name)} is missing.")
        value = self.node[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise FormatError(f"{self._where(name)} has the wrong type.")
        return value

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number within bounds."""
        value = self.value(name, (int, float))
        value = float(value) if abs(value) < HUGE else math.inf
        if not (math.isfinite(value) and low <= value <= high):
            raise FormatError(f"{self._where(name)} is {value}, which is out of range.")
        return value

    def integer(self, name: str, low: int = 0, below: int = MOST) -> int:
        """An integer within bounds."""
        value = self.value(name, int)
        if not low <= value < below:
            raise FormatError(f"{self._where(name)} is out of range.")
        return int(value)

    def text(self, name: str, among: tuple[str, ...] = ()) -> str:
        """A string; if `among` is not empty, the matching entry of it."""
        value = str(self.value(name, str))
        if among and value not in among:
            raise FormatError(f"{self._where(name)} is {value[:40]!r}, which this version does not know.")
        return among[among.index(value)] if among else value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self.value(name, list)
        if not all(isinstance(value, str) for value in values):
            raise FormatError(f"{self._where(name)} must contain only strings.")
        return tuple(values)

    def floats(self, name: str, *shape: int | None, low: float = -math.inf, high: float = math.inf) -> FloatArray:
        """An array of finite doubles from `low` to `high`."""
        array = self.array(name, np.float64, shape)
        self.check_entries(name, array, low, high)
        return array

    def ints(self, name: str, *shape: int | None, low: int = 0, below: int = MOST) -> IntArray:
        """An array of integers within bounds."""
        array = self.array(name, np.int64, shape)
        self.check_entries(name, array, low, below - 1)
        return array

    def check_entries(self, name: str, array: NDArray[Any], low: float, high: float, *, is_count: bool = False) -> None:
        """Raise unless all entries are finite and within bounds, and numbers of rows add up to less than `MOST`."""
        if array.dtype == np.bool_:
            if array.size and array.view(np.uint8).max() > 1:
                raise FormatError(f"{self._where(name)} contains bytes that are not booleans.")
            return
        if not np.isfinite(array).all():
            raise FormatError(f"{self._where(name)} contains NaN or infinity.")
        if array.size and (array.min() < low or array.max() > high):
            raise FormatError(f"{self._where(name)} contains numbers out of range.")
        if is_count and array.sum(dtype=np.float64) >= MOST:
            raise FormatError(f"{self._where(name)} counts more rows than there can be.")

    def take(self, n_bytes: int) -> None:
        """Deduct an allocation from the allowance; raise if nothing is left of it."""
        self.allowance.left -= n_bytes
        if self.allowance.left < 0:
            raise self.wrong("expands to much more data than the file contains")

    def wrong(self, what: str) -> FormatError:
        """The error for an inconsistent part; `what` completes the sentence "The part ..."."""
        return FormatError(f"The part {self.path or 'of the model'!s} {what}.")

    def has_array(self, name: str) -> bool:
        """Whether the file has an array of this name."""
        return self.path + name in self.arrays

    def array(self, name: str, kind: type[Any], shape: tuple[int | None, ...]) -> NDArray[Any]:
        """An array of this type and shape, in which None is any size."""
        array = self.arrays.get(self.path + name)
        if array is None:
            raise FormatError(f"The array {self.path}{name} is missing.")
        self.used.add(self.path + name)
        fits = array.ndim == len(shape) and all(n is None or n == m for n, m in zip(shape, array.shape, strict=True))
        if array.dtype != kind or not fits:
            raise FormatError(
                f"The array {self.path}{name} has an unexpected type ({array.dtype}) or shape {array.shape}."
            )
        return array

    def _where(self, name: str) -> str:
        return f"{self.path}{name}"
