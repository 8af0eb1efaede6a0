"""Values of options, parsed: names, numbers and shares."""

from __future__ import annotations

import argparse
import csv


def names_in(text: str) -> list[str]:
    """Parse names separated by commas; a name with a comma must be quoted."""
    try:
        return [name for name in next(csv.reader([text], skipinitialspace=True), []) if name]
    except csv.Error:
        message = f"{text!r} is not a list of names; a name with a comma or a line break goes in double quotes"
        raise argparse.ArgumentTypeError(message) from None


def whole_number(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def number_or_share(text: str) -> int | float:
    """Parse a whole number of rows, or a share of them."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def share(text: str) -> float:
    """Parse a share of rows: at least 0, less than 1."""
    value = float(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not a share of rows; give a number from 0 to below 1")
    return value
