"""`RowKinds` in a model file."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray
from sepc.io.reader import Reader
from sepc.io.writer import Node, Writer
from sepc.model.row_kinds import RowKinds
from sepc.model.scores import Scores

# Scores are about normal, and variances at least that of the ridge: sepc never writes numbers, or covariances with
# inverses, larger than these.
MOST_SCORE = 1e9
MOST_PRECISION = 1e12


def row_kinds_to_node(kinds: RowKinds, writer: Writer) -> Node:
    """Write kinds of rows."""
    writer.put(
        is_normal=kinds.scores.is_normal,
        quantiles=kinds.scores.quantiles,
        centers=kinds.centers,
        covariances=kinds.covariances,
        class_rows=kinds.class_rows,
    )
    return {}


def row_kinds_from(reader: Reader, shift: FloatArray, scale: FloatArray, n_classes: int) -> RowKinds:
    """Read the kinds of rows of a model with this standardisation."""
    d, class_rows = len(shift), reader.floats("class_rows", None, n_classes)
    quantiles = reader.floats("quantiles", d, None)
    if quantiles.shape[1] == 0 or (np.diff(quantiles, axis=1) < 0.0).any():
        raise reader.wrong("has quantiles that do not ascend, or none")
    if (
        len(class_rows) == 0
        or class_rows.min() < 0.0
        or not 0.0 < class_rows.sum(axis=1).min() <= class_rows.sum() < 2**53
    ):
        raise reader.wrong("has kinds without rows, or no kinds")
    scores = Scores(shift, scale, reader.bools("is_normal", d), quantiles)
    kinds = RowKinds(
        scores,
        reader.floats("centers", len(class_rows), d),
        reader.floats("covariances", len(class_rows), d, d),
        class_rows,
    )
    if np.abs(kinds.centers).max(initial=0.0) > MOST_SCORE or not _are_covariances(kinds.covariances):
        raise reader.wrong("has impossible means or covariances")
    return kinds


def _are_covariances(matrices: FloatArray) -> bool:
    """Whether matrices are symmetric and positive definite, and neither they nor their inverses are too large."""
    if np.abs(matrices).max(initial=0.0) > MOST_SCORE or not np.array_equal(matrices, matrices.transpose(0, 2, 1)):
        return False
    return bool(np.linalg.eigvalsh(matrices).min(initial=np.inf) >= 1.0 / MOST_PRECISION)
