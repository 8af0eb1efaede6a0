"""What do fits and scores cost on files larger than memory, on Dask and on Spark? Twenty minutes on two cores.

Two Gaussian classes that overlap, `n_impure` a share of 5 %; 20 ellipsoids at most for the fits in "fit", 40 in
"parquet", 38 where rows are scored. Workers are processes of this machine with one thread each. "same as in blocks"
compares every array of the model bit for bit with that of blocks in memory. An empty pass asks the workers for nothing,
so its time is the engine's.
"""

from __future__ import annotations

from sepc import SEPClassifier
from sepc_benchmarks.measure import Parts, Tables
from sepc_benchmarks.scaling.data import Drawn, cluster
from sepc_benchmarks.scaling.files import parquet
from sepc_benchmarks.scaling.fits import classifier, fits, speedup
from sepc_benchmarks.scaling.scoring import on_dask, on_spark

FIT_ROWS = 4_000  # the default of `SEPClassifier` for up to ten features


def small_fit(n: int, d: int, most: int) -> SEPClassifier:
    blocks, labels = Drawn(n, d, 1).blocks()
    return classifier(most).fit(blocks[0], labels[0])


def score(n: int, d: int, batch: int, n_fit: int, most: int) -> Tables:
    with cluster(2) as client:
        return {"score": [on_dask(client, small_fit(n_fit, d, most), Drawn(n, d, n // batch))]}


def spark(n: int, d: int, batch: int, n_fit: int, most: int) -> Tables:
    return {"spark": [on_spark(small_fit(n_fit, d, most), Drawn(n, d, n // batch))]}


def parts(smallest: bool) -> Parts:
    """All parts; the smallest run leaves out those that start Spark, or several clusters."""
    if smallest:
        tiny = Drawn(4000, 3, 4)
        return {
            "fit": lambda: fits([(tiny, 1500)], 3, 500),
            "score": lambda: score(4000, 3, 1000, 2000, 3),
            "parquet": lambda: parquet(tiny, 3, 1500),
        }
    million, many = Drawn(1_000_000, 10, 20), Drawn(10_000_000, 10, 40)
    return {
        "fit": lambda: fits([(million, FIT_ROWS), (many, FIT_ROWS)], 20, 100_000),
        "speedup": lambda: speedup(small_fit(20_000, 10, 8), Drawn(1_000_000, 10, 10)),
        "score": lambda: score(1_000_000, 10, 100_000, 20_000, 38),
        "spark": lambda: spark(1_000_000, 10, 100_000, 20_000, 38),
        "parquet": lambda: parquet(Drawn(100_000_000, 5, 100), 40, FIT_ROWS),
    }
