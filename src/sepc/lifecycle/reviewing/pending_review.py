"""A review that still waits for labels, and which of its labels may count already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.lifecycle.reviewing.review_batch import Purpose, Review
from sepc.lifecycle.reviewing.review_evidence import N_PER_BET, Evidence
from sepc.lifecycle.reviewing.trust_bands import TINY
from sepc.records import floats, ints, record, whole
from sepc.views.outcomes import is_right

RIGHT, WRONG, OPEN = 0, 1, -1


@record
class PendingReview:
    """The labels of a review so far, in the order in which its rows were drawn.

    Labels count in that order, one bet at a time, so that it does not matter when each arrives: if a hard case takes
    long, easier ones drawn after it must not count without it. A review is pending from the moment it is drawn.

    Attributes
    ----------
    number : int
        Number of the review.
    band : (n,) array
        The bands of the rows drawn to certify; rows to decide come after these.
    drawn : (H,) array
        The probabilities of the bands when these rows were drawn.
    outcome : (m,) array
        For each row of the review: RIGHT (0) or WRONG (1) for the model's label, or OPEN (-1) while the true label is
        missing.
    n_counted : int
        How many of the rows drawn to certify have been counted.
    """

    number: int = whole(1)
    band: IntArray = ints("n", below="H")
    drawn: FloatArray = floats("H", low=0.0)
    outcome: IntArray = ints("m", low=OPEN, high=WRONG, name="found")
    n_counted: int = whole()

    def flaw(self) -> str | None:
        """What is wrong with the draws or the labels, if anything."""
        least, total = self.drawn.min(initial=1.0, where=self.drawn > 0.0), self.drawn.sum()
        if len(self.drawn) == 0 or least < TINY or total > 1.0 + 1e-9:
            return "has draws that are not probabilities"
        is_counted = self.n_counted <= len(self.band) <= len(self.outcome)
        if not is_counted or (self.outcome[: self.n_counted] == OPEN).any():
            return "counts labels that it does not have"
        return None

    @classmethod
    def of(cls, review: Review) -> PendingReview:
        """A review before its first label."""
        certify = review.purpose == Purpose.CERTIFY
        return cls(review.number, review.band[certify], review.plan.drawn, np.full(len(review), OPEN), 0)

    @property
    def is_complete(self) -> bool:
        """Whether no row is open."""
        return not (self.outcome == OPEN).any()

    @property
    def n_known(self) -> int:
        """How many labels have arrived."""
        return int((self.outcome != OPEN).sum())

    @property
    def n_waiting(self) -> int:
        """How many labels of rows drawn to certify have arrived but are not counted yet."""
        return int((self.outcome[self.n_counted : len(self.band)] != OPEN).sum())

    @property
    def is_counted(self) -> bool:
        """Whether all rows drawn to certify have been counted."""
        return self.n_counted == len(self.band)

    def with_labels(self, known: BoolArray, wrong: BoolArray, complete: bool) -> PendingReview:
        """Add labels; the first label of a row stays. If `complete`, rows without a label count as wrong."""
        outcome = np.where((self.outcome == OPEN) & known, np.where(wrong, WRONG, RIGHT), self.outcome)
        return replace(self, outcome=np.where((outcome == OPEN) & complete, WRONG, outcome))

    def count(self, evidence: Evidence) -> tuple[PendingReview, Evidence]:
        """Count, in whole bets, all labels up to the first open row; return the review and the evidence after that."""
        n = len(self.band)
        n_ready = int(np.argmax(np.append(self.outcome[:n] == OPEN, True)))
        if n_ready < n:
            n_ready -= n_ready % N_PER_BET
        ready = slice(self.n_counted, n_ready)
        after = evidence.after(self.band[ready], self.outcome[:n][ready] == WRONG, self.drawn)
        return replace(self, n_counted=n_ready), after


def compare_labels(review: Review, labels: ArrayLike, positions: ArrayLike | None) -> tuple[BoolArray, BoolArray]:
    """For each row of a review, whether it has a label, and whether that label shows that the model is wrong."""
    given = _in_order(review, np.asarray(labels, dtype=object), positions)
    known = np.array([label is not None and label == label for label in given], dtype=bool)
    wrong = np.zeros(len(given), dtype=bool)
    wrong[known] = ~is_right(review.label[known], given[known])
    return known, wrong


def _in_order(review: Review, labels: NDArray[Any], positions: ArrayLike | None) -> NDArray[Any]:
    """Labels in the order of the review; None where there is none."""
    if positions is None:
        if len(labels) != len(review):
            raise ValueError(
                f"There are {len(labels):,} labels for {len(review):,} rows; pass positions to say which rows."
            )
        return labels
    where = np.asarray(positions)
    if len(where) != len(labels):
        raise ValueError(f"There are {len(labels):,} labels and {len(where):,} positions; each label needs one.")
    unknown = np.setdiff1d(where, review.positions)
    if len(unknown):
        raise ValueError(f"Row {unknown[0]} is not in this review.")
    given = dict(zip(where.tolist(), labels, strict=True))
    return np.array([given.get(position) for position in review.positions.tolist()], dtype=object)
