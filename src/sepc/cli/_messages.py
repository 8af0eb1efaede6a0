"""What a command prints: text or JSON on standard output, and errors as one line with an exit code."""

from __future__ import annotations

import _thread
import argparse
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sepc.wording import HIDDEN, json_value, printable, visible

# All text for people passes through here, so no control character in a name or a cell reaches the terminal.


# Exit codes besides 0, by which a scheduler can tell an alarm from an error; 130 is what shells use for an interrupt.
OTHER = 1
WRONG_INPUT = 2
ALARM = 3
INTERRUPTED = 130


class InputError(Exception):
    """What the user gave cannot be used; the message says what, where, and what to do about it."""


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; errors of the operating system name their file."""
    if isinstance(error, OSError) and error.strerror:
        about = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{about}{error.strerror}."
    return " ".join(str(error).split()) or type(error).__name__


def say(options: argparse.Namespace, text: str, facts: Any) -> None:
    """Print the result: `facts` with --json, nothing with --quiet, else `text`."""
    if options.json:
        document = json.dumps(json_value(facts), ensure_ascii=False, indent=2, allow_nan=False)
        # Escapes are valid JSON, and programs read the same text.
        sys.stdout.write(HIDDEN.sub(_escaped, document) + "\n")
    elif not options.quiet:
        sys.stdout.write(printable(text).rstrip("\n") + "\n")


def complain(line: str) -> None:
    """Print an error or a warning on standard error, as one line."""
    sys.stderr.write(f"sepc: {visible(line)}\n")


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}"


# Long enough for the callback to end.
SECONDS = 0.05


@contextmanager
def interrupts_come_again() -> Iterator[None]:
    """Context manager in which an interrupt that Python ignored is raised again a moment later."""
    before = sys.unraisablehook

    def again(ignored: Any) -> None:
        if ignored.exc_type is KeyboardInterrupt:
            threading.Timer(SECONDS, _interrupt_main_thread).start()
        else:
            before(ignored)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt_main_thread() -> None:
    """Send a signal, which also ends sleep or a wait for input; Windows cannot send one to a single thread."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
