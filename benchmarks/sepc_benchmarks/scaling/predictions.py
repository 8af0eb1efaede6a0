"""The cost model: what a fit and a scoring run should take, from the constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc.points.streams import BLOCK_CELLS
from sepc_benchmarks.scaling.constants import COUNTERS, HELD, WEIGHED, Constants

N_CLASSES = 2
# How many times the rows that are weighed a sample holds, to know which of them repeat.
HELD_PER_WANTED = 4
# Bytes beside a row that is held, and of a counter.
HASH_AND_COUNT = 16
# Rows of a row group, as pyarrow writes it by default.
GROUP_ROWS = 2**20
N_PASSES = 5


@dataclass(frozen=True)
class Cluster:
    """Machines that are alike, with one process for each core.

    Attributes
    ----------
    name : str
    workers, cores : int
        Machines, and cores of each.
    gigabytes : float
        Memory of each.
    evenness : float
        Share of the cores' time that is used, since a pass waits for its slowest worker.
    empty_pass : float
        Seconds to ask all workers for nothing.
    """

    name: str
    workers: int
    cores: int
    gigabytes: float
    evenness: float = 0.7
    empty_pass: float = 0.02

    @property
    def pace(self) -> float:
        """Cores that are busy on average."""
        return self.workers * self.cores * self.evenness


def seconds_of_files(n: int, costs: Constants, cores: int = 2) -> float:
    """A fit of Parquet files in one process: a thread reads ahead, with what cores it is left, and one works.

    With a single block nothing can be read ahead.
    """
    n_blocks = -(-n * costs.features // block_cells(n, costs.features))
    total = costs.labels
    for work in costs.passes:
        both = costs.read + work
        total += both if n_blocks == 1 else max(work, both / cores)
    return costs.once + 1e-9 * n * total


def block_cells(n: int, d: int) -> int:
    """Cells of a block: as many row groups as fit into `BLOCK_CELLS`, and at least one."""
    group = min(n, GROUP_ROWS) * d
    return min(n * d, group * max(1, BLOCK_CELLS // group))


def seconds_of_cluster(n: int, costs: Constants, machines: Cluster) -> float:
    """A fit of rows that the workers hold."""
    return costs.once + seconds_of_rows(n, costs) / machines.pace + N_PASSES * machines.empty_pass


def seconds_of_rows(n: int, costs: Constants) -> float:
    """What the workers of a cluster do in a fit, in seconds of one core."""
    return 1e-9 * n * (costs.prepare + sum(costs.passes))


def seconds_of_scores(n: int, costs: Constants, pace: float) -> float:
    """Decisions on rows that are in memory."""
    return 1e-9 * n * costs.decide / pace


def sample_megabytes(costs: Constants) -> float:
    """What a sample holds of each row, however many there are."""
    return 1e-6 * HELD_PER_WANTED * WEIGHED * row_bytes(costs)


def megabytes_of_files(n: int, costs: Constants, once: float) -> float:
    """The fit of the sample, three blocks (being read, next and worked on), and at most a byte a row and class."""
    return once + 1e-6 * (3 * 8 * block_cells(n, costs.features) + n * N_CLASSES)


def megabytes_moved(n_blocks: int, costs: Constants) -> float:
    """What workers send to each other at worst: for the sample, the least rows that a block holds, and its counters."""
    least = HELD * row_bytes(costs) + COUNTERS * HASH_AND_COUNT
    return 1e-6 * n_blocks * N_CLASSES * least


def row_bytes(costs: Constants) -> int:
    """A row with its hash and count."""
    return 8 * costs.features + HASH_AND_COUNT


def worked_out(n: int, costs: Constants, machines: Cluster, bytes_a_block: float) -> dict[str, Any]:
    """A fit and a scoring run that were calculated, not run."""
    cells = 8.0 * n * costs.features
    n_blocks = int(np.ceil(cells / bytes_a_block))
    held = cells + n * N_CLASSES
    memory = machines.workers * machines.gigabytes
    return {
        "rows": f"{n:.0e} x {costs.features}".replace("e+0", "e").replace("e+", "e"),
        "machines": machines.name,
        "TB of numbers": cells / 1e12,
        "fit, minutes": seconds_of_cluster(n, costs, machines) / 60,
        "of these on the driver": costs.once / 60,
        "GB a machine": held / machines.workers / 1e9,
        "fits": "yes" if 1.5 * held / 1e9 <= memory else "no",
        "GB between the workers, at worst": megabytes_moved(n_blocks, costs) / 1e3,
        "MB to the driver": sample_megabytes(costs),
        "score, minutes": seconds_of_scores(n, costs, machines.pace) / 60,
        "reading once at 100 MB/s a core, minutes": cells / (machines.workers * machines.cores * 100e6) / 60,
    }
