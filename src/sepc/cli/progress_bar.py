"""A progress line on the terminal, drawn by tqdm; none without tqdm, or if standard error is redirected."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from types import TracebackType
from typing import Self

from sepc.wording import visible

# Seconds before the first line, so that short work shows none; and between redraws.
FIRST, EVERY = 0.5, 0.2

# For work that does not count rows: its name, a note and the time elapsed.
WITHOUT_ROWS = "{desc}{postfix} [{elapsed}]"


class ProgressBar:
    """Redraws a line on standard error from its own thread, so that the clock keeps running while work is silent.

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
        self.n_done, self.n_rows = 0, 0
        self.started = time.time()
        self.shown = not quiet and sys.stderr.isatty()
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

    def update(self, note: str) -> None:
        """Set the note to show."""
        self.note = note

    def update_rows(self, n_done: int, n_rows: int | None, share: float | None) -> None:
        """Set how many rows are done, and out of how many; if unknown, the share of the file gives an estimate."""
        self.n_done, self.n_rows = n_done, n_rows or (round(n_done / share) if share else 0)

    def _redraw(self) -> None:
        if self._over.wait(FIRST):
            return
        try:
            from tqdm import tqdm
        except ImportError:
            return
        # tqdm would draw nothing on a terminal that does not report its size.
        size = {"ncols": shutil.get_terminal_size().columns, "nrows": 2}
        with tqdm(desc=self.what, leave=False, unit=" rows", unit_scale=True, bar_format=WITHOUT_ROWS, **size) as bar:
            bar.start_t = self.started
            while not self._over.wait(EVERY):
                bar.ncols = shutil.get_terminal_size().columns
                bar.n, bar.total, bar.postfix = self.n_done, self.n_rows or None, self.note
                bar.bar_format = None if self.n_done else WITHOUT_ROWS
                bar.refresh()
