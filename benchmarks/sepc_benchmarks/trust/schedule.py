"""Run folds in processes that can be ended, skip what is done or too slow, and show how far the work is."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

from sepc_benchmarks.trust.fitting import run_fold
from sepc_benchmarks.trust.folds import DONE, FAILED, TOO_SLOW, Fold, Folds

SECONDS_PER_LINE = 30
BAR_WIDTH = 30


def work(tasks: list[Fold], folds: Folds, n_jobs: int) -> None:
    """Fit those folds that the cache does not have; a learner that is too slow for a fold is spared the others."""
    ended = folds.ended()
    tasks = [fold for fold in tasks if not _is_done(fold, ended)]
    slow = {_kind(fold) for fold, record in ended.items() if record["status"] == TOO_SLOW}
    bar = Progress(len(tasks))
    context = multiprocessing.get_context("fork")
    running: dict[Any, tuple[Fold, BaseProcess]] = {}  # by what one can wait for
    try:
        while tasks or running:
            while tasks and len(running) < n_jobs:
                fold = tasks.pop(0)
                if _kind(fold) in slow:
                    bar.advance()
                    continue
                process: BaseProcess = context.Process(target=run_fold, args=(fold, folds), daemon=True)
                process.start()
                running[process.sentinel] = (fold, process)
            for sentinel in wait(list(running), timeout=1):
                fold, process = running.pop(sentinel)
                process.join()
                if process.exitcode != 0:
                    slow.add(_kind(fold))
                    folds.end(fold, TOO_SLOW if process.exitcode == -signal.SIGPROF else FAILED)
                bar.advance()
            bar.show([fold for fold, _ in running.values()])
    finally:
        for _, process in running.values():
            process.kill()
    bar.close()


def _is_done(fold: Fold, ended: dict[Fold, dict[str, object]]) -> bool:
    return fold in ended and ended[fold]["status"] in (DONE, TOO_SLOW)


def _kind(fold: Fold) -> tuple[str, int, str]:
    return fold.data_set, fold.most_rows, fold.learner


class Progress:
    """A bar that moves fold by fold; a line now and then where there is no terminal."""

    def __init__(self, n_folds: int) -> None:
        self._n_folds, self._n_done = n_folds, 0
        self._started = self._shown = time.monotonic()

    def advance(self) -> None:
        """One fold has ended."""
        self._n_done += 1

    def show(self, running: list[Fold]) -> None:
        """Draw the bar."""
        on_terminal, now = sys.stderr.isatty(), time.monotonic()
        if not on_terminal and now - self._shown < SECONDS_PER_LINE:
            return
        self._shown = now
        share, minutes = self._n_done / max(self._n_folds, 1), (now - self._started) / 60
        bar = "#" * round(BAR_WIDTH * share)
        doing = ", ".join(f"{fold.data_set} {fold.learner}" for fold in running)
        text = f"[{bar:<{BAR_WIDTH}}] {self._n_done:,} of {self._n_folds:,} folds in {minutes:.0f} min: {doing}"
        sys.stderr.write(f"\r{text[:118]:<118}" if on_terminal else text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        minutes = (time.monotonic() - self._started) / 60
        sys.stderr.write(f"\n{self._n_done:,} folds in {minutes:.1f} min\n")
