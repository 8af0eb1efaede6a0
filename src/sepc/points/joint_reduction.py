"""Several reductions in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.points.in_memory import BlockPoints, combine_in_order
from sepc.points.protocol import Answer, PointSet, Reduction, State


@dataclass(frozen=True, eq=False)
class JointReduction:
    """Several reductions of one set; the answer is the tuple of their answers.

    Examples
    --------
    >>> import numpy as np
    >>> points = BlockPoints([np.array([[1.0], [3.0]])])
    >>> points.reduce(JointReduction(())), points.n_points
    ((), 2)
    """

    reductions: tuple[Reduction[Any, Any], ...]

    def map(self, block: Any) -> tuple[Any, ...]:
        """Summarise one block by every reduction."""
        return tuple(reduction.map(block) for reduction in self.reductions)

    def combine(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        """Combine the summaries one by one."""
        return tuple(reduction.combine(a, b) for reduction, a, b in zip(self.reductions, left, right, strict=True))

    def finish(self, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Finish every reduction."""
        return tuple(reduction.finish(state) for reduction, state in zip(self.reductions, states, strict=True))


def reduce_each(sets: Sequence[PointSet], reduction: Reduction[Any, Answer]) -> list[Answer]:
    """Apply one reduction to several sets; sets that are subsets of the same blocks share one pass."""
    return reduce_each_with(sets, [reduction] * len(sets))


def reduce_each_with(sets: Sequence[PointSet], reductions: Sequence[Reduction[Any, Answer]]) -> list[Answer]:
    """Like `reduce_each`, with a reduction for each set."""
    parts = _parts_of_same_blocks(sets)
    if not parts:
        return [points.reduce(reduction) for points, reduction in zip(sets, reductions, strict=True)]
    by_block = [_states(parts, reductions, i) for i in range(len(parts[0].blocks))]
    return [
        reduction.finish(combine_in_order(reduction, states))
        for reduction, states in zip(reductions, zip(*by_block, strict=True), strict=True)
    ]


def _parts_of_same_blocks(sets: Sequence[PointSet]) -> list[BlockPoints]:
    """The sets if all of them are subsets of the same blocks; otherwise an empty list."""
    parts = [points for points in sets if isinstance(points, BlockPoints)]
    same = len(parts) == len(sets) and all(points.blocks is parts[0].blocks for points in parts)
    return parts if same else []


def _states(parts: Sequence[BlockPoints], reductions: Sequence[Reduction[State, Any]], i: int) -> list[State]:
    """The state of each part for its rows in block `i`; the block is not loaded if no part has rows there."""
    block = parts[0].blocks[i] if any(points.n_left(i) for points in parts) else None
    return [reduction.map(points.rows_of(i, block)) for points, reduction in zip(parts, reductions, strict=True)]
