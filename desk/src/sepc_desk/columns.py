"""The columns that a model takes, from the description in its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Node = Mapping[str, Any]

# What a file has as the kind of a column that training left out.
LEFT_OUT = "left out"


class Kind(StrEnum):
    """What the cells of a column hold."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"  # numbers, dates or durations that training read from text, as "€ 12.50"


@dataclass(frozen=True)
class Column:
    """A column of the rows that a model decides on.

    Attributes
    ----------
    name : str
    kind : Kind
    is_needed : bool
        Whether a row without it is refused. Only columns that tell groups of promises apart may be missing.
    """

    name: str
    kind: Kind
    is_needed: bool = True


def columns_of(node: Node) -> tuple[Column, ...]:
    """The columns that a model reads, in the order of training; without those that training left out.

    The node is what `sepc.inspect` gives of the model's file, as the reference of the file format describes it.
    """
    kinds = dict(_kinds(node))
    named = node["feature_names_in"]
    names = [f"x{j}" for j in range(node["n_features_in"])] if named is None else named
    used = [name for name in names if kinds.get(name, Kind.NUMBER) is not None]
    by = (node.get("groups") or {}).get("by", ())
    groups = [name for name in by if isinstance(name, str) and name not in used]
    columns = [Column(name, kinds.get(name) or Kind.NUMBER) for name in used]
    return (*columns, *(Column(name, Kind.CATEGORY, is_needed=False) for name in groups))


def _kinds(node: Node) -> Iterator[tuple[str, Kind | None]]:
    """Names and kinds of columns that are not plain numbers; None for those that training left out."""
    if "by_names" in node:
        yield from _kinds(node["default"]["ours"])
        yield from ((name, Kind.CATEGORY) for name in node["by_names"])
    elif node["kind"] == "SEPClassifier":
        for column in (node["preparation"] or {}).get("columns", ()):
            yield column["name"], _kind_of(column)
    else:
        yield from _kinds(node["estimator"]["ours"])


def _kind_of(column: Node) -> Kind | None:
    if column["kind"] == LEFT_OUT:
        return None
    # Files of sepc 0.1.0 have no `written`: it read no numbers or dates from text.
    return Kind.TEXT if column.get("written") is not None else Kind(column["kind"])
