"""Declare records: the type, shape and limits of every field, once, beside its annotation.

A record is a frozen dataclass whose fields are made by the functions below. Everything that writes, reads, checks or
measures records, or documents the format, uses only these declarations. Sizes are named by letters, which stand
for the same number in a record and all of its parts. Relations between values are checked by a record's method `flaw`,
which says what is wrong with it, or returns None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Protocol, TypeAlias, TypeVar, dataclass_transform, runtime_checkable

import numpy as np

# Numbers of rows, features and so on stay below this, so that doubles hold them exactly.
MOST = 2**53

DECLARATION, NAME = "declaration", "name"

Kind = TypeVar("Kind")

# All records, in the order in which they were made.
RECORDS: list[type[Any]] = []


@runtime_checkable
class HasFlaw(Protocol):
    """A record whose values must be consistent."""

    def flaw(self) -> str | None:
        """What is inconsistent, as the end of a sentence that starts with "The part"; None if nothing is."""


@dataclass(frozen=True)
class Array:
    """An array of doubles, integers or booleans."""

    type: type[Any]
    shape: tuple[str, ...]
    low: float = -math.inf
    high: float = math.inf
    below: str = ""
    is_count: bool = False
    may_lack: bool = False


@dataclass(frozen=True)
class Number:
    """A finite number within inclusive limits; with `or_infinite`, also infinity, which is null in a file."""

    low: float = -math.inf
    high: float = math.inf
    or_infinite: bool = False


@dataclass(frozen=True)
class Whole:
    """An integer of at least `low` and below `below`."""

    low: int = 0
    below: int = MOST


@dataclass(frozen=True)
class Flag:
    """A boolean."""


@dataclass(frozen=True)
class Text:
    """A string; one of `among`, if that is not empty."""

    among: tuple[str, ...] = ()


@dataclass(frozen=True)
class Texts:
    """A list of strings; `size` is the letter of the dimension that says how many there are, such as "d"."""

    size: str


@dataclass(frozen=True)
class Labels:
    """Distinct labels, sorted; `size` is the letter of the dimension that says how many there are, such as "C"."""

    size: str


@dataclass(frozen=True)
class Lists:
    """Labels, categories, counts or None in a list or nested lists, with a size for each level."""

    shape: tuple[str, ...]


@dataclass(frozen=True)
class Simple:
    """A number, a label or category, or None, which is null in a file."""


@dataclass(frozen=True)
class Pairs:
    """A mapping of labels or groups to numbers, labels or groups; a group is a value or a pair of values."""


@dataclass(frozen=True)
class PartsByKey:
    """A mapping of labels or groups to records of one kind, each of which files name in the entry `name`."""

    kind: type[Any]
    name: str


@dataclass(frozen=True)
class Part:
    """Another record."""

    kind: type[Any]
    is_inline: bool = False
    has_node: bool = True
    may_lack: bool = False


@dataclass(frozen=True)
class Parts:
    """A list of records of one kind; with `may_lack`, older files may lack it, and the default is used."""

    kind: type[Any]
    may_lack: bool = False


@dataclass(frozen=True)
class Given:
    """Not stored in files: taken from the enclosing record, or passed in when the record is read."""


Declaration: TypeAlias = (
    Array | Number | Whole | Flag | Text | Texts | Labels | Lists | Simple | Pairs | PartsByKey | Part | Parts | Given
)


def _declare(declaration: Declaration, name: str = "", default: Any = MISSING) -> Any:
    return field(default=default, metadata={DECLARATION: declaration, NAME: name})


def floats(*shape: str, low: float = -math.inf, high: float = math.inf, name: str = "") -> Any:
    """Finite doubles of this shape; `name` is what files call them, by default the name of the field."""
    return _declare(Array(np.float64, shape, low, high), name)


def ints(*shape: str, low: int = 0, high: int = MOST - 1, below: str = "", name: str = "") -> Any:
    """Integers of this shape, from `low` to `high`, or below a size."""
    return _declare(Array(np.int64, shape, low, high, below), name)


def counts(*shape: str, may_lack: bool = False) -> Any:
    """Numbers of rows; with `may_lack` files of earlier versions have none."""
    return _declare(Array(np.int64, shape, 0, MOST - 1, is_count=True, may_lack=may_lack))


def bools(*shape: str) -> Any:
    """Booleans of this shape."""
    return _declare(Array(np.bool_, shape))


def number(low: float = -math.inf, high: float = math.inf, *, or_infinite: bool = False) -> Any:
    """A finite number within these limits; with `or_infinite`, also infinity."""
    return _declare(Number(low, high, or_infinite))


def whole(low: int = 0, below: int = MOST) -> Any:
    """An integer."""
    return _declare(Whole(low, below))


def flag() -> Any:
    """True or false."""
    return _declare(Flag())


def text(*among: str, default: Any = MISSING) -> Any:
    """A string; one of `among`, if any are given."""
    return _declare(Text(among), default=default)


def texts(size: str, *, name: str = "") -> Any:
    """A list of strings."""
    return _declare(Texts(size), name)


def labels(size: str) -> Any:
    """Labels of classes."""
    return _declare(Labels(size))


def lists(*shape: str) -> Any:
    """A tuple of labels, categories or counts, or nested tuples of these."""
    return _declare(Lists(shape))


def simple() -> Any:
    """A number, a label or category, or None."""
    return _declare(Simple())


def pairs() -> Any:
    """A mapping of labels or groups to simple values or groups."""
    return _declare(Pairs())


def parts_by_key(kind: type[Any], name: str = "about") -> Any:
    """A mapping of labels or groups to records of one kind."""
    return _declare(PartsByKey(kind, name))


def part(
    kind: type[Any],
    *,
    is_inline: bool = False,
    has_node: bool = True,
    default: Any = MISSING,
    may_lack: bool = False,
) -> Any:
    """Another record; if absent, the field has its default. With `may_lack`, None leaves no trace in a file."""
    return _declare(Part(kind, is_inline, has_node, may_lack), default=default)


def parts(kind: type[Any], *, name: str = "", default: Any = MISSING, may_lack: bool = False) -> Any:
    """A tuple of records of one kind; with `may_lack`, it may be absent from files of earlier versions."""
    return _declare(Parts(kind, may_lack), name, default)


def given(*, default: Any = MISSING) -> Any:
    """A field that is not stored in files."""
    return _declare(Given(), default=default)


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(
        floats,
        ints,
        counts,
        bools,
        number,
        whole,
        flag,
        text,
        texts,
        labels,
        lists,
        simple,
        pairs,
        parts_by_key,
        part,
        parts,
        given,
    ),
)
def record(kind: type[Kind]) -> type[Kind]:
    """Turn a class into a record; adds `==` unless fields hold arrays, and a `repr` if it has none."""
    declared = [each.metadata[DECLARATION] for each in vars(kind).values() if isinstance(each, Field)]
    made = dataclass(frozen=True, eq=all(map(_is_plain, declared)), repr=kind.__repr__ is object.__repr__)(kind)
    RECORDS.append(made)
    return made


def _is_plain(declaration: Declaration) -> bool:
    """Whether values can be compared with `==`; arrays, and records that hold arrays, cannot."""
    if isinstance(declaration, Part | Parts | PartsByKey):
        return "__eq__" in vars(declaration.kind)
    return not isinstance(declaration, Array | Labels)


def declarations(kind: type[Any]) -> Mapping[str, Declaration]:
    """The declaration of each field of a record."""
    return {each.name: each.metadata[DECLARATION] for each in fields(kind)}


def size_in_bytes(record: Any) -> int:
    """The size of all arrays of a record and of its parts."""
    total = 0
    for name, declaration in declarations(type(record)).items():
        value = getattr(record, name)
        if isinstance(declaration, Array):
            total += value.nbytes
        elif isinstance(declaration, Part) and value is not None:
            total += size_in_bytes(value)
        elif isinstance(declaration, Parts):
            total += sum(map(size_in_bytes, value))
    return total
