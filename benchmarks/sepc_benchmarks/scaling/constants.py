"""What the parts of a fit and of a decision cost on one core: the constants of the cost model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.estimators.sep.training_set import Extent, Standardization
from sepc.model.counts import Signatures
from sepc.points.blocks import ArrayBlocks, Block, BlockLabels, LabelledBlocks
from sepc.points.proportional_sample import RowCounts
from sepc.points.reductions import Transformed
from sepc.points.row_digest import N_HASHES
from sepc.points.streams import BLOCK_CELLS, ParquetSource
from sepc.shapes.ellipsoid import BOUNDARY_SLACK, Ellipsoid
from sepc_benchmarks.scaling.data import Drawn, forget_peak, peak_megabytes
from sepc_benchmarks.scaling.fits import classifier

ROUNDS = 5
# Of very many rows a sample holds few in each block, and at least this many, with these counters for frequent ones.
LIMIT, HELD, COUNTERS = N_HASHES // 1000, 2**13, 2**14
# Rows of the fit that gives the seconds which do not grow with rows, of the one that gives the memory, and of a batch.
SAMPLE_FIT, WEIGHED, BATCH = 200_000, 40_000, 100_000
# The passes of a fit with `fit_rows`, in their order.
PASSES = ("extent", "sample", "signatures")


@dataclass(frozen=True)
class Constants:
    """Nanoseconds of the processor for a row, and seconds for what happens once.

    Attributes
    ----------
    features, ellipsoids : int
    once : float
        Seconds of the rest of a fit: partition and weights of the sample.
    read, labels : float
        Parquet to an array; the column of labels.
    prepare : float
        Checking a block that is in a worker's memory, and its labels.
    extent, sample, signatures : float
        The three passes of a fit with `fit_rows`.
    decide : float
        Label, trust and acceptance, in batches of `BATCH` rows.
    """

    features: int
    ellipsoids: int
    once: float
    read: float
    labels: float
    prepare: float
    extent: float
    sample: float
    signatures: float
    decide: float

    @property
    def passes(self) -> tuple[float, ...]:
        """The three passes."""
        return tuple(getattr(self, name) for name in PASSES)


def measured(d: int, most: int, n_cells: int = BLOCK_CELLS, n_sample: int = SAMPLE_FIT) -> tuple[Constants, Any]:
    """The constants for this many features, and a fitted model."""
    fitted, seconds = fit_of_few(Drawn(n_sample, d, 1), most)
    rows = costs_of_rows(fitted, Drawn(n_cells // d, d, 1))
    once = seconds - 1e-9 * n_sample * sum(rows[name] for name in PASSES)
    return Constants(d, fitted.model_.n_ellipsoids, once=once, **rows), fitted


def costs_of_rows(fitted: SEPClassifier, drawn: Drawn) -> dict[str, float]:
    """Nanoseconds of the processor a row, each the median of a few runs on one block."""
    rows, y = drawn.rows(0), drawn.labels(0)
    block = of_block(rows, BlockLabels.of(y))
    standard, signatures = signatures_of(fitted)
    look = RowCounts(0, LIMIT, HELD, COUNTERS)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        table = ParquetSource.at(drawn.write_parquet(Path(folder) / "rows"), "label")
        tasks = {
            "read": lambda: table.rows(0),
            "labels": lambda: of_block(rows, table.labels(0)),
            "prepare": lambda: prepare(rows, y),
            "extent": lambda: Extent.of(block),
            "sample": lambda: block.reduce_each({0: look, 1: look}),
            "signatures": lambda: block.reduce_each(dict.fromkeys((0, 1), Transformed(signatures, standard.place))),
            "decide": lambda: fitted.decide(rows[:BATCH]).accepted.sum(),
        }
        found = {name: 1e9 * processor_seconds(task) / len(rows) for name, task in tasks.items()}
    return found | {"decide": found["decide"] * len(rows) / min(BATCH, len(rows))}


def fit_of_few(drawn: Drawn, most: int) -> tuple[SEPClassifier, float]:
    """A fit in memory, and the seconds of the processor it takes."""
    X, y = drawn.rows(0), drawn.labels(0)
    model = classifier(most, fit_rows=fit_rows_of(drawn.d))
    return model, processor_seconds(lambda: model.fit(X, y), 3)


def megabytes_of_fit(d: int, most: int) -> float:
    """The most memory of a process that fits the rows of a sample."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
        return alone.submit(peak_of_fit, Drawn(WEIGHED, d, 1), most).result()


def peak_of_fit(drawn: Drawn, most: int) -> float:
    forget_peak()
    classifier(most, fit_rows=fit_rows_of(drawn.d)).fit(drawn.rows(0), drawn.labels(0))
    return peak_megabytes()


def mean_of(found: list[Constants]) -> Constants:
    """The means of what was measured at several times or places."""
    means: dict[str, Any] = {name: float(np.mean([getattr(one, name) for one in found])) for name in asdict(found[0])}
    return Constants(**means | {"features": found[0].features, "ellipsoids": found[0].ellipsoids})


def costs_on_workers(client: Any, fitted: SEPClassifier, drawn: Drawn) -> dict[str, float]:
    """The costs of rows in worker processes that all are at work; their means."""
    there = client.scatter(fitted, broadcast=True, hash=False)
    tasks = [client.submit(costs_of_rows, there, drawn, workers=[name], pure=False) for name in client.nthreads()]
    found = client.gather(tasks)
    return {name: float(np.mean([costs[name] for costs in found])) for name in found[0]}


def fit_rows_of(d: int) -> int:
    """The default of `SEPClassifier`."""
    from sepc.estimators.sep.fitting import most_partitioned

    return most_partitioned(d)


def signatures_of(fitted: SEPClassifier) -> tuple[Standardization, Signatures]:
    """The reduction that counts rows by the ellipsoids they lie in."""
    model = fitted.model_
    ellipsoids = tuple(Ellipsoid(*one) for one in zip(model.centers, model.roots, strict=True))
    stacked = Signatures.of(ellipsoids, len(model.shift), BOUNDARY_SLACK)
    return Standardization(model.shift, model.scale), stacked


def of_block(rows: Any, labels: BlockLabels) -> LabelledBlocks:
    """A single block in memory."""
    return LabelledBlocks.of(ArrayBlocks([Block(rows, labels)]))


def prepare(rows: Any, y: Any) -> None:
    """What a worker does with a block before the first pass."""
    from sepc.points.inputs import as_points

    of_block(np.ascontiguousarray(as_points(rows).rows), BlockLabels.of(y))


def processor_seconds(task: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median seconds of the processor, of all threads; other work on the machine does not add to it."""
    task()
    found = []
    for _ in range(rounds):
        started = time.process_time()
        task()
        found.append(time.process_time() - started)
    return median(found)


def as_table(costs: list[Constants]) -> list[dict[str, Any]]:
    """A record for each constant, a column for each number of features: means of what was measured."""
    widths = sorted({one.features for one in costs})
    columns = {f"{d} features": mean_of([one for one in costs if one.features == d]) for d in widths}
    units = {"ellipsoids": "ellipsoids", "once": "once, seconds"}
    kinds = [name for name in Constants.__dataclass_fields__ if name != "features"]
    return [
        {"constant": units.get(kind, f"{kind}, ns a row")} | {name: getattr(own, kind) for name, own in columns.items()}
        for kind in kinds
    ]
