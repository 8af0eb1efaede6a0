"""What the parts of a fit and of a decision cost on one core: the constants of the cost model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scaling.data import Drawn
from scaling.fits import classifier

from sepc import SEPClassifier
from sepc.estimators.sep.standardization import Extent, Standardization
from sepc.model.stacked_signatures import StackedSignatures
from sepc.points.class_split import Labels, points_by_class
from sepc.points.joint_reduction import reduce_each
from sepc.points.on_parquet import BLOCK_CELLS, ParquetTable
from sepc.points.row_counts import RowCounts
from sepc.points.row_hash import N_HASHES
from sepc.shapes.ellipsoid import BOUNDARY_SLACK, Ellipsoid

ROUNDS = 5
# Of very many rows a sample holds few in each block, and at least this many, with these counters for frequent ones.
LIMIT, HELD, COUNTERS = N_HASHES // 1000, 2**13, 2**14
# Rows of the fit that gives the part which does not grow with rows.
SAMPLE_FIT = 200_000


@dataclass(frozen=True)
class Constants:
    """Nanoseconds of the processor for a row, and seconds for what happens once.

    Attributes
    ----------
    features, ellipsoids : int
    read, labels : float
        Parquet to an array; the column of labels.
    prepare : float
        Checking a block that is in a worker's memory, and its labels.
    extent, sample, signatures : float
        The three passes of a fit with `fit_rows`.
    once : float
        Seconds of the rest of a fit: partition and weights of the sample.
    decide : float
        Label, trust and acceptance.
    """

    features: int
    ellipsoids: int
    read: float
    labels: float
    prepare: float
    extent: float
    sample: float
    signatures: float
    once: float
    decide: float

    @property
    def passes(self) -> tuple[float, float, float]:
        """The three passes."""
        return self.extent, self.sample, self.signatures


def measured(d: int, most: int, n_cells: int = BLOCK_CELLS, n_sample: int = SAMPLE_FIT) -> tuple[Constants, Any]:
    """The constants for this many features, each the median of a few runs on one block, and a fitted model."""
    drawn = Drawn(n_cells // d, d, 1)
    rows, y = drawn.rows(0), drawn.labels(0)
    fitted, seconds = fit_of_few(Drawn(n_sample, d, 1), most)
    whole, classes, _ = points_by_class([rows], [Labels.of(y)])
    standard, signatures = signatures_of(fitted)
    look = RowCounts(0, LIMIT, HELD, COUNTERS)
    with tempfile.TemporaryDirectory() as folder:
        table = ParquetTable.at(drawn.write_parquet(Path(folder) / "rows"), "label")
        costs = {
            "read": lambda: table.rows(0),
            "labels": lambda: points_by_class([rows], [table.labels(0)]),
            "prepare": lambda: prepare(rows, y),
            "extent": lambda: Extent.of(whole),
            "sample": lambda: reduce_each(classes, look),
            "signatures": lambda: reduce_each(classes, standard.of_reduction(signatures)),
            "decide": lambda: fitted.decide(rows[:100_000]).accepted.sum(),
        }
        found = {name: 1e9 * processor_seconds(task) / len(rows) for name, task in costs.items()}
    found["decide"] *= len(rows) / min(100_000, len(rows))
    grows = 1e-9 * n_sample * (found["extent"] + found["sample"] + found["signatures"])
    own = {"features": d, "ellipsoids": fitted.model_.n_ellipsoids, "once": seconds - grows}
    return Constants(**own, **found), fitted


def fit_of_few(drawn: Drawn, most: int) -> tuple[SEPClassifier, float]:
    """A fit in memory, and the seconds of the processor it takes."""
    X, y = drawn.rows(0), drawn.labels(0)
    model = classifier(most, fit_rows=fit_rows_of(drawn.d))
    return model, processor_seconds(lambda: model.fit(X, y), 3)


def fit_rows_of(d: int) -> int:
    """The default of `SEPClassifier`."""
    from sepc.estimators.sep.fitting import most_partitioned

    return most_partitioned(d)


def signatures_of(fitted: SEPClassifier) -> tuple[Standardization, StackedSignatures]:
    """The reduction that counts rows by the ellipsoids they lie in."""
    model = fitted.model_
    ellipsoids = tuple(Ellipsoid(*one) for one in zip(model.centers, model.roots, strict=True))
    stacked = StackedSignatures.of(ellipsoids, len(model.shift), BOUNDARY_SLACK)
    return Standardization(model.shift, model.scale), stacked


def prepare(rows: Any, y: Any) -> None:
    """What a worker does with a block before the first pass."""
    from sepc.points.inputs import as_points

    np.ascontiguousarray(as_points(rows).gather(len(rows)))
    points_by_class([rows], [Labels.of(y)])


def processor_seconds(task: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Median seconds of the processor, of all threads; other work on the machine does not add to it."""
    task()
    found = []
    for _ in range(rounds):
        started = time.process_time()
        task()
        found.append(time.process_time() - started)
    return median(found)


def as_table(constants: list[Constants]) -> list[dict[str, Any]]:
    """A record for each constant, a column for each number of features."""
    kinds = [name for name in asdict(constants[0]) if name != "features"]
    units = {"ellipsoids": "ellipsoids", "once": "once, seconds"}
    return [
        {"constant": units.get(kind, f"{kind}, ns a row")}
        | {f"{one.features} features": getattr(one, kind) for one in constants}
        for kind in kinds
    ]
