"""Scaling: fits on a cluster and out of core, workers that die, and scoring on Dask and Spark.

Two Gaussian classes that overlap, `n_impure` a share of 5 %; 20 ellipsoids at most for the fits in "fit" and "parquet",
fewer where fits are repeated, 38 where rows are scored. Workers are processes of this machine with one thread each; one
BLAS thread. "same as in blocks" compares every array of the model bit for bit with that of blocks in memory. An empty
pass asks the workers for nothing, so its time is the engine's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc_benchmarks.measure import save, show
from sepc_benchmarks.scaling.data import Drawn, Records, Tables, cluster
from sepc_benchmarks.scaling.faults import faults
from sepc_benchmarks.scaling.files import parquet
from sepc_benchmarks.scaling.fits import classifier, fits, speedup
from sepc_benchmarks.scaling.scoring import on_dask, on_spark

FIT_ROWS = 4_000  # the default of `SEPClassifier` for up to ten features


# Sections that take long at any size, since they start Spark or several clusters; the smallest run leaves them out.
LONG = ("spark", "speedup", "faults")


def small_fit(n: int, d: int, most: int) -> SEPClassifier:
    blocks, labels = Drawn(n, d, 1).blocks()
    return classifier(most).fit(blocks[0], labels[0])


def score(n: int, d: int, batch: int, n_fit: int, most: int) -> Records:
    with cluster(2) as client:
        return [on_dask(client, small_fit(n_fit, d, most), Drawn(n, d, n // batch))]


def spark(n: int, d: int, batch: int, n_fit: int, most: int) -> Records:
    return [on_spark(small_fit(n_fit, d, most), Drawn(n, d, n // batch))]


def sections(smallest: bool) -> dict[str, Callable[[], Records | Tables]]:
    if smallest:
        tiny = Drawn(4000, 3, 4)
        return {
            "fit": lambda: fits([(tiny, 1500)], 3, 500),
            "speedup": lambda: speedup(small_fit(2000, 3, 3), Drawn(4000, 3, 4)),
            "faults": lambda: faults(tiny, 2, 2.0, n_kills=1),
            "score": lambda: score(4000, 3, 1000, 2000, 3),
            "spark": lambda: spark(4000, 3, 1000, 2000, 3),
            "parquet": lambda: parquet(tiny, 3, 1500),
        }
    million, many = Drawn(1_000_000, 10, 20), Drawn(10_000_000, 10, 40)
    return {
        "fit": lambda: fits([(million, FIT_ROWS), (many, FIT_ROWS)], 20, 100_000),
        "speedup": lambda: speedup(small_fit(20_000, 10, 8), Drawn(1_000_000, 10, 10)),
        "faults": lambda: faults(million, 4, 30.0, n_kills=3),
        "score": lambda: score(1_000_000, 10, 100_000, 20_000, 38),
        "spark": lambda: spark(1_000_000, 10, 100_000, 20_000, 38),
        "parquet": lambda: parquet(Drawn(100_000_000, 5, 100), 40, FIT_ROWS),
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smallest", action="store_true", help="one tiny size of everything, to see that it runs")
    parser.add_argument("--output", type=Path, help="write the figures to this file as JSON")
    parser.add_argument("--only", help="sections, joined by commas; Spark's takes a minute to start")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    results: dict[str, Records] = {}
    if chosen.output is not None and chosen.output.exists():
        results = json.loads(chosen.output.read_text(encoding="utf-8"))
        results.pop("facts", None)
    runs = sections(chosen.smallest)
    quick = [title for title in runs if not (chosen.smallest and title in LONG)]
    with threadpool_limits(1):
        for title in chosen.only.split(",") if chosen.only else quick:
            found = runs[title]()
            tables = found if isinstance(found, dict) else {title: found}
            for name, records in tables.items():
                show(name, records)
            results |= tables
            save(chosen.output, results)


if __name__ == "__main__":
    main()
