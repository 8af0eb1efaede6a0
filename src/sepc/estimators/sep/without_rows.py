"""A partition that holds no training row: isolated rows go, or are enclosed together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.estimators.sep.multiclass import Pieces
from sepc.partition.separate import Settings
from sepc.partition.sequence import NOT_COUNTED, FoundEllipsoid
from sepc.points.in_memory import ArrayPoints

# An ellipsoid around fewer distinct rows would tell too much about each of them.
FEWEST_ENCLOSED = 5


def without_isolated(pieces: Pieces, settings: Settings, n_classes: int) -> Pieces:
    """The ellipsoids without the isolated rows; a class that has no ellipsoid gets one around its isolated rows.

    A class without an ellipsoid and with very few distinct rows gets none: labels then come from the weights alone.
    """
    found, owners = list(pieces.ellipsoids), pieces.owners.tolist()
    for owner in sorted(set(range(n_classes)) - set(owners)):
        rows = pieces.isolated[pieces.isolated_owners == owner]
        if len(np.unique(rows, axis=0)) >= FEWEST_ENCLOSED:
            enclosure = settings.enclose(ArrayPoints(rows))
            found.append(FoundEllipsoid(enclosure, owner == 0, len(rows), NOT_COUNTED, (), 0, is_terminal=True))
            owners.append(owner)
    none: FloatArray = np.empty((0, pieces.isolated.shape[1]))
    nobody: IntArray = np.empty(0, dtype=np.int64)
    return replace(
        pieces,
        ellipsoids=tuple(found),
        owners=np.array(owners, dtype=np.int64),
        isolated=none,
        isolated_owners=nobody,
    )
