"""The rows near a threshold, and the sum of those certainly below it: one pass gives the tail for many directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.points.tiles import row_tiles


@dataclass(frozen=True, eq=False)
class ScaledFrame:
    """Coordinates in which rows are near zero and of moderate size: ``(rows - origin) * scale``.

    Parameters
    ----------
    origin : (d,) array
    scale : float
        A power of two, so that scaling is exact.
    """

    origin: FloatArray
    scale: float

    def inside(self, rows: FloatArray) -> FloatArray:
        """Move rows into the frame."""
        return np.asarray((rows - self.origin) * self.scale)

    def outside(self, point: FloatArray) -> FloatArray:
        """Move a point of the frame back."""
        return np.asarray(self.origin + point / self.scale)


@dataclass(frozen=True, eq=False)
class BandRows:
    """The result of `Band`, in the coordinates of its frame.

    Attributes
    ----------
    n_certain : int
        Rows certainly below the threshold.
    certain_sum : (d,) array
        Their sum.
    n_uncertain : int
        Rows that may lie on either side.
    rows : (n_uncertain, d) array or None
        These rows, or None if there were more than allowed.
    """

    n_certain: int
    certain_sum: FloatArray
    n_uncertain: int
    rows: FloatArray | None


@dataclass(frozen=True, eq=False)
class _State:
    n_certain: int
    certain_sum: FloatArray
    n_uncertain: int
    pieces: tuple[FloatArray, ...] = ()


@dataclass(frozen=True, eq=False)
class Band:
    """Divide rows by their side of a moving threshold: certainly below, certainly above, or uncertain.

    The threshold applies to projections on unit vectors. It starts at `threshold` along `direction`; while the unit
    vector stays within `radius` of `direction` and the threshold within ``radius * slack`` of where it was, a row `x`
    can change sides only if ``|x @ direction - threshold| <= radius * (|x| + slack)``. These rows are returned.

    Parameters
    ----------
    frame : ScaledFrame
        Where projections and lengths are measured.
    direction : (d,) array
        A unit vector.
    threshold, slack, radius : float
    max_rows : int
        The most uncertain rows to return; if there are more, they are only counted.

    Examples
    --------
    >>> rows = np.array([[-3.0], [-1.0], [0.1], [2.0]])
    >>> band = Band(ScaledFrame(np.zeros(1), 1.0), np.ones(1), threshold=0.0, slack=1.0, radius=0.2, max_rows=10)
    >>> divided = band.finish(band.map(rows))
    >>> divided.n_certain, divided.certain_sum.tolist(), divided.rows.tolist()
    (2, [-4.0], [[0.1]])
    """

    frame: ScaledFrame
    direction: FloatArray
    threshold: float
    slack: float
    radius: float
    max_rows: int

    def covers(self, direction: FloatArray, threshold: float) -> bool:
        """Whether the division holds for this unit vector and threshold."""
        moved = float(np.linalg.norm(direction - self.direction))
        return moved <= self.radius and abs(threshold - self.threshold) <= self.radius * self.slack

    def map(self, block: FloatArray) -> _State:
        """Divide the rows of one block."""
        state = _State(0, np.zeros(block.shape[1]), 0)
        for tile in row_tiles(block):
            state = self.combine(state, self._of_tile(tile))
        return state

    def combine(self, left: _State, right: _State) -> _State:
        """Add up certain rows and concatenate uncertain ones, unless there are too many."""
        n_uncertain = left.n_uncertain + right.n_uncertain
        pieces = left.pieces + right.pieces if n_uncertain <= self.max_rows else ()
        return _State(left.n_certain + right.n_certain, left.certain_sum + right.certain_sum, n_uncertain, pieces)

    def finish(self, state: _State) -> BandRows:
        """Concatenate the uncertain rows in the order they were read."""
        rows = None
        if state.n_uncertain <= self.max_rows:
            rows = np.concatenate((np.empty((0, len(self.direction))), *state.pieces))
        return BandRows(state.n_certain, state.certain_sum, state.n_uncertain, rows)

    def _of_tile(self, tile: FloatArray) -> _State:
        rows = self.frame.inside(tile)
        heights = rows @ self.direction - self.threshold
        reach = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        reach += self.slack
        reach *= self.radius
        certain = heights < -reach
        uncertain = rows[np.abs(heights) <= reach]
        n_certain = int(np.count_nonzero(certain))
        pieces = (uncertain,) if 0 < len(uncertain) <= self.max_rows else ()
        return _State(n_certain, certain.astype(np.float64) @ rows, len(uncertain), pieces)


@dataclass(frozen=True, eq=False)
class SideSums:
    """Count and sum of the rows at or below each of several thresholds, each along its own direction.

    Parameters
    ----------
    frame : ScaledFrame
        Where projections are measured and sums taken.
    directions : (m, d) array
    thresholds : (m,) array
    """

    frame: ScaledFrame
    directions: FloatArray
    thresholds: FloatArray

    def map(self, block: FloatArray) -> tuple[IntArray, FloatArray]:
        """Count and sum in one block."""
        counts = np.zeros(len(self.directions), dtype=np.int64)
        sums = np.zeros(self.directions.shape)
        for tile in row_tiles(block):
            rows = self.frame.inside(tile)
            below = (rows @ self.directions.T <= self.thresholds).astype(np.float64)
            counts += below.sum(axis=0).astype(np.int64)
            sums += below.T @ rows
        return counts, sums

    def combine(
        self, left: tuple[IntArray, FloatArray], right: tuple[IntArray, FloatArray]
    ) -> tuple[IntArray, FloatArray]:
        """Add counts and sums."""
        return left[0] + right[0], left[1] + right[1]

    def finish(self, state: tuple[IntArray, FloatArray]) -> tuple[IntArray, FloatArray]:
        """Return counts, shape (m,), and sums, shape (m, d), unchanged."""
        return state
