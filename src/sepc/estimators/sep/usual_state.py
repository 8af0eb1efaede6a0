"""`UsualValues` in a model file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepc.io.reader import Reader
from sepc.io.writer import Node, Writer
from sepc.model.usual import ANYWHERE, FEWEST_ROWS, MOST_LEVELS, N_QUANTILES, FeatureKind, Spoken, UsualValues


def usual_to_node(usual: UsualValues, writer: Writer) -> Node:
    """Write what is usual; how to speak of features follows from the preparation of the table."""
    writer.put(**{name: value for name, value in vars(usual).items() if isinstance(value, np.ndarray)})
    return {}


def usual_from(reader: Reader, spoken: Sequence[Spoken], n_classes: int, n_ellipsoids: int) -> UsualValues:
    """Read what is usual among the training rows of a model with these features."""
    d, n_rows, n_levels = (
        len(spoken),
        reader.counts("n_rows", None),
        reader.ints("n_levels", len(spoken), below=MOST_LEVELS + 1),
    )
    n_all = int(n_levels.sum())
    sizes = [len(own.categories) for own in spoken if own.kind is FeatureKind.CATEGORY]
    usual = UsualValues(
        ellipsoid=reader.ints("ellipsoid", len(n_rows), low=ANYWHERE, below=n_ellipsoids),
        owner=reader.ints("owner", len(n_rows), below=n_classes),
        n_rows=n_rows,
        ranges=reader.floats("ranges", len(n_rows), d, 2),
        overall=reader.floats("overall", d, N_QUANTILES),
        spoken=tuple(spoken),
        category_counts=reader.counts("category_counts", len(n_rows), sum(sizes)),
        n_levels=n_levels,
        levels=reader.floats("levels", n_all),
        level_counts=reader.counts("level_counts", len(n_rows), n_all),
    )
    _check(usual, sizes, n_classes, reader)
    return usual


def _check(usual: UsualValues, sizes: list[int], n_classes: int, reader: Reader) -> None:
    pairs = list(zip(usual.ellipsoid.tolist(), usual.owner.tolist(), strict=True))
    if pairs != sorted(set(pairs)) or pairs[:n_classes] != [(ANYWHERE, c) for c in range(n_classes)]:
        raise reader.wrong("has groups that are missing, repeated or not in order")
    fewest = np.where(usual.ellipsoid == ANYWHERE, 1, FEWEST_ROWS)
    if (usual.n_rows < fewest).any():
        raise reader.wrong("has groups of too few rows")
    if (np.diff(usual.ranges, axis=2) < 0.0).any() or (np.diff(usual.overall, axis=1) < 0.0).any():
        raise reader.wrong("has values that do not ascend")
    for counts, parts in ((usual.category_counts, sizes), (usual.level_counts, usual.n_levels[usual.n_levels > 0])):
        starts = np.cumsum([0, *parts])[:-1]
        if len(starts) and (np.add.reduceat(counts, starts, axis=1) != usual.n_rows[:, None]).any():
            raise reader.wrong("counts values of more or fewer rows than there are")
