"""Which rows are accepted, and what held-out rows certify of a region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.frames import column_of_names, frame_of
from sepc.regions.kinds import Cause
from sepc.selective._promise_words import percent

if TYPE_CHECKING:
    import pandas as pd


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

    @property
    def cause(self) -> IntArray | None:
        """Why a row was not accepted, an array of `Cause`; None if the estimator knows no causes.

        A row that the estimator would accept, and the promise does not cover, is THIN: there is evidence for its label,
        and too little for the promise.
        """
        if not hasattr(self.inner, "cause"):
            return None
        own = np.asarray(self.inner.cause)
        return np.where(self.accepted, Cause.ACCEPTED, np.where(own == Cause.ACCEPTED, Cause.THIN, own))

    def to_frame(self) -> pd.DataFrame:
        """The decisions as a pandas DataFrame, with the names of causes if there are any."""
        columns: dict[str, Any] = {"label": self.label, "trust": self.trust, "accepted": self.accepted}
        if (cause := self.cause) is not None:
            columns["cause"] = column_of_names(Cause, cause)
        return frame_of(columns)

    def __len__(self) -> int:
        return len(self.label)

    def __iter__(self) -> Iterator[SelectiveDecision]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, chosen: int | np.integer[Any]) -> SelectiveDecision: ...

    @overload
    def __getitem__(self, chosen: slice | NDArray[Any] | list[Any]) -> SelectiveDecisions: ...

    def __getitem__(self, chosen: Any) -> SelectiveDecision | SelectiveDecisions:
        if isinstance(chosen, int | np.integer):
            one = self[[int(chosen)]]
            cause = None if one.cause is None else Cause(one.cause[0])
            inner = None if one.inner is None else one.inner[0]
            return SelectiveDecision(one.label[0], float(one.trust[0]), bool(one.accepted[0]), cause, inner)
        inner = None if self.inner is None else self.inner[chosen]
        return SelectiveDecisions(self.label[chosen], self.trust[chosen], self.accepted[chosen], inner)


@dataclass(frozen=True)
class SelectiveDecision:
    """The decision on one row; its attributes are those of `SelectiveDecisions`, as single values."""

    label: Any
    trust: float
    accepted: bool
    cause: Cause | None = None
    inner: Any = None

    def why(self) -> str:
        """The estimator's own reasons, if it gives any, and whether the promise covers the row."""
        told = self.inner.why() if hasattr(self.inner, "why") else f"{self.label} with trust {self.trust:.3f}."
        return f"{told} The promise {'covers it' if self.accepted else 'does not cover it'}."


@dataclass(frozen=True, eq=False)
class Certificates:
    """Lower bounds on the accuracy in each region, that hold all at once with `confidence`.

    Printed, they are a sentence for each region.

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

    def sentences(self) -> list[str]:
        """A certificate in words for each region, that with the most rows first."""
        return [
            f"Region {self.region[i]}: at least {_floored(self.accuracy_at_least[i])} right, "
            f"{percent(self.confidence)} confidence, {self.n_rows[i]:,} row{'' if self.n_rows[i] == 1 else 's'}."
            for i in np.argsort(-self.n_rows, kind="stable")
        ]

    def __str__(self) -> str:
        told = self.sentences()
        return "\n".join([*told, f"The {percent(self.confidence)} are for all of this together."] if told[1:] else told)

    def to_frame(self) -> pd.DataFrame:
        """The certificates as a pandas DataFrame, a row for each region."""
        names = ("region", "n_rows", "n_errors", "accuracy_at_least")
        return frame_of({name: getattr(self, name) for name in names})


def _floored(share: float) -> str:
    """A percentage that never says more than `share`."""
    return f"{np.floor(1000.0 * share) / 10.0:.1f} %"
