"""What goes wrong, in one line and an exit code."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

# Exit codes; that of an interrupt is what shells give.
WRONG_INPUT = 2
OTHER = 1
INTERRUPTED = 130

# Names listed in a message.
MOST_NAMES = 12


class InputError(Exception):
    """What the user gave cannot be used; the message says what and where, and what to do."""


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; the errors of the system with the file they are about."""
    if isinstance(error, OSError) and error.strerror:
        about = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{about}{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def listed(names: Iterable[str]) -> str:
    """Names for a message, not too many."""
    shown = [repr(name) for name in names]
    more = len(shown) - MOST_NAMES
    return ", ".join(shown) if more <= 0 else f"{', '.join(shown[:MOST_NAMES])} and {more:,} more"


def nearest(name: str, names: Sequence[str]) -> str:
    """A question for what was meant, if some name is like the one given."""
    folded = {other.casefold(): other for other in names}
    found = get_close_matches(name.casefold(), list(folded), n=1)
    return f" Did you mean {folded[found[0]]!r}?" if found else ""
