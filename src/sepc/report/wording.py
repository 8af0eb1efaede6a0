"""Names and numbers as a reader meets them: short, on one line, and with nothing hidden in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np

# Longer names are cut in the middle: what tells two of them apart is often at the end.
LONGEST_NAME = 80

# Characters that end lines, move the cursor, turn the direction of writing or are not characters at all; what joins
# emoji and letters (U+200C, U+200D) stays.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
NO_BREAK = "\u00a0"
SPACES = re.compile(r"[ \t\r\n\f\v\x85\u2028\u2029]+")


def visible(text: str) -> str:
    r"""The text on one line, with codes such as ``\x1b`` in place of what would be hidden or would hide something.

    Examples
    --------
    >>> visible("two\nlines, \x1b[31mred")
    'two lines, \\x1b[31mred'
    """
    return HIDDEN.sub(_code, SPACES.sub(" ", text))


def _code(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def short(text: str, longest: int = LONGEST_NAME) -> str:
    """The text, with its middle left out if it is longer than that.

    Examples
    --------
    >>> short("mean concave points", 11)
    'mean …oints'
    """
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[len(text) - end :]}"


def name_of(value: Any) -> str:
    """A label, a feature or an index as text of bounded length."""
    return short(visible(str(value.item() if isinstance(value, np.generic) else value)))


def percent(share: float) -> str:
    """A share as in "87.5 %"; only all is 100 %, and only nothing is 0 %."""
    told = f"{100.0 * share:.1f} %"
    if share < 1.0 and told == "100.0 %":
        return "above 99.9 %"
    return "below 0.1 %" if share > 0.0 and told == "0.0 %" else told


def signed(terms: Sequence[tuple[str, float]]) -> str:
    """Names and signed numbers; no line ends between the two.

    Examples
    --------
    >>> print(signed([("area", 0.714), ("texture", -0.4)]).replace(NO_BREAK, " "))
    area +0.71, texture -0.40
    """
    return ", ".join(f"{name}{NO_BREAK}{value:+.2f}" for name, value in terms)


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(sign) or sign in "\u200c\u200d\ufe0e\ufe0f" else _width(sign) for sign in text
    )


def _width(sign: str) -> int:
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1
