"""Sets of rows and summaries of one pass: their interfaces, joined summaries, counted passes, kept answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

from sepc._typing import BoolArray, FloatArray

State = TypeVar("State")
Answer_co = TypeVar("Answer_co", covariant=True)
Answer = TypeVar("Answer")


class Reduction(Protocol[State, Answer_co]):
    """A summary of rows, as three pure functions; its state should stay small however many rows there are."""

    def map(self, block: FloatArray, /) -> State:
        """Summarise one block of rows, possibly empty."""
        ...

    def combine(self, left: State, right: State, /) -> State:
        """Combine the summaries of two adjacent runs of rows; associative."""
        ...

    def finish(self, state: State, /) -> Answer_co:
        """Turn the summary of all rows into the answer."""
        ...


class Region(Protocol):
    """A region of the feature space."""

    def contains(self, rows: FloatArray, /) -> BoolArray:
        """Whether each row lies in the region."""
        ...


@runtime_checkable
class PointSet(Protocol):
    """An immutable set of rows, wherever they are stored."""

    @property
    def n_features(self) -> int:
        """Number of columns."""
        ...

    @property
    def n_points(self) -> int:
        """Number of rows."""
        ...

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        ...

    def split(self, region: Region, /) -> tuple[PointSet, PointSet]:
        """Divide into the rows inside `region` and the rows outside it."""
        ...

    def union(self, other: PointSet, /) -> PointSet:
        """All rows of both sets, those of `self` first."""
        ...

    def sample(self, share: float, seed: int, /) -> PointSet:
        """Keep about `share` of the rows, chosen by a hash of their values: the same rows on every engine."""
        ...

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> PointSet:
        """The rows as ``(x - shift) / scale``."""
        ...

    def gather(self, max_rows: int, /) -> FloatArray:
        """Load all rows into this process as one array; raises if there are more than `max_rows`."""
        ...


@dataclass
class PassLog:
    """Passes over the data so far, by all sets that share the log."""

    passes: Counter[str] = field(default_factory=Counter)
    n_rows: int = 0

    @property
    def n_passes(self) -> int:
        """Number of passes of any kind."""
        return self.passes.total()

    def record(self, kind: str, points: PointSet) -> None:
        """Record one pass over `points`."""
        self.passes[kind] += 1
        self.n_rows += points.n_points


@dataclass(frozen=True, eq=False)
class CountedPoints:
    """A point set that records every pass in a log; the sets made from it share the log.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc.geometry import ArrayPoints
    >>> points = CountedPoints(ArrayPoints(np.arange(6.0).reshape(-1, 1)))
    >>> points.n_points, points.log.n_passes
    (6, 0)
    """

    points: PointSet
    log: PassLog = field(default_factory=PassLog)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.points.n_features

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return self.points.n_points

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        self.log.record(type(reduction).__name__, self.points)
        return self.points.reduce(reduction)

    def split(self, region: Region, /) -> tuple[CountedPoints, CountedPoints]:
        """Divide into the rows inside `region` and the rows outside it, in one pass."""
        self.log.record("split", self.points)
        inside, outside = self.points.split(region)
        return CountedPoints(inside, self.log), CountedPoints(outside, self.log)

    def union(self, other: PointSet, /) -> CountedPoints:
        """All rows of both sets, those of `self` first; not a pass."""
        return CountedPoints(self.points.union(other.points if isinstance(other, CountedPoints) else other), self.log)

    def sample(self, share: float, seed: int, /) -> CountedPoints:
        """Keep about `share` of the rows, chosen by `row_hashes`, in one pass."""
        self.log.record("sample", self.points)
        return CountedPoints(self.points.sample(share, seed), self.log)

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> CountedPoints:
        """The rows as ``(x - shift) / scale``; not counted as a pass."""
        return CountedPoints(self.points.rescaled(shift, scale), self.log)

    def gather(self, max_rows: int, /) -> FloatArray:
        """Bring all rows to this process, in one pass."""
        rows = self.points.gather(max_rows)
        self.log.record("gather", self.points)
        return rows


_KNOWN: WeakKeyDictionary[PointSet, dict[Reduction[Any, Any], Any]] = WeakKeyDictionary()


def reduce_once(points: PointSet, reduction: Reduction[Any, Answer]) -> Answer:
    """The result of a reduction, cached as long as the set exists. Equal reductions must have equal hashes."""
    known = _KNOWN.setdefault(points.points if isinstance(points, CountedPoints) else points, {})
    if reduction not in known:
        known[reduction] = points.reduce(reduction)
    answer: Answer = known[reduction]
    return answer
