"""Point sets whose blocks stay on the workers of a Dask cluster; only small states are sent."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

from dask.distributed import Client, Future, KilledWorker, wait

from sepc._typing import BoolArray, FloatArray
from sepc.points.dask.shards import AllRows, Part, Wanted, count_kept, divide_part, reduce_part, rescale_shard
from sepc.points.in_memory import check_gatherable, check_same_features, combine_runs
from sepc.points.protocol import Answer, PointSet, Reduction, Region
from sepc.points.row_hash import is_sampled

# Seconds that a cluster may be without workers, and seconds between checks: a nanny needs a few to restart a worker.
PATIENCE = 30.0
CHECK_EVERY = 1.0


@dataclass
class Traffic:
    """How much the workers have sent so far, summed over all sets made from the same blocks.

    Attributes
    ----------
    n_passes : int
    n_bytes : int
        Size of all answers.
    """

    n_passes: int = 0
    n_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Block:
    """One block of a set: where it is stored, and which of its rows are left.

    Attributes
    ----------
    shard : Future
        Blocks stored together; this block is at `place`.
    place : int
    n_rows : int
        Rows that are left.
    marks : Future or None
        Masks of several blocks; this block's is ``marks[index][side]``. None if all rows are left.
    index, side : int
    """

    shard: Future
    place: int
    n_rows: int
    marks: Future | None = None
    index: int = 0
    side: int = 0

    def wanted(self, position: int) -> Wanted:
        """Describe this block for a task on its shard; `position` is its position in the set."""
        marks = None if self.marks is None else self.marks.key
        return Wanted(position, self.place, self.n_rows, marks, self.index, self.side)


@dataclass(frozen=True, eq=False)
class DaskPoints:
    """The rows of blocks on the workers of a cluster; made by `labelled_points`.

    The blocks of a worker are stored together in shards, and every pass is one task per shard. States are combined in
    the order of the blocks, on the workers if they hold adjacent ones, so that the result does not depend on where the
    blocks are: it is bit for bit that of `BlockPoints`. This is also why tasks and answers are sent pickled: Dask's own
    serialisation may misalign arrays, and BLAS then rounds differently. A subset is a mask on the same blocks; its rows
    are copied once if there are few enough. Everything can be recomputed if a worker is lost.

    Parameters
    ----------
    client : distributed.Client
    n_features : int
    blocks : tuple of Block
    traffic : Traffic
    """

    client: Client
    n_features: int
    blocks: tuple[Block, ...]
    traffic: Traffic = field(default_factory=Traffic)

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return sum(block.n_rows for block in self.blocks)

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        pickled = pickle.dumps(reduction)
        answers = self._answers([self._submit(reduce_part, pickled, places) for places in self._positions().values()])
        runs = sorted((run for answer in answers for run in answer), key=itemgetter(0))
        return reduction.finish(combine_runs(reduction, [(n_blocks, state) for _, n_blocks, state in runs]))

    def split(self, region: Region, /) -> tuple[DaskPoints, DaskPoints]:
        """Divide into the rows inside `region` and the rows outside it."""
        return self._divide(region.contains)

    def union(self, other: PointSet, /) -> DaskPoints:
        """All rows of both sets, those of `self` first; blocks with no rows left are dropped."""
        check_same_features(self, other)
        if not isinstance(other, DaskPoints):
            raise TypeError(f"A set on a cluster cannot be joined with {type(other).__name__}.")
        blocks = tuple(block for block in (*self.blocks, *other.blocks) if block.n_rows > 0)
        return replace(self, blocks=blocks or self.blocks[:1])

    def sample(self, share: float, seed: int, /) -> DaskPoints:
        """Keep about `share` of the rows, chosen by `row_hashes`."""
        return self._divide(partial(is_sampled, share=share, seed=seed))[0]

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> DaskPoints:
        """The rows as ``(x - shift) / scale``, computed once, on their workers."""
        # Pure, so that all sets of the same blocks share one copy.
        moved = {
            shard.key: self.client.submit(rescale_shard, shard, shift, scale, pure=True)
            for shard in {block.shard.key: block.shard for block in self.blocks}.values()
        }
        return replace(self, blocks=tuple(replace(block, shard=moved[block.shard.key]) for block in self.blocks))

    def gather(self, max_rows: int, /) -> FloatArray:
        """All rows in one array; raises if there are more than `max_rows`."""
        check_gatherable(self, max_rows)
        return self.reduce(AllRows())

    def part(self, marks: dict[str, Future], counts: dict[str, list[tuple[int, ...]]], side: int) -> DaskPoints:
        """The subset of rows that one side of the masks keeps.

        For each shard, by key: `marks` are the masks of this set's blocks, `counts` the numbers of rows they keep.
        """
        blocks = list(self.blocks)
        for shard, positions in self._positions().items():
            for index, position in enumerate(positions):
                n_rows = counts[shard][index][side]
                blocks[position] = replace(blocks[position], n_rows=n_rows, marks=marks[shard], index=index, side=side)
        return replace(self, blocks=tuple(blocks))

    def _divide(self, test: Callable[[FloatArray], BoolArray]) -> tuple[DaskPoints, DaskPoints]:
        positions = self._positions()
        marks = {shard: self._submit(divide_part, pickle.dumps(test), places) for shard, places in positions.items()}
        numbers = {shard: [self.blocks[i].n_rows for i in places] for shard, places in positions.items()}
        tasks = [self.client.submit(count_kept, marks[shard], numbers[shard], pure=False) for shard in positions]
        counts = dict(zip(positions, self._answers(tasks), strict=True))
        return self.part(marks, counts, 0), self.part(marks, counts, 1)

    def _positions(self) -> dict[str, list[int]]:
        """The positions of the blocks of each shard."""
        positions: dict[str, list[int]] = {}
        for position, block in enumerate(self.blocks):
            positions.setdefault(block.shard.key, []).append(position)
        return positions

    def _submit(self, task: Callable[..., Any], pickled: bytes, positions: list[int]) -> Future:
        """Start a task on the blocks of one shard."""
        blocks = [self.blocks[position] for position in positions]
        futures = {block.marks.key: block.marks for block in blocks if block.marks is not None and block.n_rows > 0}
        wanted = [block.wanted(position) for position, block in zip(positions, blocks, strict=True)]
        part = Part(blocks[0].shard.key, wanted)
        return self.client.submit(task, pickled, blocks[0].shard, part, futures, pure=False)

    def _answers(self, futures: list[Future]) -> list[Any]:
        answers = answers_of(self.client, futures)
        self.traffic.n_passes += 1
        self.traffic.n_bytes += sum(map(len, answers))
        return [pickle.loads(answer) for answer in answers]


def answers_of(client: Client, futures: list[Future]) -> list[Any]:
    """The results of tasks; raises if the cluster stays without workers, where Dask itself would wait forever."""
    seen = time.monotonic()
    while True:
        try:
            wait(futures, timeout=CHECK_EVERY)
            break
        except TimeoutError:
            now = time.monotonic()
            seen = now if client.nthreads() else seen
            if now - seen >= PATIENCE:
                raise RuntimeError(
                    f"The Dask cluster has had no worker for {now - seen:.0f} seconds, so the rows cannot be read. "
                    "Start workers, or a cluster whose nannies restart them, and fit again."
                ) from None
    try:
        return list(client.gather(futures))
    except KilledWorker:
        raise RuntimeError(
            "Several workers of the Dask cluster died one after another on the same blocks, most likely because they "
            "ran out of memory. Give workers more memory, or split the collection into smaller blocks."
        ) from None
