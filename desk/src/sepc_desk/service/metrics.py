"""Metrics for Prometheus: counts and times, but no values of cases."""

from __future__ import annotations

import os
import time
from collections import Counter as Counts
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from sepc_desk.deciding import Decided
from sepc_desk.models import Model

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
NAMESPACE = "sepc_desk"
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What the service counts."""

    def __init__(self) -> None:
        _forget_dead_processes()
        self.registry = CollectorRegistry()
        given: Any = {"namespace": NAMESPACE, "registry": self.registry}
        self._decisions = Counter("decisions", "Decisions", ["model", "label", "accepted", "cause"], **given)
        self._requests = Counter("requests", "Requests", ["route", "status"], **given)
        self._seconds = Histogram("request_seconds", "Time to answer", ["route"], buckets=SECONDS, **given)
        self._write = Histogram("write_seconds", "Time to write a group to the log", buckets=SECONDS, **given)
        self._group = Histogram("group_entries", "Entries in a group", buckets=SIZES, **given)
        self.write_failures = Counter("write_failures", "Groups that the log did not confirm", **given)
        self._waiting = Gauge("waiting_rows", "Rows that wait to be decided", multiprocess_mode="livesum", **given)
        self._lag = Gauge("log_lag_seconds", "Age of the oldest row that waits", multiprocess_mode="livemax", **given)
        self._head = Gauge("chain_place", "The last place of the chain that was seen", multiprocess_mode="max", **given)
        self.task_failures = Counter("task_failures", "Failures of background tasks", ["task"], **given)

    def decided(self, model: Model | None, decided: Sequence[Decided]) -> None:
        """Count decisions."""
        if model is None:
            return
        same = Counts((str(one.label), str(one.accepted).lower(), one.cause) for one in decided)
        for labels, n in same.items():
            self._decisions.labels(model.name, *labels).inc(n)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def wrote(self, n: int, seconds: float, place: int) -> None:
        """Count a group that was written."""
        self._write.observe(seconds)
        self._group.observe(n)
        self._head.set(place)

    def waiting(self, n: int, oldest: float | None) -> None:
        """Note how many rows wait, and since when."""
        self._waiting.set(n)
        self._lag.set(0.0 if oldest is None else time.monotonic() - oldest)

    def text(self) -> bytes:
        """The metrics of all processes, in the format of Prometheus."""
        if FOLDER not in os.environ:
            return bytes(generate_latest(self.registry))
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(together))


def _forget_dead_processes() -> None:
    """Remove the gauges of processes that were killed."""
    for file in Path(os.environ[FOLDER]).glob("gauge_live*.db") if FOLDER in os.environ else ():
        process = int(file.stem.rpartition("_")[2])
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            with suppress(FileNotFoundError):  # another process may have removed it just now
                mark_process_dead(process)  # type: ignore[no-untyped-call]
