"""The groups of a `SelectiveClassifier` in a model file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sepc.estimators.selective.group_control import Groups, NoHarm
from sepc.estimators.selective.groups import MOST_COLUMNS, Key, names_in
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.values import read_simple_value, simple_value
from sepc.io.writer import Node, Writer


def key_to_node(key: Key) -> Any:
    """A group: a value, or a list of the values of two columns."""
    return [simple_value(value) for value in key] if isinstance(key, tuple) else simple_value(key)


def key_from(node: Any, reader: Reader) -> Key:
    """Read a group, a label, or None."""
    if isinstance(node, list):
        if len(node) != MOST_COLUMNS:
            raise reader.wrong("holds a group of another number of columns")
        return tuple(read_simple_value(value, reader) for value in node)
    return read_simple_value(node, reader)


def groups_to_node(groups: Groups | None) -> Node | None:
    """Write what is known of the groups."""
    if groups is None:
        return None
    return {
        "by": [simple_value(name) for name in groups.by],
        "small": [[key_to_node(key), n] for key, n in groups.small.items()],
        "parents": [[key_to_node(child), key_to_node(parent)] for child, parent in groups.parents.items()],
        "no_harm": [record_to_node(harm, Writer()) for harm in groups.no_harm.values()],
    }


def columns_from(reader: Reader) -> Any:
    """The columns that tell groups apart, as the parameter `by` names them."""
    by = reader.value("by", list)
    is_column = (isinstance(name, str) or (type(name) is int and abs(name) < 2**31) for name in by)
    if not 1 <= len(by) <= MOST_COLUMNS or len(set(map(str, by))) < len(by) or not all(is_column):
        raise reader.wrong("names no column, too many of them, or one twice")
    return by[0] if len(by) == 1 else by


def groups_from(reader: Reader, promised: Mapping[Key, Any], one_threshold: bool) -> Groups:
    """Read the groups; `promised` has those with a promise, in the order of the file."""
    by = names_in(columns_from(reader))
    small = {}
    for key, n in _pairs(reader, "small"):
        if type(n) is not int or not 0 <= n < 2**63:
            raise reader.wrong("holds a number of rows that is none")
        small[key_from(key, reader)] = n
    parents = {key_from(child, reader): key_from(parent, reader) for child, parent in _pairs(reader, "parents")}
    harm = [record_from(NoHarm, part) for part in reader.parts("no_harm")]
    if len(harm) != len(promised) or small.keys() & promised.keys():
        raise reader.wrong("has groups that do not match its promises")
    return Groups(by, small, dict(zip(promised, harm, strict=True)), parents, one_threshold)


def _pairs(reader: Reader, name: str) -> Iterator[tuple[Any, Any]]:
    for pair in reader.value(name, list):
        if not isinstance(pair, list) or len(pair) != 2:
            raise reader.wrong("holds a list that is no pair")
        yield pair[0], pair[1]
