"""How much memory a command may use and a fit would take, and a progress line on the terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sepc.cli._messages import InputError
from sepc.tables.free_memory import GIGABYTE, free_bytes, in_gigabytes
from sepc.wording import counted, visible

# Bytes that fits were measured to need: for each cell and each row of the table, for each pair of features, and for
# each weight of each row that weights are fitted to. Measured from 2,000 rows of 1,500
# features to a million rows of three.
PER_CELL, PER_ROW, PER_PAIR, PER_WEIGHT = 50, 100, 320, 28
# Weights of a partition, besides those of the features.
OTHER_WEIGHTS = 200


def needed_bytes(n_rows: int, n_features: int) -> int:
    """About how much memory a fit takes."""
    from sepc.estimators.sep.weighed_columns import most_knots
    from sepc.estimators.sep.weighing import WEIGHED_ROWS

    weighed = min(n_rows, WEIGHED_ROWS)
    n_weights = n_features * (1 + most_knots(weighed)) + OTHER_WEIGHTS
    held = n_rows * (PER_CELL * n_features + PER_ROW)
    return held + PER_PAIR * n_features**2 + PER_WEIGHT * weighed * n_weights


@dataclass(frozen=True)
class MemoryLimit:
    """The memory that a fit may take: `n_bytes`, or any amount if None; `reason` says what sets the limit."""

    n_bytes: int | None
    reason: str

    @classmethod
    def of(cls, max_memory: float | None) -> MemoryLimit:
        """The given number of gigabytes, or what is free now."""
        if max_memory is None:
            return cls(free_bytes(), "are free")
        return cls(int(max_memory * GIGABYTE), "are allowed by --max-memory")

    def refuse(self, table: str, n_rows: int, n_features: int, share: float | None = None) -> None:
        """Raise if a fit on these rows would take more."""
        if self.n_bytes is None:
            return
        likely = int(n_rows / share) if share else n_rows
        for n, tolerance in ((n_rows, 1), (likely, 2)):
            needed = needed_bytes(n, n_features)
            if needed > tolerance * self.n_bytes:
                about = "" if n == n_rows else "about "
                raise InputError(
                    f"{table}: {about}{n:,} rows of {counted(n_features, 'feature')} would take about "
                    f"{in_gigabytes(needed)} of memory, and {in_gigabytes(self.n_bytes)} {self.reason}. "
                    "Choose columns with --features or --drop, or give fewer rows."
                )


# Seconds before the first line, so that short work shows none; and between redraws.
FIRST, EVERY = 0.5, 0.2

# For work that does not count rows: its name, a note and the time elapsed.
WITHOUT_ROWS = "{desc}{postfix} [{elapsed}]"


class ProgressBar:
    """Redraws a line on standard error from its own thread, so that the clock keeps running while work is silent."""

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
