"""A review of which some labels have come, and which of them may count already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.lifecycle.reviewing.review_batch import Purpose, Review
from sepc.lifecycle.reviewing.review_evidence import N_PER_BET, Evidence
from sepc.views.outcomes import is_right

RIGHT, WRONG, OPEN = 0, 1, -1


@dataclass(frozen=True, eq=False)
class PendingReview:
    """What labels say of the rows of a review, in the order in which these were drawn.

    Labels count in that order and a bet at a time, so that it does not matter when each of them comes: a label that is
    late because the case is hard must not let easier ones that were drawn after it count without it.

    Attributes
    ----------
    number : int
        Of the review.
    band : (n,) array
        The bands of the rows drawn to certify; rows to decide come after these.
    drawn : (H,) array
        The probabilities of the bands when these rows were drawn.
    found : (m,) array
        For each row of the review whether the model is RIGHT or WRONG, or OPEN if its label has not come.
    n_counted : int
        So many of the rows drawn to certify have been counted.
    """

    number: int
    band: IntArray
    drawn: FloatArray
    found: IntArray
    n_counted: int = 0

    @classmethod
    def of(cls, review: Review) -> PendingReview:
        """A review before its first label."""
        certify = review.purpose == Purpose.CERTIFY
        return cls(review.number, review.band[certify], review.plan.drawn, np.full(len(review), OPEN))

    @property
    def is_complete(self) -> bool:
        """Whether no row is open."""
        return not (self.found == OPEN).any()

    @property
    def n_known(self) -> int:
        """How many labels have come."""
        return int((self.found != OPEN).sum())

    @property
    def n_waiting(self) -> int:
        """How many labels of rows drawn to certify have come and are not counted."""
        return int((self.found[self.n_counted : len(self.band)] != OPEN).sum())

    @property
    def is_counted(self) -> bool:
        """Whether all rows drawn to certify have been counted."""
        return self.n_counted == len(self.band)

    def with_labels(self, known: BoolArray, wrong: BoolArray, complete: bool) -> PendingReview:
        """With these labels also; of a row whose label is there already the first stays. If complete, open is wrong."""
        found = np.where((self.found == OPEN) & known, np.where(wrong, WRONG, RIGHT), self.found)
        return replace(self, found=np.where((found == OPEN) & complete, WRONG, found))

    def counted(self, evidence: Evidence) -> tuple[PendingReview, Evidence]:
        """The evidence after all labels that no open row comes before, in whole bets."""
        n = len(self.band)
        n_ready = int(np.argmax(np.append(self.found[:n] == OPEN, True)))
        if n_ready < n:
            n_ready -= n_ready % N_PER_BET
        ready = slice(self.n_counted, n_ready)
        after = evidence.after(self.band[ready], self.found[:n][ready] == WRONG, self.drawn)
        return replace(self, n_counted=n_ready), after


def judged_by(review: Review, labels: ArrayLike, positions: ArrayLike | None) -> tuple[BoolArray, BoolArray]:
    """For each row of a review whether its label is among these, and whether the model is wrong by it."""
    given = _in_order(review, np.asarray(labels, dtype=object), positions)
    known = np.array([one is not None and one == one for one in given], dtype=bool)
    wrong = np.zeros(len(given), dtype=bool)
    wrong[known] = ~is_right(review.label[known], given[known])
    return known, wrong


def _in_order(review: Review, labels: NDArray[Any], positions: ArrayLike | None) -> NDArray[Any]:
    """Labels in the order of the review; None where there is none."""
    if positions is None:
        if len(labels) != len(review):
            raise ValueError(f"There are {len(labels):,} labels of {len(review):,} rows; say of which, by positions.")
        return labels
    where = np.asarray(positions)
    if len(where) != len(labels):
        raise ValueError(f"There are {len(labels):,} labels and {len(where):,} positions; each label needs one.")
    unknown = np.setdiff1d(where, review.positions)
    if len(unknown):
        raise ValueError(f"Row {unknown[0]} is not in this review.")
    given = dict(zip(where.tolist(), labels, strict=True))
    return np.array([given.get(one) for one in review.positions.tolist()], dtype=object)
