"""Values of options that several commands have."""

from __future__ import annotations

import argparse


def whole_number(text: str) -> int:
    """Parse a whole number of at least 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
