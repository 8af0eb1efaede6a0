"""Two interfaces: a set of rows, and a summary computed over it in one pass."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

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
