"""Fits of Parquet files that are larger than the memory they are given."""

from __future__ import annotations

import operator
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sepc.estimators.sep import fitting
from sepc.points.blocks import Block
from sepc.points.streams import labelled_blocks
from sepc_benchmarks.measure import Tables
from sepc_benchmarks.scaling.data import Drawn, forget_peak, peak_megabytes
from sepc_benchmarks.scaling.fits import classifier


def parquet(drawn: Drawn, most: int, fit_rows: int) -> Tables:
    """Written to a temporary folder, read once bare, then fitted by a process of its own."""
    folder = Path(tempfile.mkdtemp())
    try:
        files = drawn.write_parquet(folder / "rows")
        size = sum(path.stat().st_size for path in files.iterdir())
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            bare = alone.submit(bare_read, files).result()
            fitted = alone.submit(fit_file, files, most, fit_rows).result()
            bare = min(bare, alone.submit(bare_read, files).result())
    finally:
        shutil.rmtree(folder)
    head = {"rows": f"{drawn.n:,} x {drawn.d}", "GB of files": size / 1e9, "fit_rows": f"{fit_rows:,}"}
    return {"parquet": [head | fitted | {"seconds of a bare pass": bare, "x bare": fitted["seconds"] / bare}]}


def bare_read(files: Path) -> float:
    """Seconds of one pass that reads every row as a fit does, and adds the numbers up."""
    started = time.perf_counter()
    blocks, _ = labelled_blocks(files, "label")
    assert np.isfinite(blocks.blocks.map_blocks(sum_of, operator.add))
    return time.perf_counter() - started


def sum_of(block: Block) -> float:
    return float(block.rows.sum())


def fit_file(files: Path, most: int, fit_rows: int) -> dict[str, Any]:
    forget_peak()
    model, started = classifier(most, fit_rows=fit_rows), time.perf_counter()
    with threadpool_limits(1), Stopwatch() as partitioning:
        model.fit(str(files), "label")
    seconds, table = time.perf_counter() - started, model.model_.table
    outside = table.counts[~table.memberships.any(axis=1)].sum() / table.counts.sum()
    return {
        "ellipsoids": model.model_.n_ellipsoids,
        "share outside": float(outside),
        "peak MB": peak_megabytes(),
        "seconds": seconds,
        "of these on the sample": partitioning.seconds,
    }


class Stopwatch:
    """How long the partition of the sample takes, of a whole fit."""

    def __init__(self) -> None:
        self.seconds, self.partitioning = 0.0, fitting.Growing.to

    def __enter__(self) -> Stopwatch:
        def timed(*given: Any) -> Any:
            started = time.perf_counter()
            pieces = self.partitioning(*given)
            self.seconds += time.perf_counter() - started
            return pieces

        fitting.Growing.to = timed  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        fitting.Growing.to = self.partitioning  # type: ignore[method-assign]
