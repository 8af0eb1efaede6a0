"""Fits and scores beside what the cost model says of them; constants are measured before and after each run.

Machines that are shared are not equally fast all day, so a run is compared with constants of its own minutes.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

from sepc_benchmarks.scaling.constants import BATCH, Constants, costs_on_workers, fit_rows_of, mean_of, measured
from sepc_benchmarks.scaling.data import Drawn, cluster, cpu_seconds
from sepc_benchmarks.scaling.files import fit_file
from sepc_benchmarks.scaling.fits import fit_on_workers
from sepc_benchmarks.scaling.predictions import (
    GROUP_ROWS,
    megabytes_of_files,
    seconds_of_files,
    seconds_of_rows,
    seconds_of_scores,
)
from sepc_benchmarks.scaling.scoring import n_decided

# Rows of a block on the workers.
BLOCK_ROWS = 500_000
# The C library of workers gives memory back at once as Dask starts them, with a threshold of 65,536, or keeps it.
MEMORY = {
    "as Dask starts them": {},
    "that keep memory": {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25},
}
TURNS, SHOWN = 3, ("sample", "signatures", "decide")


@dataclass(frozen=True)
class Run:
    """A run beside the model, and the constants that the model had."""

    record: dict[str, Any]
    constants: Constants


def fit_of_files(n: int, d: int, most: int, megabytes_once: float, **sizes: int) -> Run:
    """A fit of Parquet files in a process of its own; the files are in the page cache."""
    folder = Path(tempfile.mkdtemp())
    try:
        files = Drawn(n, d, max(1, n // GROUP_ROWS)).write_parquet(folder / "rows")
        before = alone(constants_of, d, most, **sizes)
        run = alone(fit_file, files, most, fit_rows_of(d))
        costs = mean_of([before, alone(constants_of, d, most, **sizes)])
    finally:
        shutil.rmtree(folder)
    times = beside("seconds", run["seconds"], seconds_of_files(n, costs))
    memory = beside("peak MB", run["peak MB"], megabytes_of_files(n, costs, megabytes_once))
    return Run({"what": "fit, Parquet", "rows": f"{n:,} x {d}"} | times | memory, costs)


def alone(task: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """What a function gives in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as one:
        return one.submit(task, *given, **options).result()


def constants_of(d: int, most: int, **sizes: int) -> Constants:
    with threadpool_limits(1):
        return measured(d, most, **sizes)[0]


def fit_on_dask(n: int, d: int, most: int, **sizes: int) -> Run:
    """A fit on two worker processes that hold the rows."""
    drawn = Drawn(n, d, max(2, n // BLOCK_ROWS))
    with cluster(2) as client:
        options = {"most": most, "fit_rows": fit_rows_of(d)}
        run, costs = between(client, d, most, sizes, lambda _: fit_on_workers(client, drawn, **options)[1])
    head = {"what": "fit, Dask", "rows": f"{n:,} x {d}", "seconds on the clock": run["seconds"]}
    times = beside("processor seconds", run["processor seconds"], costs.once + seconds_of_rows(n, costs))
    return Run(head | times, costs)


def score_on_dask(n: int, d: int, most: int, **sizes: int) -> Run:
    """Decisions on rows that two worker processes hold."""
    drawn = Drawn(n, d, max(2, n // BATCH))
    with cluster(2) as client:
        (clock, busy), costs = between(client, d, most, sizes, lambda model: seconds_to_score(client, model, drawn))
    head = {"what": "score, Dask", "rows": f"{n:,} x {d}", "seconds on the clock": clock}
    return Run(head | beside("processor seconds", busy, seconds_of_scores(n, costs, 1.0)), costs)


def by_memory(d: int, most: int, **sizes: int) -> list[dict[str, Any]]:
    """What rows cost on workers as Dask starts them and on workers that keep memory, in turns; medians."""
    import dask

    model = measured(d, most, **sizes)[1]
    found: dict[str, list[dict[str, float]]] = {workers: [] for workers in MEMORY}
    for workers in [*MEMORY] * TURNS:
        options = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in MEMORY[workers].items()}
        with dask.config.set(options), cluster(2) as client:
            found[workers].append(costs_on_workers(client, model, block_of(d, sizes)))
    return [
        {"features": d, "workers": workers}
        | {f"{name}, ns a row": median(one[name] for one in costs) for name in SHOWN}
        for workers, costs in found.items()
    ]


def block_of(d: int, sizes: dict[str, int]) -> Drawn:
    """A block as the workers hold it."""
    return Drawn(min(BLOCK_ROWS, sizes.get("n_cells", BLOCK_ROWS * d) // d), d, 1)


def between(client: Any, d: int, most: int, sizes: dict[str, int], run: Callable[[Any], Any]) -> tuple[Any, Constants]:
    """A run, and the constants on the workers before and after it; what happens once happens on the driver."""
    on_driver, model = measured(d, most, **sizes)
    block = block_of(d, sizes)
    before = costs_on_workers(client, model, block)
    found = run(model)
    after = costs_on_workers(client, model, block)
    return found, mean_of([Constants(**asdict(on_driver) | costs) for costs in (before, after)])


def seconds_to_score(client: Any, model: Any, drawn: Drawn) -> tuple[float, float]:
    """Decisions on rows that the workers hold: seconds on the clock and of the processor."""
    from dask.distributed import futures_of, wait

    X, _ = drawn.on_dask(client)
    there = client.scatter(model, broadcast=True, hash=False)
    wait(client.map(n_decided, futures_of(X)[:2], model=there, pure=False))
    busy, started = cpu_seconds(client), time.perf_counter()
    done = client.map(n_decided, futures_of(X), model=there, pure=False)
    assert sum(client.gather(done)) == drawn.n
    return time.perf_counter() - started, cpu_seconds(client) - busy


def beside(unit: str, run: float, model: float) -> dict[str, float]:
    """A run and what the model says of it."""
    return {unit: run, f"model, {unit}": model, f"model / run, {unit.split()[-1]}": model / run}
