"""Split blocks of rows by class: the distinct labels, and which rows have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.points.in_memory import BlockPoints, narrow_mask
from sepc.points.missing_labels import refuse_missing_labels


@dataclass(frozen=True, eq=False)
class BlockLabels:
    """The labels of one block: the distinct ones, sorted, and for each row its position among them.

    Positions take one or two bytes per row, so that long text labels are not kept for every row.
    """

    values: NDArray[Any]
    codes: NDArray[Any]

    @classmethod
    def of(cls, labels: NDArray[Any]) -> BlockLabels:
        """Find the distinct labels; raise if any are missing."""
        refuse_missing_labels(labels)
        try:
            values, codes = np.unique(labels, return_inverse=True)
        except TypeError:
            raise ValueError("y mixes labels of types that cannot be compared; convert them to one type.") from None
        return cls.from_codes(values, codes)

    @classmethod
    def from_codes(cls, values: NDArray[Any], codes: NDArray[Any]) -> BlockLabels:
        """Labels from distinct values in any order, none missing, and each row's position among them."""
        order = np.argsort(values)
        place = np.empty(len(order), dtype=np.min_scalar_type(max(len(order), 1)))
        place[order] = np.arange(len(order))
        return cls(values[order], place[codes])

    def masks(self, classes: NDArray[Any]) -> tuple[BoolArray | None, ...]:
        """The mask of the rows of each class; None means all rows."""
        places = [np.flatnonzero(self.values == label) for label in classes]
        marks = [self.codes == place[0] if len(place) else np.zeros(len(self.codes), dtype=bool) for place in places]
        return tuple(narrow_mask(None, mask, len(mask)) for mask in marks)


def classes_of(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """All classes, sorted, from the distinct labels of each block."""
    held = [distinct for distinct in values if len(distinct)]
    if not held:
        raise ValueError("X has 0 rows while a minimum of 2 is required.")
    return np.unique(np.concatenate(held))


def points_by_class(
    blocks: Sequence[FloatArray], labels: Sequence[BlockLabels], shapes: Sequence[tuple[int, int]] | None = None
) -> tuple[BlockPoints, tuple[BlockPoints, ...], NDArray[Any]]:
    """Point sets of all rows and of each class, and the classes, from blocks and their labels."""
    classes = classes_of([block.values for block in labels])
    masks = [block.masks(classes) for block in labels]
    of_classes = tuple(BlockPoints(blocks, kept, shapes) for kept in zip(*masks, strict=True))
    return BlockPoints(blocks, None, shapes), of_classes, classes
