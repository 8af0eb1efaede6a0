"""The user's own names, made safe for matplotlib."""

from __future__ import annotations

from typing import Any

LONGEST = 36
# Room along an axis of a picture of the usual size.
ALONG_AXIS = 48


def shown(name: Any, longest: int = LONGEST) -> str:
    r"""A name as one short line of plain text: no formulas, nothing hidden from a legend.

    Long names lose their middle, since families of names differ at the start or at the end.

    Examples
    --------
    >>> shown("price_$ (50%)")
    'price_\\$ (50%)'
    >>> shown("the mean of the largest three values of texture", 20)
    'the mean of… texture'
    """
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in str(name)).split())
    if len(text) > longest:
        n_end = longest // 2 - 2
        text = f"{text[: longest - n_end - 1]}…{text[len(text) - n_end :]}"
    # Matplotlib reads what is between two dollars as a formula, and leaves names that start with "_" out of legends.
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def percent(share: float, most_digits: int = 0) -> str:
    """A share of 1, as in "12 %"; with digits after the point only if asked for and needed.

    Examples
    --------
    >>> percent(0.25), percent(0.0349, 1), percent(0.5, 1)
    ('25 %', '3.5 %', '50 %')
    """
    return f"{round(100.0 * share, most_digits):.10g} %"


def counted(n: int, one: str) -> str:
    """A number of things, as in "1 ellipsoid" or "1,200 ellipsoids"."""
    return f"{n:,} {one}{'' if n == 1 else 's'}"
