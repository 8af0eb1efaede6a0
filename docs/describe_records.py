"""The page on the fields of each record in a model file, from the declarations in the code and their docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import sepc.lifecycle  # loads the records of monitors
import sepc.model_files  # noqa: F401  # loads those of all estimators
from sepc.records import (
    MOST,
    RECORDS,
    Array,
    Flag,
    Given,
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

TYPES = {np.float64: "doubles", np.int64: "integers", np.bool_: "booleans"}
INTRODUCTION = """# Fields of a model file

What a file holds of each record, in the JSON of its node or as an array. [The model file](../format.md) says how nodes
and arrays are stored, and what the letters are: sizes that are the same in all arrays of a record."""
# An attribute in a docstring of numpydoc: one or more names, and the lines below them.
ATTRIBUTE = re.compile(r"^(\w[\w, ]*?) ?(?::[^\n]*)?\n((?: {4}[^\n]+\n?)*)", re.MULTILINE)


def described(kind: type[Any]) -> dict[str, str]:
    """What the docstring of a record says about each field; of fields that share a sentence, the first has it."""
    _, _, section = (inspect.getdoc(kind) or "").partition("Attributes\n----------\n")
    texts: dict[str, str] = {}
    for names, text in ATTRIBUTE.findall(section.split("\n\nExamples")[0] + "\n"):
        first, *others = names.split(", ")
        texts |= {first: " ".join(text.split()), **dict.fromkeys(others, f"see {first}")}
    return texts


def rows_of(kind: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of everything that a file holds of a record."""
    texts = described(kind)
    names = {own.name: own.metadata["name"] or own.name for own in kind.__dataclass_fields__.values()}
    for own in kind.__dataclass_fields__.values():
        declaration, name = own.metadata["declaration"], own.metadata["name"] or own.name
        if isinstance(declaration, Part) and declaration.is_inline:
            yield from rows_of(declaration.kind)
        elif not isinstance(declaration, Given):
            yield name, type_of(declaration, own.default is None), in_markdown(texts.get(own.name, ""), names)


def in_markdown(text: str, names: dict[str, str]) -> str:
    """A sentence with single backticks, that names other fields as files do."""
    text = re.sub(r"^see (\w+)$", lambda found: f"see `{names[found[1]]}`", text)
    return text.replace("``", "`").replace("|", "\\|")


def type_of(declaration: Any, is_optional: bool) -> str:
    """What a file holds of a field, in words."""
    match declaration:
        case Array(kind, shape):
            return f"array of {TYPES[kind]}, {' x '.join(shape)}{limits(declaration)}"
        case Number(low, high, or_infinite):
            span = f" from {low:g}" * (low > -np.inf) + f" to {high:g}" * (high < np.inf)
            return f"number{span}{', or null for infinity' * or_infinite}"
        case Whole(low, _):
            return f"integer from {low}"
        case Flag():
            return "boolean"
        case Text(among):
            return " or ".join(f"`{value}`" for value in among) or "string"
        case Texts(size):
            return f"list of {size} strings"
        case Labels(size):
            return f"{size} labels"
        case Lists(shape):
            return f"list of {' lists of '.join(shape)} values"
        case Simple():
            return "label, category or number, or null"
        case Pairs():
            return "list of pairs of a label, group or null, and a value"
        case PartsByKey(kind, name):
            return f"list of parts: `{kind.__name__}`, each with `{name}`: a label, a group or null"
        case Parts(kind):
            return f"list of parts: `{kind.__name__}`"
        case Part(kind, has_node=has_node, may_lack=may_lack):
            without = ", or absent" if may_lack else ", or null" if is_optional else ""
            return f"part{' of arrays alone' * (not has_node)}: `{kind.__name__}`{without}"
    raise TypeError(declaration)


def limits(array: Array) -> str:
    """The range of the numbers of an array, if they have one."""
    if array.below:
        return f", below {array.below}" + (f", from {array.low:g}" if array.low < 0 else "")
    low, high = array.low, array.high
    if array.type is np.int64 and high >= MOST - 1:
        return ""
    if low == -high and array.type is np.float64:
        return f", up to {high:.0e} in size" if np.isfinite(high) else ""
    return f", {low:g} to {high:g}" if np.isfinite(high) else f", from {low:g}" if np.isfinite(low) else ""


def table_of(kind: type[Any]) -> str:
    """The fields of a record as a table in Markdown."""
    lines = ["| name | what a file holds | what it is |", "|---|---|---|"]
    lines += [f"| `{name}` | {what} | {text} |" for name, what, text in rows_of(kind)]
    return "\n".join(lines)


def page() -> str:
    """A section for each record of ours."""
    kinds = sorted((kind for kind in RECORDS if kind.__module__.startswith("sepc.")), key=lambda kind: kind.__name__)
    sections = [f"## {kind.__name__}\n\n{table_of(kind)}" for kind in kinds]
    return "\n\n".join([INTRODUCTION, *sections]) + "\n"
