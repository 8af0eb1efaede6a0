"""Elements of HTML and SVG. Text and attributes are escaped here, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

from sepc.wording import visible

ATTRIBUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
# Elements without content or end.
VOID = {"meta", "br", "input"}


class Markup(str):
    """Text that is already markup, which `tag` and `join` do not escape; any other operation returns plain text."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element.

    Parameters
    ----------
    name : str
    *children : Markup, iterables of children, None for nothing; anything else is text
    **attributes : anything
        ``class_`` is written "class", and ``stroke_width`` "stroke-width". None and False leave the attribute out,
        True writes its name alone.

    Examples
    --------
    >>> tag("p", "a < b", class_='"quoted"')
    '<p class="&quot;quoted&quot;">a &lt; b</p>'
    """
    opening = f"<{name}{''.join(_attribute(*pair) for pair in attributes.items())}>"
    return Markup(opening if name in VOID else f"{opening}{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Children one after another."""
    return Markup("".join(map(_inside, children)))


def _inside(child: Any) -> str:
    if isinstance(child, Markup):
        return child
    if child is None:
        return ""
    if isinstance(child, Iterable) and not isinstance(child, str):
        return join(child)
    return escape(visible(str(child)))


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if not ATTRIBUTE.fullmatch(name) or name.startswith("on"):
        raise ValueError(f"{name!r} is not an attribute that a report may have.")
    if value is True:
        return f" {name}"
    if name == "href" and not str(value).startswith("#"):
        raise ValueError(f"A report links to its own sections only, not to {value!r}.")
    return f' {name}="{escape(visible(str(value)))}"'
