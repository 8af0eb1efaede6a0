"""Cells that mean a gap."""

from __future__ import annotations

# Texts that mean a gap in every table; spreadsheets, R, pandas and databases write them. --na adds others.
GAP_TEXTS = frozenset(
    ["", "?", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "Null", "null", "None", "<NA>"]
    + ["#N/A", "#N/A N/A", "#NA", "#VALUE!", "#DIV/0!", "#REF!", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
)


def gap_numbers(texts: tuple[str, ...]) -> tuple[float, ...]:
    """The numbers among these texts: of --na -999, also -999.0 is a gap.

    Examples
    --------
    >>> gap_numbers(("-999", "unknown"))
    (-999.0,)
    """
    return tuple(float(text) for text in texts if is_number(text))


def is_number(text: str, decimal: str = ".") -> bool:
    """Whether a text can be read as a number.

    Examples
    --------
    >>> is_number("3.14"), is_number("3,14"), is_number("3,14", ","), is_number("1_000")
    (True, False, True, False)
    """
    if "_" in text or (decimal != "." and "." in text):
        return False
    try:
        float(text.replace(decimal, "."))
    except ValueError:
        return False
    return True
