"""How a CSV file is written: its separator and its decimal sign, judging by its first rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

# Separators that are tried, the usual ones first.
SEPARATORS = (",", ";", "\t", "|")
# Rows that show the separator.
SHOWN_ROWS = 20

# A whole number written with a zero in front, which is a code and no number: a zip code, a telephone number.
CODE = "^[+-]?0[0-9]"


def sniffed_separator(sample: bytes, first: str = ",") -> str:
    r"""The separator that gives the first rows as many cells as the header; `first` if no other gives more.

    Examples
    --------
    >>> sniffed_separator(b"name, first;age, years\nAda;36\nAlan;41\n"), sniffed_separator(b"x\n1\n")
    (';', ',')
    """
    lines = sample.decode("utf-8", errors="replace").removeprefix("\ufeff").splitlines(keepends=True)
    ordered = sorted(SEPARATORS, key=lambda sign: sign != first)
    return max(ordered, key=lambda sign: _agreement(lines, sign))


def _agreement(lines: Sequence[str], sign: str) -> tuple[float, int]:
    """The share of rows with as many cells as the header, if it has several, and how many these are."""
    try:
        rows = [row for row, _ in zip(csv.reader(lines, delimiter=sign), range(SHOWN_ROWS + 2), strict=False) if row]
    except csv.Error:
        return 0.0, 0
    # The last row may have been cut off.
    header, *others = rows[:-1] if len(rows) > 2 else rows or [[]]
    if len(header) < 2:
        return 0.0, 0
    return sum(len(row) == len(header) for row in others) / max(1, len(others)), len(header)


def is_decimal_comma(text: str) -> bool:
    """Whether a cell is a number with a decimal comma.

    Examples
    --------
    >>> is_decimal_comma("3,14"), is_decimal_comma("3.14"), is_decimal_comma("a,b")
    (True, False, False)
    """
    return re.fullmatch(r"\s*[+-]?[0-9]+,[0-9]+\s*", text) is not None
