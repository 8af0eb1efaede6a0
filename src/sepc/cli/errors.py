"""What goes wrong, in one line and an exit code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches

# Exit codes; that of an interrupt is what shells give.
WRONG_INPUT = 2
OTHER = 1
INTERRUPTED = 130


class InputError(Exception):
    """What the user gave cannot be used; the message says what and where, and what to do."""


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; the errors of the system with the file they are about."""
    if isinstance(error, OSError) and error.strerror:
        about = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{about}{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def nearest(name: str, names: Sequence[str]) -> str:
    """A question for what was meant, if some name is like the one given."""
    folded = {other.casefold(): other for other in names}
    found = get_close_matches(name.casefold(), list(folded), n=1)
    return f" Did you mean {folded[found[0]]!r}?" if found else ""
