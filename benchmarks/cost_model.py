"""The cost model of fits and scores: constants on one core, runs of 10^6 to 10^8 rows beside it, and what follows.

Two Gaussian classes that overlap, at most 40 ellipsoids, default `fit_rows`. Constants are seconds of the processor on
one block of rows; runs are seconds on the clock, on two cores. Larger sizes are calculated, not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from measure import save, show
from scaling.constants import as_table, measured
from scaling.predictions import Cluster, busy_constants, on_files, on_workers, worked_out
from scaling.service import in_database, in_process, over_http
from threadpoolctl import threadpool_limits

WIDTHS = (5, 20)
FILES = [(10**6, 5), (10**7, 5), (10**8, 5), (10**6, 20), (10**7, 20)]
ON_WORKERS = [(10**6, 5), (10**7, 5), (10**8, 5), (10**6, 20), (10**7, 20)]
PLANS = [
    (10**9, Cluster("1 machine of 16 cores, 256 GB", 1, 16, 256.0)),
    (10**9, Cluster("8 machines of 16 cores, 64 GB", 8, 16, 64.0)),
    (10**9, Cluster("32 machines of 4 cores, 16 GB", 32, 4, 16.0)),
    (10**11, Cluster("32 machines of 16 cores, 64 GB", 32, 16, 64.0)),
    (10**11, Cluster("256 machines of 16 cores, 128 GB", 256, 16, 128.0)),
]
BLOCK_BYTES = 64e6
SECTIONS = ("runs", "service")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    parser.add_argument("--only", choices=SECTIONS, help="run one section again, and keep the other")
    options = parser.parse_args()
    results = {}
    if options.output is not None and options.output.exists():
        results = json.loads(options.output.read_text(encoding="utf-8"))
        results.pop("facts", None)
    with threadpool_limits(1):
        for section in (options.only,) if options.only else SECTIONS:
            found = {"runs": runs, "service": service}[section](options.smallest)
            for name, records in found.items():
                show(name, records)
            results |= found
            save(options.output, results)


def runs(smallest: bool) -> dict[str, list[dict]]:
    """Constants, runs beside the model, and sizes that were not run."""
    widths, most = ((3, 4), 3) if smallest else (WIDTHS, 40)
    small = {"n_cells": 6_000, "n_sample": 2_000} if smallest else {}
    found = {d: measured(d, most, **small) for d in widths}
    costs, models = ({d: own[i] for d, own in found.items()} for i in (0, 1))
    files, on_cluster = ([(3_000, 3)], [(3_000, 3)]) if smallest else (FILES, ON_WORKERS)
    in_files = on_files(files, costs, most)
    busy = {d: busy_constants(d, most, **small) for d in widths}
    return {
        "constants": as_table({"alone": costs, "both cores busy": busy}),
        "files": in_files,
        "workers": on_workers(on_cluster, busy, models, most),
        "plans": [worked_out(n, busy[max(widths)], machines, BLOCK_BYTES) for n, machines in PLANS],
    }


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
    sys.exit(main())
