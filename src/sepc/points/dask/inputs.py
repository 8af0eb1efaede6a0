"""Turn Dask arrays and DataFrames into point sets on the cluster, without gathering any rows."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed
from dask.distributed import Client, Future, default_client
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.points.class_split import BlockLabels, classes_of
from sepc.points.dask.dask_points import Block, DaskPoints, answers_of
from sepc.points.dask.shards import Masks, count_kept
from sepc.points.inputs import as_points, refuse_non_finite
from sepc.points.table_encoder import TableEncoder, n_columns


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
    """Point sets of all rows and of each class, and the classes, from Dask collections with the same blocks.

    Parameters
    ----------
    X : Dask array or DataFrame
        Blocks of rows, their sizes known or not. Blocks may be empty.
    y : Dask array or Series, array, or name of a column of `X`
        Labels. An array in memory needs blocks of known sizes.
    encoder : TableEncoder, optional
        Turns the blocks into rows; if None, all columns must be numeric.
    """
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
