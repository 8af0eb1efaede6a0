"""The user's own names, made safe for matplotlib."""

from __future__ import annotations

from typing import Any

from sepc.wording import short, visible

LONGEST = 36
# Room along an axis of a picture of the usual size.
ALONG_AXIS = 48


def for_matplotlib(name: Any, longest: int = LONGEST) -> str:
    r"""A name as one short line of plain text: no formulas, nothing hidden from a legend.

    Examples
    --------
    >>> for_matplotlib("price_$ (50%)")
    'price_\\$ (50%)'
    >>> for_matplotlib("the mean of the largest three values of texture", 20)
    'the mean o…f texture'
    """
    # What no font has a sign for becomes a space.
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in visible(str(name))).split())
    # Matplotlib reads what is between two dollars as a formula, and leaves names that start with "_" out of legends.
    text = short(text, longest).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
