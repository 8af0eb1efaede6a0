"""Where the time of a fit goes: the program is looked at every few milliseconds, and asked what it is doing."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import sepc
from sepc import SEPClassifier
from sepc_benchmarks.timing.data import Labelled, first_letters, noisy
from sepc_benchmarks.timing.turns import Records, Tables

HOME = Path(sepc.__file__).parent
EVERY = 0.004  # seconds of the processor between two looks
# The innermost of these modules names the stage; helpers they call count as theirs.
STAGES = {
    "kernels/enclose": "smallest ellipsoids",
    "kernels/hulls": "cuts",
    "partition/separate": "counts and splits within the partition",
    "partition/carve": "counts and splits within the partition",
    "partition/sequence": "counts and splits within the partition",
    "estimators/sep/weighing": "weights",
    "kernels/softmax": "weights",
    "model/signature_table": "counts of all rows in the ellipsoids",
    "points/signatures": "counts of all rows in the ellipsoids",
}
OTHER = "range, sample, checks"


def stage_of(frame: FrameType | None) -> str:
    """The stage of the fit that a frame belongs to."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(HOME):
            module = path.relative_to(HOME).with_suffix("").as_posix()
            if module in STAGES:
                return STAGES[module]
        frame = frame.f_back
    return OTHER


@contextmanager
def watched() -> Iterator[Counter[str]]:
    """Seconds of the processor in each stage; a look that comes late has more seconds to give away."""
    found: Counter[str] = Counter()
    last = time.process_time()

    def look(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.process_time()
        found[stage_of(frame)] += now - last  # type: ignore[assignment]
        last = now

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)
    try:
        yield found
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def stages(sizes: tuple[int, ...], n_letters: int) -> Tables:
    """Share of each stage in fits of noisy rows and of letters."""
    drawn: dict[str, Labelled] = {f"{n:,} noisy rows": noisy(n) for n in sizes}
    drawn[f"{n_letters:,} letters"] = first_letters(26, n_letters)
    columns: dict[str, dict[str, float]] = {}
    for name, (X, y) in drawn.items():
        with watched() as found:
            SEPClassifier().fit(X, y)
        total = sum(found.values())
        columns[name] = {stage: seconds / total for stage, seconds in found.items()}
    names = dict.fromkeys((*STAGES.values(), OTHER))
    records: Records = [_record(stage, columns) for stage in names]
    return {"stages": records}


def _record(stage: str, columns: dict[str, dict[str, float]]) -> dict[str, Any]:
    return {"share of the fit": stage} | {name: f"{own.get(stage, 0.0):.0%}" for name, own in columns.items()}
