"""Rows that stay where they are, in blocks with labels: what an engine has to do, and passes over such rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.points.in_memory import ArrayPoints, ClassArrays
from sepc.points.inputs import refuse_missing_labels
from sepc.points.reductions import AllRows, Answer, JointReduction, Reduction, combine_in_order
from sepc.wording import listed

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class BlockLabels:
    """The labels of one block: the distinct ones, sorted, and for each row its position among them.

    Positions take one or two bytes per row, so that long text labels are not kept for every row.
    """

    values: NDArray[Any]
    codes: NDArray[Any]

    @classmethod
    def of(cls, labels: NDArray[Any]) -> Self:
        """Find the distinct labels; raise if any are missing."""
        refuse_missing_labels(labels)
        try:
            values, codes = np.unique(labels, return_inverse=True)
        except TypeError:
            raise ValueError("y mixes labels of types that cannot be compared; convert them to one type.") from None
        return cls.from_codes(values, codes)

    @classmethod
    def from_codes(cls, values: NDArray[Any], codes: NDArray[Any]) -> Self:
        """Labels from distinct values in any order, none missing, and each row's position among them."""
        order = np.argsort(values)
        place = np.empty(len(order), dtype=np.min_scalar_type(max(len(order), 1)))
        place[order] = np.arange(len(order))
        return cls(values[order], place[codes])


class Block(NamedTuple):
    """Rows with their labels."""

    rows: FloatArray
    labels: BlockLabels

    def of_class(self, label: Any) -> FloatArray:
        """The rows with this label."""
        values, codes = self.labels.values, self.labels.codes
        place = np.flatnonzero(values == label)
        is_own = codes == place[0] if len(place) else np.zeros(len(codes), dtype=bool)
        return self.rows if is_own.all() else self.rows.compress(is_own, axis=0)


class Blocks(Protocol):
    """Rows of an engine, in blocks; every pass gives the same blocks in the same order."""

    def map_blocks(self, function: Callable[[Block], Result], combine: Callable[[Result, Result], Result], /) -> Result:
        """Apply `function` to each block, where it is, and combine the results as `combine_in_order` does.

        Both functions can be pickled.
        """
        ...


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """Blocks in memory."""

    blocks: Sequence[Block]

    def map_blocks(self, function: Callable[[Block], Result], combine: Callable[[Result, Result], Result], /) -> Result:
        """Apply `function` to each block, and combine the results in order."""
        return combine_in_order(combine, map(function, self.blocks))


class BlockFacts(NamedTuple):
    """The number of columns of a block, its distinct labels, and how many rows have each."""

    n_columns: int
    values: NDArray[Any]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, n_columns: int, labels: BlockLabels) -> Self:
        """Count the labels."""
        return cls(n_columns, labels.values, np.bincount(labels.codes, minlength=len(labels.values)))


@dataclass(frozen=True, eq=False)
class LabelledBlocks:
    """Blocks of rows with labels, and what is known of all of them; a model is fitted to them in a few passes."""

    blocks: Blocks
    n_columns: int
    labels: NDArray[Any]
    sizes: list[int]

    @classmethod
    def of(cls, blocks: Blocks, facts: list[BlockFacts] | None = None) -> Self:
        """Find the classes and their sizes, in one pass unless the facts are known."""
        facts = blocks.map_blocks(_facts, operator.add) if facts is None else facts
        widths = sorted({fact.n_columns for fact in facts})
        if len(widths) > 1:
            raise ValueError(f"Blocks must have the same columns; they have {listed(map(str, widths))}.")
        labels = classes_of([fact.values for fact in facts])
        sizes = [int(sum(fact.counts[fact.values == label].sum() for fact in facts)) for label in labels]
        return cls(blocks, widths[0], labels, sizes)

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        return reduction.finish(self.blocks.map_blocks(partial(_map_all, reduction), reduction.combine))

    def reduce_each(self, reductions: Mapping[int, Reduction[Any, Answer]]) -> dict[int, Answer]:
        """Summarise the rows of some classes in one pass, each by a reduction of its own."""
        if not reductions:
            return {}
        joint = JointReduction(tuple(reductions.values()))
        by_class = partial(_map_classes, joint.reductions, self.labels[[*reductions]])
        answers = joint.finish(self.blocks.map_blocks(by_class, joint.combine))
        return dict(zip(reductions, answers, strict=True))

    def gathered(self) -> ClassArrays:
        """All rows, in the memory of this process."""
        rows = self.reduce_each(dict.fromkeys(range(len(self.sizes)), AllRows()))
        return ClassArrays(tuple(ArrayPoints(rows[k]) for k in range(len(self.sizes))))


def _facts(block: Block) -> list[BlockFacts]:
    return [BlockFacts.of(block.rows.shape[1], block.labels)]


def _map_all(reduction: Reduction[Any, Any], block: Block) -> Any:
    return reduction.map(block.rows)


def _map_classes(reductions: Sequence[Reduction[Any, Any]], labels: NDArray[Any], block: Block) -> tuple[Any, ...]:
    return tuple(reduction.map(block.of_class(label)) for reduction, label in zip(reductions, labels, strict=True))


def classes_of(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """All classes, sorted, from the distinct labels of each block."""
    held = [distinct for distinct in values if len(distinct)]
    if not held:
        raise ValueError("X has 0 rows while a minimum of 2 is required.")
    return np.unique(np.concatenate(held))
