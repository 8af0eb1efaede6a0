"""Run folds in processes that can be ended, skip what is done or too slow, and show how far the work is."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from multiprocessing.connection import wait

from fitting import run_fold
from folds import DONE, FAILED, LAYERS, TOO_SLOW, Fold, Folds, Plan
from learners import FOREST
from suite import rows_of

SECONDS_PER_LINE = 30
BAR_WIDTH = 30
DEARER = {LAYERS: 20, FOREST: 14, "EBM": 12, "SEP-C calibrated": 3, "random hyperboxes": 3}  # rough, the rest is 1


def work(plan: Plan, folds: Folds, n_jobs: int) -> None:
    """Fit everything the plan asks for that the cache does not have."""
    ended = folds.ended()
    tasks = [fold for fold in plan.tasks() if not _is_done(fold, ended)]
    slow = {(fold.data_set, fold.learner) for fold, record in ended.items() if record["status"] == TOO_SLOW}
    bar = Progress(tasks, folds)
    context = multiprocessing.get_context("fork")
    running: dict[int, tuple[Fold, multiprocessing.process.BaseProcess]] = {}
    try:
        while tasks or running:
            while tasks and len(running) < n_jobs:
                fold = tasks.pop(0)
                if (fold.data_set, fold.learner) in slow:
                    bar.advance(fold)
                    continue
                process = context.Process(target=run_fold, args=(fold, folds), daemon=True)
                process.start()
                running[process.sentinel] = (fold, process)
            for sentinel in wait(list(running), timeout=1):
                fold, process = running.pop(sentinel)
                process.join()
                if process.exitcode != 0:
                    slow.add((fold.data_set, fold.learner))
                    _note_end(fold, folds, TOO_SLOW if process.exitcode == -signal.SIGPROF else FAILED)
                bar.advance(fold)
            bar.show([fold for fold, _ in running.values()])
    finally:
        for _, process in running.values():
            process.kill()
    bar.close()


def _is_done(fold: Fold, ended: dict[Fold, dict[str, object]]) -> bool:
    return fold in ended and ended[fold]["status"] in (DONE, TOO_SLOW)


def _note_end(fold: Fold, folds: Folds, status: str) -> None:
    """A fold that did not end well; if Track B did not get beyond the forest, the forest did not either."""
    folds.end(fold, status)
    forest = Fold(fold.data_set, FOREST, fold.seed, fold.fold, fold.n_folds)
    if fold.learner == LAYERS and forest not in folds.ended():
        folds.end(forest, status)


class Progress:
    """A bar that moves by the work done, with the time left; a line now and then where there is no terminal."""

    def __init__(self, tasks: list[Fold], folds: Folds) -> None:
        sizes = {name: rows_of(name, folds.folder) for name in dict.fromkeys(fold.data_set for fold in tasks)}
        self._weights = {
            fold: len(sizes[fold.data_set].y) * sizes[fold.data_set].n_classes * DEARER.get(fold.learner, 1)
            for fold in tasks
        }
        self._total, self._done, self._n_done = max(sum(self._weights.values()), 1), 0, 0
        self._started = self._shown = time.monotonic()

    def advance(self, fold: Fold) -> None:
        """One fold has ended."""
        self._done += self._weights[fold]
        self._n_done += 1

    def show(self, running: list[Fold]) -> None:
        """Draw the bar."""
        on_terminal, now = sys.stderr.isatty(), time.monotonic()
        if not on_terminal and now - self._shown < SECONDS_PER_LINE:
            return
        self._shown = now
        share, elapsed = self._done / self._total, now - self._started
        left = f"{elapsed * (1 - share) / share / 60:.0f} min left" if share > 0.001 else "time left unknown"
        bar = "#" * round(BAR_WIDTH * share)
        doing = ", ".join(f"{fold.data_set} {fold.learner}" for fold in running)
        text = f"[{bar:<{BAR_WIDTH}}] {self._n_done:,} of {len(self._weights):,} folds, {left}: {doing}"
        sys.stderr.write(f"\r{text[:118]:<118}" if on_terminal else text + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        minutes = (time.monotonic() - self._started) / 60
        sys.stderr.write(f"\n{self._n_done:,} folds in {minutes:.1f} min\n")
