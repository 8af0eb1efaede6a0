"""What a command prints: text or JSON on standard output, and errors as one line with an exit code."""

from __future__ import annotations

import _thread
import argparse
import csv
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


def add_printing_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that every command has."""
    parser.add_argument("--json", action="store_true", help="print the result as one JSON document")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors, warnings and --json")


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
