"""Rows on a Dask cluster: point sets whose blocks stay on the workers, and samples of tables."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from dask import delayed
from dask.dataframe.dispatch import concat
from dask.distributed import Client, Future, KilledWorker, default_client, wait
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.points._shards import AllRows, Masks, Part, Wanted, count_kept, divide_part, reduce_part, rescale_shard
from sepc.points.in_memory import check_gatherable, check_same_features, combine_runs
from sepc.points.inputs import NUMBER_KINDS, TableEncoder, as_points, n_columns, refuse_non_finite
from sepc.points.protocol import Answer, PointSet, Reduction, Region
from sepc.points.reductions import BlockLabels, classes_of
from sepc.points.row_digest import draw_rows, is_sampled

# Seconds that a cluster may be without workers, and seconds between checks: a nanny needs a few to restart a worker.
PATIENCE = 30.0
CHECK_EVERY = 1.0


@dataclass
class Traffic:
    """How much the workers have sent so far, summed over all sets made from the same blocks."""

    n_passes: int = 0
    n_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Block:
    """One block of a set: where it is stored, and which of its rows are left."""

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


class RefusedBlockError(ValueError):
    """Raised on a worker; says what is wrong with a block."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A block as it is stored on a worker: checked rows and their labels."""

    rows: FloatArray
    labels: BlockLabels


def labelled_points(
    X: Any, y: Any, encoder: TableEncoder | None = None
) -> tuple[DaskPoints, tuple[DaskPoints, ...], NDArray[Any]]:
    """Point sets of all rows and of each class, and the classes, from Dask collections with the same blocks."""
    pairs, client = aligned_blocks(X, y), current_client()
    # Sent to each worker once, as part of the graph, so that lost blocks can be recomputed.
    shared = delayed(encoder, traverse=False)
    blocks = client.compute(
        [delayed(_prepare, pure=False)(rows, labels, i, shared) for i, (rows, labels) in enumerate(pairs)]
    )
    try:
        facts = answers_of(client, [client.submit(_facts, block, pure=False) for block in blocks])
    except RefusedBlockError as error:
        raise ValueError(str(error)) from None
    classes = classes_of([labels for _, _, labels in facts])
    return _store_in_shards(client, blocks, [(n, d) for n, d, _ in facts], classes)


def aligned_blocks(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """The blocks of rows, and for each its labels or the name of the column that holds them; nothing is computed."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(
            f"X is a Dask {type(X).__name__}; expected a DataFrame, or an array with rows and columns. "
            "For one feature use X.reshape(-1, 1)."
        )
    return list(zip(_blocks_of(X), _blocks_of(_align(y, X)), strict=True))


def current_client() -> Client:
    """The client of the cluster that collections are computed on."""
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "Dask collections are fitted on the workers of a cluster, and there is none. Create a client first: "
            "from dask.distributed import Client; client = Client()"
        ) from None


def _align(y: Any, X: Any) -> Any:
    """The labels in the same blocks as `X`; if `y` names a column of `X`, that name for each block."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    if isinstance(y, str):
        if y not in getattr(X, "columns", ()):
            raise ValueError(f"y is {y!r}, which is not a column of X.")
        return [y] * X.npartitions
    if hasattr(y, "columns") and y.ndim == 2 and len(y.columns) == 1:
        y = y[y.columns[0]]
    sizes: tuple[Any, ...] = X.chunks[0] if hasattr(X, "chunks") else (np.nan,)
    known = not np.isnan(sizes).any()
    if not hasattr(y, "__dask_graph__"):
        return _cut(np.asarray(y), sizes, known)
    if hasattr(y, "chunks") and known and y.chunks[0] != sizes and y.shape[0] == X.shape[0]:
        y = y.rechunk({0: sizes})
    if _n_blocks(y) != _n_blocks(X):
        raise ValueError(f"X has {_n_blocks(X)} blocks and y has {_n_blocks(y)}; give both the same blocks of rows.")
    return y


def _cut(labels: NDArray[Any], sizes: Sequence[int], known: bool) -> list[NDArray[Any]]:
    if not known:
        raise ValueError("y is in memory, but the block sizes of X are unknown; give y as a Dask collection.")
    if len(labels) != sum(sizes):
        raise ValueError(f"X has {sum(sizes):,} rows but y has {len(labels):,} labels; give one for each row.")
    return np.split(labels, np.cumsum(sizes)[:-1])


def _n_blocks(collection: Any) -> int:
    return int(collection.numblocks[0] if hasattr(collection, "numblocks") else collection.npartitions)


def _blocks_of(collection: Any) -> list[Any]:
    if isinstance(collection, list):
        return collection
    if getattr(collection, "ndim", 2) == 2 and hasattr(collection, "chunks") and len(collection.chunks[1]) > 1:
        collection = collection.rechunk({1: -1})
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def _prepare(rows: Any, labels: Any, number: int, encoder: TableEncoder | None) -> Prepared:
    """Check one block on its worker; an error names the block."""
    table, labels = with_labels(rows, labels, number)
    if len(table) == 0:
        width = np.shape(table)[1] if encoder is None else n_columns(encoder)
        return Prepared(np.empty((0, width)), BlockLabels(labels[:0], np.empty(0, dtype=np.uint8)))
    try:
        numbers = as_points(table).gather(len(table)) if encoder is None else _encode(table, encoder)
    except (TypeError, ValueError) as error:
        raise RefusedBlockError(f"In block {number}: {error}") from None
    return Prepared(np.ascontiguousarray(numbers), labels_of_block(labels, number))


def _encode(table: Any, encoder: TableEncoder) -> FloatArray:
    rows = encoder.rows_of(table)
    refuse_non_finite(rows, encoder.feature_names)
    return rows


def with_labels(rows: Any, labels: Any, number: int) -> tuple[Any, NDArray[Any]]:
    """The table or array of one block without the labels, and its labels."""
    if isinstance(labels, str):
        rows, labels = rows.drop(columns=[labels]), rows[labels]
    table = rows if hasattr(rows, "columns") else np.asarray(rows)
    labels = np.asarray(labels).ravel()
    if len(table) != len(labels):
        raise RefusedBlockError(f"Block {number} of X has {len(table):,} rows and that of y has {len(labels):,}.")
    return table, labels


def labels_of_block(labels: NDArray[Any], number: int) -> BlockLabels:
    """The distinct labels of one block; if any are missing, the error names the block."""
    try:
        return BlockLabels.of(labels)
    except ValueError as error:
        raise RefusedBlockError(f"In block {number}: {error}") from None


def _facts(block: Prepared) -> tuple[int, int, NDArray[Any]]:
    n, d = block.rows.shape
    return n, d, block.labels.values


def _store_in_shards(
    client: Client, blocks: Sequence[Future], shapes: Sequence[tuple[int, int]], classes: NDArray[Any]
) -> tuple[DaskPoints, tuple[DaskPoints, ...], NDArray[Any]]:
    """Group each worker's blocks into shards, one per thread, and compute the class masks there."""
    places: dict[int, Block] = {}
    marks, counts = {}, {}
    for worker, positions in _by_worker(client, blocks):
        stored, numbers = [blocks[i] for i in positions], [shapes[i][0] for i in positions]
        where = {"workers": worker, "allow_other_workers": worker is not None, "pure": False}
        shard = client.submit(_together, stored, **where)
        places |= {i: Block(shard, place, shapes[i][0]) for place, i in enumerate(positions)}
        marks[shard.key] = client.submit(_class_masks, stored, classes, **where)
        counts[shard.key] = client.submit(count_kept, marks[shard.key], numbers, pure=False)
    whole = DaskPoints(client, shapes[0][1], tuple(places[i] for i in range(len(blocks))))
    held = {key: pickle.loads(n) for key, n in zip(counts, answers_of(client, list(counts.values())), strict=True)}
    return whole, tuple(whole.part(marks, held, k) for k in range(len(classes))), classes


def _by_worker(client: Client, blocks: Sequence[Future]) -> list[tuple[str | None, list[int]]]:
    """Each worker with the positions of its blocks, in one run per thread; lost blocks are under None."""
    holders, threads = client.who_has(blocks), client.nthreads()
    held: dict[str | None, list[int]] = {}
    for i, block in enumerate(blocks):
        held.setdefault(next(iter(holders.get(block.key, ())), None), []).append(i)
    return [
        (worker, part.tolist())
        for worker, positions in held.items()
        for part in np.array_split(positions, min(threads.get(worker, 1), len(positions)))
    ]


def _together(blocks: list[Prepared]) -> tuple[FloatArray, ...]:
    return tuple(block.rows for block in blocks)


def _class_masks(blocks: list[Prepared], classes: NDArray[Any]) -> list[Masks]:
    return [block.labels.masks(classes) for block in blocks]


def has_other_columns(X: Any, y: Any) -> bool:
    """Whether a Dask collection is a table with non-numeric columns besides the labels."""
    if not hasattr(X, "columns") or X.ndim != 2:
        return False
    typed = zip(X.columns, X.dtypes, strict=True)
    return any(dtype.kind not in NUMBER_KINDS for name, dtype in typed if not (isinstance(y, str) and name == y))


def draw_table(X: Any, y: Any, n_rows: int, seed: int) -> tuple[Any, NDArray[Any]]:
    """Draw up to `n_rows` rows with their labels: equally many from each block, as far as it has them.

    This computes the collection, and keeps no rows on the workers.
    """
    client, blocks = current_client(), aligned_blocks(X, y)
    n_each = max(1, n_rows // len(blocks))
    tasks = [delayed(_draw, pure=False)(rows, labels, i, n_each, seed) for i, (rows, labels) in enumerate(blocks)]
    try:
        drawn = answers_of(client, client.compute(tasks))
    except RefusedBlockError as error:
        raise ValueError(str(error)) from None
    classes_of([labels.values for _, labels in drawn])
    held = [(table, labels) for table, labels in drawn if len(table)]
    return concat([table for table, _ in held]), np.concatenate([labels.values[labels.codes] for _, labels in held])


def _draw(rows: Any, labels: Any, number: int, n_wanted: int, seed: int) -> tuple[Any, BlockLabels]:
    table, labels = with_labels(rows, labels, number)
    where = draw_rows(len(table), n_wanted, number, seed)
    return table.iloc[where], labels_of_block(labels[where], number)
