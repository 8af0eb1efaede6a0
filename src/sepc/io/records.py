"""Write and read records, as their fields declare."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sized
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import numpy as np

from sepc.io.reader import Reader
from sepc.io.values import labels_from, labels_to_node, read_simple_value, simple_value
from sepc.io.writer import Node, Writer
from sepc.records import (
    DECLARATION,
    NAME,
    Array,
    Declaration,
    Flag,
    Given,
    HasFlaw,
    Labels,
    Lists,
    Number,
    Part,
    Parts,
    Simple,
    Text,
    Texts,
    Whole,
)

Kind = TypeVar("Kind")


def record_to_node(record: Any, writer: Writer) -> Node:
    """Write a record: arrays beside the node, everything else into it."""
    node: Node = {}
    for field in fields(record):
        value, name = getattr(record, field.name), field.metadata[NAME] or field.name
        match field.metadata[DECLARATION]:
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
    """Read a record and check it.

    Parameters
    ----------
    kind : type
    reader : Reader
    sizes : mapping of str to int, optional
        Known sizes; the others are inferred in the order of the fields.
    **given
        Fields of the record, or of its parts, that files do not store.
    """
    return _read(kind, reader, dict(sizes or {}), given)


def _read(kind: type[Kind], reader: Reader, sizes: dict[str, int], given: Mapping[str, Any]) -> Kind:
    """Read a record; sizes inferred along the way are added to `sizes`."""
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]  # a record is a dataclass
        declaration, name = field.metadata[DECLARATION], field.metadata[NAME] or field.name
        around = {**given, **values}
        if isinstance(declaration, Given):
            if field.name in around or field.default is MISSING:
                values[field.name] = around[field.name]
        elif isinstance(declaration, Parts):
            if declaration.may_lack and not reader.has(name):
                continue
            each = reader.parts(name)
            values[field.name] = tuple(_read(declaration.kind, part, dict(sizes), around) for part in each)
        elif isinstance(declaration, Part) and declaration.is_inline:
            values[field.name] = _read(declaration.kind, reader, sizes, around)
        elif isinstance(declaration, Part) and not declaration.has_node:
            values[field.name] = _read(declaration.kind, reader.under(name, {}), dict(sizes), around)
        elif isinstance(declaration, Part):
            if reader.has(name) or field.default is MISSING:
                values[field.name] = _read(declaration.kind, reader.part(name), dict(sizes), around)
        elif field.default is MISSING or reader.has(name):
            values[field.name] = _value(declaration, name, reader, sizes)
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
            if not isinstance(reader.node, dict) or name not in reader.node:
                raise reader.wrong(f"has no {name}")
            return read_simple_value(reader.node[name], reader)
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
