"""Workers that are killed in mid-fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from sepc import SEPClassifier
from sepc.points import engines as engine
from sepc_benchmarks.scaling.data import Drawn, Records, cluster
from sepc_benchmarks.scaling.fits import are_same, classifier, fit_on_workers


def faults(drawn: Drawn, most: int, patience: float, n_kills: int) -> Records:
    """Kill a worker in each of `n_kills` fits, from the first pass to the last; then the only one."""
    with cluster(2) as client:
        whole, undisturbed = fit_on_workers(client, drawn, most)
    n_passes = undisturbed["passes"]
    records: Records = [{"killed": "nobody", "seconds": undisturbed["seconds"], "outcome": "a model"}]
    for n in np.linspace(1, n_passes, n_kills, dtype=int):
        model, seconds = disturbed(drawn, most, n)
        outcome = "the same model" if are_same(model, whole) else "another model"
        killed = f"one worker of two, at pass {n} of {n_passes}"
        records.append({"killed": killed, "seconds": seconds, "outcome": outcome})
    engine.PATIENCE = patience
    return [*records, last_worker(drawn, most)]


def disturbed(drawn: Drawn, most: int, n: int) -> tuple[SEPClassifier, float]:
    """A fit on a cluster of its own, one worker of which is killed at the n-th pass."""
    with cluster(2) as client:
        X, y = drawn.on_dask(client)
        model, started = classifier(most), time.perf_counter()
        with killed_at(n, next(iter(client.run(os.getpid).values()))):
            model.fit(X, y)
        return model, time.perf_counter() - started


def last_worker(drawn: Drawn, most: int) -> dict[str, Any]:
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    options = ["--no-nanny", "--nthreads", "1", "--no-dashboard"]
    with cluster(0) as client:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address, *options]
        worker = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": path})
        X, y = drawn.on_dask(client)
        started, outcome = time.perf_counter(), "a model"
        try:
            with killed_at(3, worker.pid):
                classifier(most).fit(X, y)
        except RuntimeError as error:
            outcome = str(error)
        worker.wait()
    return {"killed": "the only worker", "seconds": time.perf_counter() - started, "outcome": outcome}


class killed_at:  # noqa: N801
    """Kill a process when the n-th pass begins to wait for its answers."""

    def __init__(self, n: int, pid: int) -> None:
        self.n, self.pid = n, pid
        self.n_passes, self.waiting = 0, engine.answers_of

    def __enter__(self) -> None:
        def answers(client: Any, futures: Any) -> Any:
            self.n_passes += 1
            if self.n_passes == self.n:
                os.kill(self.pid, signal.SIGKILL)
            return self.waiting(client, futures)

        engine.answers_of = answers

    def __exit__(self, *_: object) -> None:
        engine.answers_of = self.waiting
