"""Write and read the parts of a model file, as records declare their fields, and check every value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sized
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.errors import FormatError
from sepc.io.container import Arrays
from sepc.records import (
    DECLARATION,
    MOST,
    NAME,
    Array,
    Declaration,
    Flag,
    Given,
    HasFlaw,
    Labels,
    Lists,
    Number,
    Pairs,
    Part,
    Parts,
    PartsByKey,
    Simple,
    Text,
    Texts,
    Whole,
)

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


Node = dict[str, Any]


@dataclass(frozen=True)
class Writer:
    """Collects arrays, each named after the path of the node it belongs to."""

    path: str = ""
    arrays: Arrays = field(default_factory=dict)

    def under(self, name: str | int) -> Writer:
        """A writer for a part of this node."""
        return Writer(f"{self.path}{name}/", self.arrays)

    def put(self, **arrays: NDArray[Any]) -> None:
        """Store arrays of this node as float64, int64 or bool."""
        for name, array in arrays.items():
            kind = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[np.asarray(array).dtype.kind]
            self.arrays[self.path + name] = np.ascontiguousarray(array, dtype=kind)


# NumPy dtypes of labels whose values JSON can hold exactly.
WHOLE_TYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8")
PLAIN_TYPES = ("|b1", *WHOLE_TYPES, "<f4", "<f8")
SIMPLE = (bool, int, float, str)

# In a NumPy array of predictions, every text label takes as much memory as the longest.
LONGEST_LABEL = 1_000

LABELS = f"numbers of up to 64 bits, booleans or strings of up to {LONGEST_LABEL:,} characters"

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
    kept = {name: _parameter_to_node(value) for name, value in changed.items() if _is_parameter(value)}
    lost = {name: repr(value)[:200] for name, value in changed.items() if name not in kept}
    return {"kept": kept, "lost": lost}


def parameters_from(reader: Reader, known: set[str]) -> dict[str, Any]:
    """The parameters that were saved; the others get their defaults."""
    kept = {name: _parameter_from(value) for name, value in reader.value("kept", dict).items()}
    if not set(kept) <= known or not all(map(_is_parameter, kept.values())):
        raise reader.wrong("has parameters that the estimator does not have")
    return kept


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


def _entry(reader: Reader, name: str) -> Any:
    if not isinstance(reader.node, dict) or name not in reader.node:
        raise reader.wrong(f"has no {name}")
    return reader.node[name]


def _key_to_node(key: Any) -> Any:
    """A label or a group: a value, or a list of two values."""
    return [simple_value(value) for value in key] if isinstance(key, tuple) else simple_value(key)


def _key_from(node: Any, reader: Reader) -> Any:
    """Read a label, a group or None."""
    if isinstance(node, list):
        if len(node) != 2:
            raise reader.wrong("holds a group with the wrong number of columns")
        return tuple(read_simple_value(value, reader) for value in node)
    return read_simple_value(node, reader)


def _is_label(value: Any) -> bool:
    """Whether this is a boolean, a finite number of at most 64 bits or a string that is not too long."""
    if isinstance(value, str):
        return len(value) <= LONGEST_LABEL
    if isinstance(value, int):
        # Larger integers could be chosen to have equal hashes, which makes dictionaries slow.
        return -(2**63) <= value < 2**64
    return isinstance(value, float) and math.isfinite(value)


Kind = TypeVar("Kind")


def record_to_node(record: Any, writer: Writer) -> Node:
    """Write a record: arrays beside the node, everything else into it."""
    node: Node = {}
    for own in fields(record):
        value, name = getattr(record, own.name), own.metadata[NAME] or own.name
        match own.metadata[DECLARATION]:
            case Array(may_lack=True) if value.size == 0:
                pass
            case Array():
                writer.put(**{name: value})
            case Labels():
                node[name] = labels_to_node(value)
            case Texts():
                node[name] = list(value)
            case Lists(shape):
                node[name] = _in_lists(value, len(shape))
            case Simple():
                node[name] = simple_value(value)
            case Pairs():
                node[name] = [[_key_to_node(key), _key_to_node(own)] for key, own in value.items()]
            case PartsByKey(name=about):
                node[name] = [{about: _key_to_node(key)} | record_to_node(own, writer) for key, own in value.items()]
            case Parts():
                node[name] = [record_to_node(each, writer.under(f"{name}/{i}")) for i, each in enumerate(value)]
            case Part(may_lack=True) if value is None:
                pass
            case Part(has_node=False):
                record_to_node(value, writer.under(name))
            case Part(is_inline=True):
                node |= {} if value is None else record_to_node(value, writer)
            case Part():
                node[name] = None if value is None else record_to_node(value, writer.under(name))
            case Number(or_infinite=True):
                node[name] = None if math.isinf(value) else value
            case Number() | Whole() | Flag() | Text():
                node[name] = value
    return node


def record_from(kind: type[Kind], reader: Reader, sizes: Mapping[str, int] | None = None, **given: Any) -> Kind:
    """Read a record and check it."""
    return _read(kind, reader, dict(sizes or {}), given)


def _read(kind: type[Kind], reader: Reader, sizes: dict[str, int], given: Mapping[str, Any]) -> Kind:
    """Read a record; sizes inferred along the way are added to `sizes`."""
    values: dict[str, Any] = {}
    for own in fields(kind):  # type: ignore[arg-type]  # a record is a dataclass
        declaration, name = own.metadata[DECLARATION], own.metadata[NAME] or own.name
        around = {**given, **values}
        if isinstance(declaration, Given):
            if own.name in around or own.default is MISSING:
                values[own.name] = around[own.name]
        elif isinstance(declaration, PartsByKey):
            found_by_key = {}
            for part in reader.parts(name):
                key = _key_from(_entry(part, declaration.name), part)
                if key in found_by_key:
                    raise reader.wrong(f"has two {name} about the same rows")
                found_by_key[key] = _read(declaration.kind, part, dict(sizes), around)
            values[own.name] = found_by_key
        elif isinstance(declaration, Parts):
            if declaration.may_lack and not reader.has(name):
                continue
            each = reader.parts(name)
            values[own.name] = tuple(_read(declaration.kind, part, dict(sizes), around) for part in each)
        elif isinstance(declaration, Part) and declaration.is_inline:
            values[own.name] = _read(declaration.kind, reader, sizes, around)
        elif isinstance(declaration, Part) and not declaration.has_node:
            values[own.name] = _read(declaration.kind, reader.under(name, {}), dict(sizes), around)
        elif isinstance(declaration, Part):
            if reader.has(name) or own.default is MISSING:
                values[own.name] = _read(declaration.kind, reader.part(name), dict(sizes), around)
        elif own.default is MISSING or reader.has(name):
            values[own.name] = _value(declaration, name, reader, sizes)
    found = kind(**values)
    wrong = found.flaw() if isinstance(found, HasFlaw) else None
    if wrong is not None:
        raise reader.wrong(wrong)
    return found


def _value(declaration: Declaration, name: str, reader: Reader, sizes: dict[str, int]) -> Any:
    match declaration:
        case Array():
            return _array(declaration, name, reader, sizes)
        case Labels(size):
            return _check_size(labels_from(reader.part(name)), size, name, reader, sizes)
        case Texts(size):
            return _check_size(reader.texts(name), size, name, reader, sizes)
        case Lists(shape):
            return _in_tuples(reader.value(name, list), shape, name, reader, sizes)
        case Simple():
            return read_simple_value(_entry(reader, name), reader)
        case Pairs():
            pairs = reader.value(name, list)
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise reader.wrong("holds a list that is not a pair")
            return {_key_from(key, reader): _key_from(value, reader) for key, value in pairs}
        case Number(low, high, or_infinite):
            return math.inf if or_infinite and not reader.has(name) else reader.number(name, low, high)
        case Whole(low, below):
            return reader.integer(name, low, below)
        case Flag():
            return reader.value(name, bool)
        case Text(among):
            return reader.text(name, among)
    raise TypeError(f"{name} has an unknown declaration.")


def _array(declaration: Array, name: str, reader: Reader, sizes: dict[str, int]) -> Any:
    """Read an array; a letter without a size gets the size of its axis."""
    if declaration.may_lack and not reader.has_array(name):
        return np.zeros((0,) * len(declaration.shape), dtype=declaration.type)
    array = reader.array(name, declaration.type, tuple(_size(axis, sizes) for axis in declaration.shape))
    sizes.update(
        {axis: n for axis, n in zip(declaration.shape, array.shape, strict=True) if _size(axis, sizes) is None}
    )
    high = sizes[declaration.below] - 1 if declaration.below else declaration.high
    reader.check_entries(name, array, declaration.low, high, is_count=declaration.is_count)
    return array


def _size(axis: str, sizes: Mapping[str, int]) -> int | None:
    """The size of an axis; None if its letter has no size yet."""
    terms = [int(term) if term.isdigit() else sizes.get(term) for term in axis.split("+")]
    return None if None in terms else sum(term for term in terms if term is not None)


def _check_size(values: Sized, size: str, name: str, reader: Reader, sizes: dict[str, int]) -> Any:
    """Return the values if their number is this size, else raise; a letter without a size gets their number."""
    known = _size(size, sizes)
    if known is None:
        sizes[size] = len(values)
    elif known != len(values):
        raise reader.wrong(f"has a list of length {len(values):,} instead of {known:,} in {name}")
    return values


def _in_lists(values: Any, n_levels: int) -> Any:
    return [_in_lists(entry, n_levels - 1) for entry in values] if n_levels else simple_value(values)


def _in_tuples(node: Any, shape: tuple[str, ...], name: str, reader: Reader, sizes: dict[str, int]) -> Any:
    if not shape:
        return read_simple_value(node, reader)
    if not isinstance(node, list):
        raise reader.wrong(f"has a value that is not a list in {name}")
    return tuple(
        _in_tuples(entry, shape[1:], name, reader, sizes) for entry in _check_size(node, shape[0], name, reader, sizes)
    )
