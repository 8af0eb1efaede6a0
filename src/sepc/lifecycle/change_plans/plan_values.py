"""Values of a plan, checked one by one, with errors that name what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sepc.wording import did_you_mean, listed, shown

KINDS = {str: "text", int: "a whole number", float: "a number", list: "a list", dict: "a table"}
REQUIRED = object()


class PlanError(ValueError):
    """A plan that cannot be read; the message says what is wrong in it."""


def check_keys(content: Mapping[str, Any], where: str, known: Sequence[str]) -> None:
    """Raise if a part of the plan has a key that the schema does not know."""
    for name in content:
        if name not in known:
            raise PlanError(
                f"{where} has {name!r}; it may have {listed(map(shown, known))}.{did_you_mean([name], known)}"
            )


def value_in(content: Mapping[str, Any], name: str, kind: type, where: str, default: Any = REQUIRED) -> Any:
    """The value of a key, of this type; a whole number is also a number, but true and false are not."""
    if name not in content:
        if default is REQUIRED:
            raise PlanError(f"{where} lacks {name!r}.")
        return default
    value = content[name]
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise PlanError(f"{name} in {where} is {value!r}; it must be {KINDS[kind]}.")
    return value


def share_in(content: Mapping[str, Any], name: str, where: str, default: Any = REQUIRED) -> float:
    """The value of a key that is a share, from 0 to below 1."""
    share: float = value_in(content, name, float, where, default)
    if not 0.0 <= share < 1.0:
        raise PlanError(f"{name} in {where} is {share!r}; it is a share, from 0 to below 1.")
    return share


def number_in(content: Mapping[str, Any], name: str, where: str, default: Any = REQUIRED) -> int:
    """The value of a key that is a whole number of at least 1."""
    number: int = value_in(content, name, int, where, default)
    if number < 1:
        raise PlanError(f"{name} in {where} is {number}; it must be at least 1.")
    return number


def choice_in(content: Mapping[str, Any], name: str, where: str, choices: Sequence[str]) -> str:
    """The value of a key that is one of some texts, by default the first."""
    value: str = value_in(content, name, str, where, choices[0])
    if value not in choices:
        raise PlanError(f"{name} in {where} is {value!r}; it must be {listed(map(shown, choices))}, one of them.")
    return value
