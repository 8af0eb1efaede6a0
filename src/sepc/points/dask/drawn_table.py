"""A sample of a Dask DataFrame in memory, as a table with all its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask import delayed
from dask.dataframe.dispatch import concat
from numpy.typing import NDArray

from sepc.points.class_split import BlockLabels, classes_of
from sepc.points.dask.dask_points import answers_of
from sepc.points.dask.inputs import (
    RefusedBlockError,
    aligned_blocks,
    current_client,
    labels_of_block,
    with_labels,
)
from sepc.points.drawn_rows import draw_rows
from sepc.points.inputs import NUMBER_KINDS


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
