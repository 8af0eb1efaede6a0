"""Which rows are accepted, and what held-out rows certify of a region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SelectiveDecisions:
    """Decisions on rows, as arrays of one entry a row.

    A whole number gives one `SelectiveDecision`; a slice, a mask or an array of positions gives fewer decisions.

    Attributes
    ----------
    label : array
        The estimator's labels.
    trust : array of float
        What the threshold was put on.
    accepted : array of bool
        Whether the promise covers the row; the rest should go to a person.
    inner : Decisions or None
        The estimator's own decisions, if it makes any. Their `accepted` is the estimator's and knows of no promise.
    """

    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    inner: Any = None

    def __len__(self) -> int:
        return len(self.label)

    def __iter__(self) -> Iterator[SelectiveDecision]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, chosen: int | np.integer[Any]) -> SelectiveDecision: ...

    @overload
    def __getitem__(self, chosen: slice | NDArray[Any] | list[Any]) -> SelectiveDecisions: ...

    def __getitem__(self, chosen: Any) -> SelectiveDecision | SelectiveDecisions:
        inner = None if self.inner is None else self.inner[chosen]
        if isinstance(chosen, int | np.integer):
            return SelectiveDecision(self.label[chosen], float(self.trust[chosen]), bool(self.accepted[chosen]), inner)
        return SelectiveDecisions(self.label[chosen], self.trust[chosen], self.accepted[chosen], inner)


@dataclass(frozen=True)
class SelectiveDecision:
    """The decision on one row; `inner` is the estimator's own `Decision`, which can say `why()`."""

    label: Any
    trust: float
    accepted: bool
    inner: Any = None


@dataclass(frozen=True, eq=False)
class Certificates:
    """Lower bounds on the accuracy in each region, that hold all at once with `confidence`.

    Attributes
    ----------
    region : array of int
        The regions in which rows were held out, as `apply` gives them; -1 is all unseen combinations together.
    n_rows, n_errors : array of int
        Rows held out there, and the wrong ones.
    accuracy_at_least : array of float
        The bound.
    confidence : float
        That none of the bounds is too high.
    """

    region: IntArray
    n_rows: IntArray
    n_errors: IntArray
    accuracy_at_least: FloatArray
    confidence: float

    def __len__(self) -> int:
        return len(self.region)
