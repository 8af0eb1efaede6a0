"""A progress line on the terminal; nothing is shown if standard error is redirected."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Self

from sepc.wording import floored_percent, visible

# Seconds before the first line, so that short work shows none, and between redraws.
FIRST, EVERY = 0.5, 0.2
BAR_SIGNS = 24

# To the beginning of the line, and clear it.
WIPE = "\r\x1b[K"


class ProgressBar:
    """Redraws a line on standard error from a thread of its own, and erases it at the end.

    Parameters
    ----------
    what : str
        Name of the work, such as "fitting".
    quiet : bool
        Show nothing, as if standard error were not a terminal.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = visible(what)
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

    def update(self, note: str, share: float | None = None) -> None:
        """Set the note to show and the share of the work that is done."""
        self.note, self.share = note, share

    def line(self, now: float, width: int) -> str:
        """The line to show at time `now` on a terminal `width` columns wide."""
        parts = [self.what]
        if self.share is not None:
            n_full = int(self.share * BAR_SIGNS)
            parts.append(f"[{'#' * n_full}{'.' * (BAR_SIGNS - n_full)}] {floored_percent(self.share, 0):>5}")
        parts += [self.note, clock(now - self.started) if self.share is None else ""]
        return "  ".join(part for part in parts if part)[: max(width - 1, 10)]

    def update_rows(self, n_done: int, n_rows: int | None, share: float | None) -> None:
        """Show how many rows are done, how fast, and how long the rest will take at that pace."""
        seconds = time.monotonic() - self.started
        words = [f"{n_done:,}{f' of {n_rows:,}' if n_rows else ''} rows"]
        if seconds >= 1.0:
            words.append(f"{n_done / seconds:,.0f} a second")
        if seconds >= 1.0 and share:
            words.append(f"{clock(seconds * (1.0 - share) / share)} left")
        self.update(", ".join(words), share)

    def _redraw(self) -> None:
        wait = FIRST
        while not self._over.wait(wait):
            width = shutil.get_terminal_size().columns
            sys.stderr.write(f"{WIPE}{self.line(time.monotonic(), width)}")
            sys.stderr.flush()
            wait = EVERY


def clock(seconds: float) -> str:
    """Seconds as m:ss, or as h:mm:ss from one hour on."""
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
