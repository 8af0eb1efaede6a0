"""What a review queue stores: settings, evidence, the state of the draws, and the labels of reviews so far."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.lifecycle.reviewing.batch import TINY, Plan, Purpose, Review
from sepc.lifecycle.reviewing.certificate import N_PER_BET, Evidence
from sepc.lifecycle.rows import RowRegions, fingerprint_of, sep_models
from sepc.lifecycle.state_files import state_from_bytes, state_to_bytes
from sepc.model.sep_model import SEPModel
from sepc.records import floats, ints, labels, number, part, parts, record, simple, text, texts, whole
from sepc.views.outcomes import is_right

RIGHT, WRONG, OPEN = 0, 1, -1
# The aim of a plan that certifies nothing.
NOTHING = -1


@record
class OpenRows:
    """The rows of a review that still lacks labels.

    Attributes
    ----------
    positions : (m,) array
        Their positions among the rows given to `choose`.
    classes : (C,) array
        The labels that the model gave, sorted.
    label : (m,) array
        The label of each row, as a position in `classes`.
    trust : (m,) array
        The trust of each row.
    region, region_share : (r,) arrays
        The region of each row and the share of all rows there; empty without regions.
    aim : int
        The set of bands to certify; -1 for none.
    n_more : float
        How many more labels that is expected to take.
    """

    positions: IntArray = ints("m")
    classes: NDArray[Any] = labels("C")
    label: IntArray = ints("m", below="C")
    trust: FloatArray = floats("m", low=0.0, high=1.0)
    region: IntArray = ints("r", low=-1)
    region_share: FloatArray = floats("r", low=0.0, high=1.0)
    aim: int = whole(NOTHING)
    n_more: float = number(0.0, or_infinite=True)

    def flaw(self) -> str | None:
        """What is wrong with the rows, if anything."""
        if len(np.unique(self.positions)) < len(self.positions) or len(self.region) not in (0, len(self.label)):
            return "is not a review of this queue"
        return None

    @classmethod
    def of(cls, review: Review) -> Self:
        """The rows of a review."""
        classes, code = np.unique(review.label, return_inverse=True)
        nowhere = np.empty(0, dtype=np.int64), np.empty(0)
        regions = nowhere if review.regions is None else (review.regions.number, review.regions.share)
        aim = NOTHING if review.plan.aim is None else review.plan.aim
        return cls(review.positions, classes, code, review.trust, *regions, aim, review.plan.n_more)


@record
class PendingReview:
    """The labels of a review so far, in the order in which its rows were drawn.

    Labels count in that order, one bet at a time, so that it does not matter when each arrives: if a hard case takes
    long, easier ones drawn after it must not count without it. A review is pending from the moment it is drawn.

    Attributes
    ----------
    number : int
        Number of the review.
    drawn : (H,) array
        The probabilities of the bands when these rows were drawn.
    band : (n,) array
        The bands of the rows drawn to certify; rows to decide come after these.
    outcome : (m,) array
        For each row of the review: RIGHT (0) or WRONG (1) for the model's label, or OPEN (-1) while the true label is
        missing.
    n_counted : int
        How many of the rows drawn to certify have been counted.
    rows : OpenRows or None
        The rows, as long as labels are missing.
    """

    number: int = whole(1)
    drawn: FloatArray = floats("H", low=0.0)
    band: IntArray = ints("n", below="H")
    outcome: IntArray = ints("m", low=OPEN, high=WRONG, name="found")
    n_counted: int = whole()
    rows: OpenRows | None = part(OpenRows, default=None)

    def flaw(self) -> str | None:
        """What is wrong with the draws or the labels, if anything."""
        least, total = self.drawn.min(initial=1.0, where=self.drawn > 0.0), self.drawn.sum()
        if len(self.drawn) == 0 or least < TINY or total > 1.0 + 1e-9:
            return "has draws that are not probabilities"
        is_counted = self.n_counted <= len(self.band) <= len(self.outcome)
        if not is_counted or (self.outcome[: self.n_counted] == OPEN).any():
            return "counts labels that it does not have"
        if (self.rows is None) != self.is_complete or (self.rows and len(self.rows.label) != len(self.outcome)):
            return "has open rows that do not match its labels"
        return None

    @classmethod
    def of(cls, review: Review) -> PendingReview:
        """A review before its first label."""
        certify = review.purpose == Purpose.CERTIFY
        return cls(review.number, review.plan.drawn, review.band[certify], np.full(len(review), OPEN), 0)

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


def compare_labels(review: Review, given: ArrayLike, positions: ArrayLike | None) -> tuple[BoolArray, BoolArray]:
    """For each row of a review, whether it has a label, and whether that label shows that the model is wrong."""
    in_order = _in_order(review, np.asarray(given, dtype=object), positions)
    known = np.array([label is not None and label == label for label in in_order], dtype=bool)
    wrong = np.zeros(len(in_order), dtype=bool)
    wrong[known] = ~is_right(review.label[known], in_order[known])
    return known, wrong


def _in_order(review: Review, given: NDArray[Any], positions: ArrayLike | None) -> NDArray[Any]:
    """Labels in the order of the review; None where there is none."""
    if positions is None:
        if len(given) != len(review):
            raise ValueError(
                f"There are {len(given):,} labels for {len(review):,} rows; pass positions to say which rows."
            )
        return given
    where = np.asarray(positions)
    if len(where) != len(given):
        raise ValueError(f"There are {len(given):,} labels and {len(where):,} positions; each label needs one.")
    unknown = np.setdiff1d(where, review.positions)
    if len(unknown):
        raise ValueError(f"Row {unknown[0]} is not in this review.")
    by_position = dict(zip(where.tolist(), given, strict=True))
    return np.array([by_position.get(position) for position in review.positions.tolist()], dtype=object)


@record
class Draws:
    """The state of NumPy's PCG64.

    Attributes
    ----------
    state, inc : str
        Its two numbers of 128 bits.
    has_uint32, uinteger : int
        Whether half of a draw is left over, and which.
    """

    state: str = text()
    inc: str = text()
    has_uint32: int = whole(0, 2)
    uinteger: int = whole(0, 2**32)

    def flaw(self) -> str | None:
        """What is wrong with the numbers, if anything."""
        are_digits = all(one.isascii() and one.isdigit() and len(one) < 40 for one in (self.state, self.inc))
        if not are_digits or max(int(self.state), int(self.inc)) >= 2**128 or int(self.inc) % 2 == 0:
            return "has an impossible generator state"
        return None

    @classmethod
    def of(cls, rng: np.random.Generator) -> Self:
        """The state of a generator."""
        now: Any = rng.bit_generator.state
        if now["bit_generator"] != "PCG64":
            raise TypeError(
                f"The generator {now['bit_generator']} cannot be saved; give random_state as a whole number."
            )
        inner = now["state"]
        return cls(str(inner["state"]), str(inner["inc"]), now["has_uint32"], now["uinteger"])

    def put_into(self, rng: np.random.Generator) -> None:
        """Give a generator this state."""
        inner = {"state": int(self.state), "inc": int(self.inc)}
        rest = {"has_uint32": self.has_uint32, "uinteger": self.uinteger}
        rng.bit_generator.state = {"bit_generator": "PCG64", "state": inner, **rest}


@record
class QueueState:
    """What a queue stores from one day to the next.

    Attributes
    ----------
    budget : int
        Rows that a person can review at a time.
    max_risk, confidence, certify_share : float
        As in `ReviewQueue`.
    coverage : float or None
        As in `ReviewQueue`.
    n_chosen : int
        How many reviews it has chosen.
    features : tuple of str
        Names of the features, as in the first rows; empty for a model without regions.
    draws : Draws
        The state of the draws.
    evidence : Evidence or None
        None before the first rows.
    begun : tuple of PendingReview
        The reviews whose labels are not all counted.
    """

    budget: int = whole(1)
    max_risk: float = number(0.0, 1.0)
    confidence: float = number(0.0, 1.0)
    certify_share: float = number(0.0, 1.0)
    coverage: Any = simple()
    n_chosen: int = whole()
    features: tuple[str, ...] = texts("f")
    draws: Draws = part(Draws)
    evidence: Evidence | None = part(Evidence, default=None)
    begun: tuple[PendingReview, ...] = parts(PendingReview, default=())

    def flaw(self) -> str | None:
        """What is wrong with the settings or the reviews, if anything."""
        is_covered = self.coverage is None or (isinstance(self.coverage, float | int) and 0.0 < self.coverage <= 1.0)
        if not (TINY < self.max_risk < 1.0 and TINY < self.confidence < 1.0 and is_covered):
            return "has shares out of range"
        numbers = [one.number for one in self.begun]
        if not all(first < second for first, second in pairwise(numbers)) or max(numbers, default=0) > self.n_chosen:
            return "has a review that was never chosen"
        n_bands = 0 if self.evidence is None else len(self.evidence.bands)
        for one in self.begun:
            if len(one.drawn) != n_bands or (one.rows is not None and one.rows.aim >= n_bands):
                return "has reviews of other bands"
        return None


def queue_to_bytes(state: QueueState, model: Any) -> bytes:
    """The state of a queue for this model as bytes."""
    return state_to_bytes("queue", state, fingerprint_of(_models(model)))


def queue_from_bytes(data: bytes, model: Any) -> tuple[QueueState, dict[int, Review]]:
    """Read the state of a queue and its open reviews, and check that it belongs to this model."""
    models = _models(model)
    state, reader = state_from_bytes("queue", data, QueueState, fingerprint_of(models))
    if state.features and (not models or len(models[0].feature_names) != len(state.features)):
        raise reader.wrong("names more or fewer features than the model has")
    named = replace(models[0], feature_names=state.features) if state.features else None
    n_regions = 0 if named is None else len(named.table.counts) + named.n_places
    reviews = {}
    for own in state.begun:
        if own.rows is not None and state.evidence is not None:
            if (own.rows.region >= n_regions).any():
                raise reader.wrong("has regions that the model does not have")
            reader.take(len(own.rows.label) * own.rows.classes.itemsize)
            reviews[own.number] = _review_of(own, own.rows, state.evidence, named)
    return state, reviews


def _models(model: Any) -> list[SEPModel]:
    try:
        return sep_models(model)
    except TypeError:
        return []


def _review_of(own: PendingReview, rows: OpenRows, evidence: Evidence, model: SEPModel | None) -> Review:
    n_certify, has_regions = len(own.band), model is not None and len(rows.region)
    aim = None if rows.aim == NOTHING else rows.aim
    return Review(
        positions=rows.positions,
        purpose=np.repeat([Purpose.CERTIFY, Purpose.DECIDE], [n_certify, len(rows.label) - n_certify]),
        label=rows.classes[rows.label],
        trust=rows.trust,
        band=evidence.bands.of(rows.trust),
        regions=RowRegions.of(rows.region, rows.region_share, model) if model and has_regions else None,
        decisions=None,
        plan=Plan(evidence.bands, aim, own.drawn, rows.n_more, evidence.max_risk),
        number=own.number,
    )
