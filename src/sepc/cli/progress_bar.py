"""A line on the terminal that says how far long work has come; nothing if nobody looks."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Self

from sepc.wording import floored_percent

# Seconds before the first line, so that short work shows none, and between lines.
FIRST, EVERY = 0.5, 0.2
BAR_SIGNS = 24

# To the beginning of the line, and clear it.
WIPE = "\r\x1b[K"


class ProgressBar:
    """Shows itself on standard error every moment, from a thread of its own, and wipes itself at the end.

    Parameters
    ----------
    what : str
        The work, as in "fitting".
    quiet : bool
        Show nothing; as when standard error is no terminal.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = what
        self.note = ""
        self.share: float | None = None
        self.shown = not quiet and sys.stderr.isatty()
        self.started = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._redraw, daemon=True)

    def __enter__(self) -> Self:
        if self.shown:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self.shown:
            self._over.set()
            self._thread.join()
            sys.stderr.write(WIPE)
            sys.stderr.flush()

    def tell(self, note: str, share: float | None = None) -> None:
        """What to show from now on: a few words, and how much is done."""
        self.note, self.share = note, share

    def line(self, now: float, width: int) -> str:
        """What is shown at a time on a terminal of so many columns."""
        parts = [self.what]
        if self.share is not None:
            n_full = int(self.share * BAR_SIGNS)
            parts.append(f"[{'#' * n_full}{'.' * (BAR_SIGNS - n_full)}] {floored_percent(self.share, 0):>5}")
        parts += [self.note, clock(now - self.started) if self.share is None else ""]
        return "  ".join(part for part in parts if part)[: max(width - 1, 10)]

    def tell_rows(self, n_done: int, n_rows: int | None, share: float | None) -> None:
        """Show how many rows are done, of how many, how fast and how long the rest will take at that pace."""
        seconds = time.monotonic() - self.started
        words = [f"{n_done:,}{f' of {n_rows:,}' if n_rows else ''} rows"]
        if seconds >= 1.0:
            words.append(f"{n_done / seconds:,.0f} a second")
        if seconds >= 1.0 and share:
            words.append(f"{clock(seconds * (1.0 - share) / share)} left")
        self.tell(", ".join(words), share)

    def _redraw(self) -> None:
        wait = FIRST
        while not self._over.wait(wait):
            width = shutil.get_terminal_size().columns
            sys.stderr.write(f"{WIPE}{self.line(time.monotonic(), width)}")
            sys.stderr.flush()
            wait = EVERY


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds, with hours if there are any."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
