"""The cost model of fits and scores: constants on one core, runs of 10^6 to 10^8 rows beside it, and what follows.

Two Gaussian classes that overlap, at most 40 ellipsoids, default `fit_rows`. Constants are seconds of the processor on
one block of rows, measured before and after each run. Larger sizes are calculated, not run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from sepc_benchmarks.measure import save, show
from sepc_benchmarks.scaling.constants import as_table, mean_of, measured, megabytes_of_fit
from sepc_benchmarks.scaling.predictions import Cluster, worked_out
from sepc_benchmarks.scaling.runs import by_memory, fit_of_files, fit_on_dask, score_on_dask
from sepc_benchmarks.scaling.service import in_database, in_process, over_http

SIZES = [(10**6, 5), (10**7, 5), (10**8, 5), (10**6, 20), (10**7, 20)]
PLANS = [
    (10**9, Cluster("1 machine of 16 cores, 256 GB", 1, 16, 256.0)),
    (10**9, Cluster("8 machines of 16 cores, 64 GB", 8, 16, 64.0)),
    (10**9, Cluster("32 machines of 4 cores, 16 GB", 32, 4, 16.0)),
    (10**11, Cluster("32 machines of 16 cores, 64 GB", 32, 16, 64.0)),
    (10**11, Cluster("256 machines of 16 cores, 128 GB", 256, 16, 128.0)),
]
BLOCK_BYTES = 64e6


def main() -> None:
    sections = {"files": files, "workers": workers, "memory": memory, "service": service}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    parser.add_argument("--only", choices=list(sections), help="run one section again, and keep the others")
    options = parser.parse_args()
    results = {}
    if options.output is not None and options.output.exists():
        results = json.loads(options.output.read_text(encoding="utf-8"))
        results.pop("facts", None)
    with threadpool_limits(1):
        for section in (options.only,) if options.only else sections:
            found = sections[section](options.smallest)
            for name, records in found.items():
                show(name, records)
            results |= found
            save(options.output, results)


def files(smallest: bool) -> dict[str, list[dict]]:
    """Fits of files in one process beside the model."""
    sizes, most, small = what_to_run(smallest)
    once = {d: megabytes_of_fit(d, most) for d in sorted({d for _, d in sizes})}
    runs = [fit_of_files(n, d, most, once[d], **small) for n, d in sizes]
    table = as_table([run.constants for run in runs])
    megabytes = {"constant": "once, MB"} | {f"{d} features": own for d, own in once.items()}
    return {"constants of files": [*table, megabytes], "files": [run.record for run in runs]}


def workers(smallest: bool) -> dict[str, list[dict]]:
    """Fits and scores on workers beside the model, and sizes that were not run."""
    sizes, most, small = what_to_run(smallest)
    runs = [run(n, d, most, **small) for n, d in sizes for run in (fit_on_dask, score_on_dask)]
    costs = [run.constants for run in runs]
    widest = mean_of([one for one in costs if one.features == max(d for _, d in sizes)])
    return {
        "constants of workers": as_table(costs),
        "workers": [run.record for run in runs],
        "plans": [worked_out(n, widest, machines, BLOCK_BYTES) for n, machines in PLANS],
    }


def what_to_run(smallest: bool) -> tuple[list[tuple[int, int]], int, dict[str, int]]:
    """Sizes, most ellipsoids, and the sizes of what constants are measured on if not the usual ones."""
    return ([(3_000, 3)], 3, {"n_cells": 6_000, "n_sample": 2_000}) if smallest else (SIZES, 40, {})


def memory(smallest: bool) -> dict[str, list[dict]]:
    """What it costs that workers of Dask give memory back at once."""
    given = [(3, 3, {"n_cells": 6_000, "n_sample": 2_000})] if smallest else [(5, 40, {}), (20, 40, {})]
    return {"memory": [record for d, most, small in given for record in by_memory(d, most, **small)]}


def service(smallest: bool) -> dict[str, list[dict]]:
    """What one core scores by ONNX Runtime, over HTTP and in SQL."""
    d, most, n_fit = (3, 3, 2_000) if smallest else (20, 40, 200_000)
    model = measured(d, most, 6_000 if smallest else 2**20, n_fit)[1]
    batches, seconds = ((1, 10), 0.3) if smallest else ((1, 10, 100, 1_000, 10_000), 8.0)
    n = 2_000 if smallest else 1_000_000
    return {
        "service": [
            *in_process(model, d, batches, 3 if smallest else 7),
            *over_http(model, d, batches, seconds),
            *in_database(model, d, n, (1, 2)),
        ]
    }


if __name__ == "__main__":
    main()
