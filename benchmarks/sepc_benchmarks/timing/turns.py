"""Tasks that take turns on the processor's clock, and the exponent of growth."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from sepc_benchmarks.measure import TURN_SECONDS

Task = Callable[[], object]

ROUNDS = 5
# Tasks that take longer get fewer runs: three beyond the first limit, one beyond the second, in seconds.
SHORT, LONG = 6.0, 15.0


class Taken(NamedTuple):
    """Median seconds of the processor, and of how many runs."""

    seconds: float
    n_runs: int


def once(task: Task) -> float:
    """Processor seconds of one run; work of others on the machine does not add to them."""
    started = time.process_time()
    task()
    return time.process_time() - started


def n_runs_for(seconds: float, rounds: int) -> int:
    """How often a task is run that took so long at first."""
    return min(rounds, 5 if seconds <= SHORT else 3 if seconds <= LONG else 1)


def in_turns(tasks: Mapping[str, Task], rounds: int = ROUNDS, once_each: Sequence[str] = ()) -> dict[str, Taken]:
    """Median seconds of each task, the tasks taking turns so that a busy machine slows all of them alike.

    A turn repeats a short task for `TURN_SECONDS` and takes the mean. Tasks in `once_each` are run a single time.
    """
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for n_round in range(rounds):
        for name, task in tasks.items():
            before = found[name]
            if not before or (name not in once_each and n_round < n_runs_for(before[0], rounds)):
                before.append(_turn(task))
    return {name: Taken(median(seconds), len(seconds)) for name, seconds in found.items()}


def _turn(task: Task) -> float:
    seconds, n_runs = once(task), 1
    if seconds > TURN_SECONDS:
        return seconds
    started = time.process_time()  # the first call warmed the caches and does not count
    while (spent := time.process_time() - started) < TURN_SECONDS or n_runs == 1:
        task()
        n_runs += 1
    return spent / (n_runs - 1)


def slope(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent of growth: the slope of a line through the logarithms, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
