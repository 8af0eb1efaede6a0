"""Rows on a Dask cluster: blocks that stay on the workers, and samples of tables."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from dask import delayed
from dask.dataframe.dispatch import concat
from dask.distributed import Client, Future, KilledWorker, default_client, wait
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.points.blocks import Block, BlockLabels, LabelledBlocks, Result, classes_of
from sepc.points.inputs import NUMBER_KINDS, TableEncoder, as_points, n_columns, refuse_non_finite
from sepc.points.reductions import combine_in_order
from sepc.points.row_digest import draw_rows

# Seconds that a cluster may be without workers, and seconds between checks: a nanny needs a few to restart a worker.
PATIENCE = 30.0
CHECK_EVERY = 1.0


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """Blocks of rows on the workers of a cluster; whatever a lost worker held is computed again."""

    client: Client
    blocks: Sequence[Future]

    def map_blocks(self, function: Callable[[Block], Result], combine: Callable[[Result, Result], Result], /) -> Result:
        """Apply `function` to each block and combine the results in order, on the workers."""
        # A task, so that each worker gets both functions once, and again if one is lost. They and the results are sent
        # pickled: Dask's own serialisation may misalign arrays, and BLAS then rounds differently.
        both = self.client.submit(bytes, pickle.dumps((function, combine)), pure=False)
        results = [self.client.submit(_apply, both, block, pure=False) for block in self.blocks]
        joined = combine_in_order(partial(self.client.submit, _combine, both, pure=False), results)
        [answer] = answers_of(self.client, [joined])
        result: Result = pickle.loads(answer)
        return result


def _apply(both: bytes, block: Block) -> bytes:
    function, _ = pickle.loads(both)
    # Blocks from another worker may start at any byte.
    aligned = np.require(block.rows, requirements="A")
    return pickle.dumps(function(Block(aligned, block.labels)), protocol=5)


def _combine(both: bytes, left: bytes, right: bytes) -> bytes:
    _, combine = pickle.loads(both)
    return pickle.dumps(combine(pickle.loads(left), pickle.loads(right)), protocol=5)


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


def labelled_blocks(
    X: Any, y: Any, encoder: TableEncoder | None = None
) -> tuple[LabelledBlocks, tuple[str, ...] | None]:
    """The rows of Dask collections with the same blocks, checked and kept on the workers, and the names of columns.

    Columns have names if all of them are strings, as in scikit-learn.
    """
    pairs, client = aligned_blocks(X, y), current_client()
    # Sent to each worker once, as part of the graph, so that lost blocks can be recomputed.
    shared = delayed(encoder, traverse=False)
    tasks = [delayed(_prepare, pure=False)(rows, labels, i, shared) for i, (rows, labels) in enumerate(pairs)]
    try:
        blocks = LabelledBlocks.of(DaskBlocks(client, client.compute(tasks)))
    except RefusedBlockError as error:
        raise ValueError(str(error)) from None
    names = [name for name in getattr(X, "columns", ()) if not (isinstance(y, str) and name == y)]
    return blocks, tuple(names) if names and all(isinstance(name, str) for name in names) else None


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


def _prepare(rows: Any, labels: Any, number: int, encoder: TableEncoder | None) -> Block:
    """Check one block on its worker; an error names the block."""
    table, labels = with_labels(rows, labels, number)
    if len(table) == 0:
        width = np.shape(table)[1] if encoder is None else n_columns(encoder)
        return Block(np.empty((0, width)), BlockLabels(labels[:0], np.empty(0, dtype=np.uint8)))
    try:
        numbers = as_points(table).rows if encoder is None else _encode(table, encoder)
    except (TypeError, ValueError) as error:
        raise RefusedBlockError(f"In block {number}: {error}") from None
    return Block(np.ascontiguousarray(numbers), labels_of_block(labels, number))


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
