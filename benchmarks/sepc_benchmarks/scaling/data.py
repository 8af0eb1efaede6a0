"""What `scale.py` fits and scores, drawn block by block on any engine, and what is measured of a process."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.points.blocks import ArrayBlocks, Block, BlockLabels, LabelledBlocks

Rows = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """Two Gaussian classes that overlap, in blocks that any process can draw by their number."""

    n: int
    d: int
    n_blocks: int

    @property
    def sizes(self) -> list[int]:
        """Rows of each block."""
        return [len(part) for part in np.array_split(np.empty(self.n, dtype=np.int8), self.n_blocks)]

    def labels(self, i: int) -> Labels:
        """Labels of block `i`."""
        return (np.random.default_rng([0, i]).random(self.sizes[i]) < 0.4).astype(np.int64)

    def rows(self, i: int) -> Rows:
        """Rows of block `i`."""
        y = self.labels(i)
        return np.random.default_rng([1, i]).standard_normal((len(y), self.d)) + 0.6 * y[:, None]

    def blocks(self) -> tuple[list[Rows], list[Labels]]:
        """All blocks, in memory."""
        return [self.rows(i) for i in range(self.n_blocks)], [self.labels(i) for i in range(self.n_blocks)]

    def in_blocks(self) -> LabelledBlocks:
        """All blocks, in memory, as a fit takes them."""
        blocks, labels = self.blocks()
        return LabelledBlocks.of(ArrayBlocks([*map(Block, blocks, map(BlockLabels.of, labels))]))

    def on_dask(self, client: Any) -> tuple[Any, Any]:
        """All blocks as Dask arrays, drawn on the workers and kept there."""
        import dask.array as da
        from dask import delayed
        from dask.distributed import wait

        places = list(enumerate(self.sizes))
        X = da.concatenate([da.from_delayed(delayed(self.rows)(i), (n, self.d), np.float64) for i, n in places])
        y = da.concatenate([da.from_delayed(delayed(self.labels)(i), (n,), np.int64) for i, n in places])
        X, y = client.persist([X, y])
        wait([X, y])
        return X, y

    def write_parquet(self, folder: Path) -> Path:
        """Write a file for each block, as columns x0, x1 and so on and a column `label`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder.mkdir(parents=True)
        for i in range(self.n_blocks):
            X = self.rows(i)
            columns = {f"x{j}": X[:, j] for j in range(self.d)}
            table = pa.table({**columns, "label": self.labels(i)})
            pq.write_table(table, folder / f"part-{i:04}.parquet", compression="snappy")
        return folder


@contextmanager
def cluster(n_workers: int, **options: Any) -> Iterator[Any]:
    """The client of a cluster of worker processes with one thread each."""
    from dask.distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": logging.CRITICAL, **options}
    with LocalCluster(n_workers=n_workers, **options) as workers, Client(workers) as client:
        yield client


class Nothing:
    """A reduction that looks at no row: what it takes is the engine's own time."""

    def map(self, block: Rows) -> int:
        """Nothing."""
        return 0

    def combine(self, left: int, right: int) -> int:
        """Nothing."""
        return 0

    def finish(self, state: int) -> int:
        """Nothing."""
        return state


def seconds_of_nothing(points: Any, n: int = 30) -> float:
    """Median seconds of an empty pass."""
    found = []
    for _ in range(n):
        started = time.perf_counter()
        points.reduce(Nothing())
        found.append(time.perf_counter() - started)
    return float(np.median(found))


def cpu_seconds(client: Any = None) -> float:
    """Processor time so far, of this process and the workers; other work on the machine does not add to it."""
    return time.process_time() + sum(client.run(time.process_time).values() if client is not None else ())


def forget_peak() -> None:
    """Begin to watch the memory of this process anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes() -> float:
    """The most memory this process has held since `forget_peak`."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
