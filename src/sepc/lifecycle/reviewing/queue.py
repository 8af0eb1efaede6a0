"""ReviewQueue: which rows a person should review, and what their labels prove about all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import Decisions, partition_behind
from sepc.io.atomic_files import write_whole
from sepc.io.codec import simple_value
from sepc.io.container import read_bytes
from sepc.lifecycle.reviewing._queue_file import (
    PendingReview,
    QueueState,
    compare_labels,
    queue_from_bytes,
    queue_to_bytes,
)
from sepc.lifecycle.reviewing.batch import Plan, Purpose, Review, bands_of
from sepc.lifecycle.reviewing.certificate import Certificate, Evidence, certificate_of, queue_card
from sepc.lifecycle.rows import RowRegions, SharedState, decide_in_memory, synchronized
from sepc.wording import check_number, counted

# With fewer rows, the shares of bands are too inaccurate, which broke certificates.
FEWEST_ROWS = 300
# Sets that would take longer than this to certify are not aimed at.
DAYS_OF_PATIENCE = 365


class ReviewQueue(SharedState, ShownAsCard):
    """Choose the rows that a person reviews each day, so that their labels certify as many other rows as possible.

    Rows are divided into bands of trust. For the certificate, a band is drawn with known probabilities, more often
    where errors are expected, and then a random row from it. The rest of the budget goes to the least trusted rows,
    which a person should decide. The certificate: with probability `confidence`, at most a share `max_risk` of the rows
    that it accepts is wrong. It is valid at any time, after any number of labels, as long as new rows come from the
    same source. Labels count in the order of the draws, whenever they arrive: a review without labels delays later
    ones.

    Threads may share a queue: calls wait for one another.

    Parameters
    ----------
    model : fitted classifier
        Trust comes from its `decide`, even if it is the last step of a `Pipeline`; without `decide`, trust is the
        largest class probability.
    budget : int
        How many rows a person can review each day, or from one call of `choose` to the next.
    max_risk : float, default=0.02
        The largest error rate among the rows that the certificate accepts.
    confidence : float, default=0.95
        Probability that the certificate never accepts more errors than that.
    coverage : float or None, default=None
        The share of rows to certify first. By default the share that needs the fewest labels for its size, judging by
        the model's trust. Once it is certified, the queue aims at more.
    certify_share : float, default=1.0
        The share of the budget for rows that certify; the rest goes to the least trusted rows.
    rows : array or DataFrame, optional
        Recent rows without labels that define the bands: at least 300, better thousands. By default the first rows
        given to `choose`.
    random_state : int, Generator or None, default=None
        Seed or generator of the draws.

    Attributes
    ----------
    evidence_ : Evidence
        The evidence of the labels so far; set by `rows` or by the first `choose`.
    reviews_ : dict
        The open reviews by number: those with missing labels.

    Notes
    -----
    Only labels of rows drawn to certify count as evidence. The least trusted rows are not a random sample, so their
    labels prove nothing about other rows.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sepc import SEPClassifier
    >>> from sepc.lifecycle import ReviewQueue
    >>> X, y = make_blobs(6000, centers=[[0, 0], [4, 0]], random_state=0)
    >>> model = SEPClassifier().fit(X[:1000], y[:1000])
    >>> queue = ReviewQueue(model, budget=100, coverage=0.8, random_state=0)
    >>> for day in range(1, 6):
    ...     today = slice(1000 * day, 1000 * (day + 1))
    ...     review = queue.choose(X[today])
    ...     certificate = queue.learn(review, y[today][review.positions])
    >>> print(certificate)
    At most 2 % of rows with trust >= ... are wrong, with 95 % confidence, if all rows come from one source: ...
    """

    evidence_: Evidence

    def __init__(
        self,
        model: Any,
        budget: int,
        *,
        max_risk: float = 0.02,
        confidence: float = 0.95,
        coverage: float | None = None,
        certify_share: float = 1.0,
        rows: Any = None,
        random_state: Any = None,
    ) -> None:
        _check(budget, {"max_risk": max_risk, "confidence": confidence}, coverage, certify_share)
        self.model = model
        self.budget = budget
        self.max_risk = max_risk
        self.confidence = confidence
        self.coverage = coverage
        self.certify_share = certify_share
        self._rng = np.random.default_rng(random_state)
        self._n_chosen = 0
        self._features: tuple[str, ...] = ()
        self.reviews_: dict[int, Review] = {}
        self._pending: dict[int, PendingReview] = {}
        if rows is not None:
            self._start(decide_in_memory(model, rows).trust)

    def choose(self, X: Any, *, n_rows: int | None = None) -> Review:
        """Choose the rows of `X` to review today, in order.

        Parameters
        ----------
        X : array, DataFrame or whatever the model takes
            New rows, all of them or a random sample.
        n_rows : int, optional
            How many rows can be reviewed today, if not `budget`.

        Returns
        -------
        Review
            At most this many rows.

        Raises
        ------
        ValueError
            If fewer than 300 rows would define the bands of trust.
        """
        return self._choose(decide_in_memory(self.model, X), self.budget if n_rows is None else n_rows)

    @synchronized
    def _choose(self, decisions: Decisions, n_rows: int) -> Review:
        trust = decisions.trust
        if not hasattr(self, "evidence_"):
            self._start(trust)
        plan, band = self._plan(), self.evidence_.bands.of(trust)
        certify = self._draw(plan, band, round(self.certify_share * n_rows))
        decide = self._least_trusted(trust, band, certify)[: n_rows - len(certify)]
        positions = np.concatenate([certify, decide])
        purpose = np.repeat([Purpose.CERTIFY, Purpose.DECIDE], [len(certify), len(decide)])
        if not self._features and partition_behind(decisions) is not None:
            self._features = partition_behind(decisions).model.feature_names
        self._n_chosen += 1
        review = Review(
            positions,
            purpose,
            decisions.label[positions],
            trust[positions],
            band[positions],
            RowRegions.chosen(decisions, positions),
            decisions[positions],
            plan,
            self._n_chosen,
        )
        if len(review):
            self.reviews_[review.number] = review
            self._pending[review.number] = PendingReview.of(review)
        return review

    @synchronized
    def learn(
        self, review: Review, labels: ArrayLike, positions: ArrayLike | None = None, *, complete: bool = True
    ) -> Certificate:
        """Count the labels that a person gave.

        Labels count in the order in which `choose` drew their rows, not in the order in which they come: hard cases
        take longer, and easy ones must not count without them. Labels of a review wait for all reviews before it; the
        certificate says how many wait, and for which review. `close` ends one that will get no labels.

        Parameters
        ----------
        review : Review
            From `choose`.
        labels : array
            Labels of its rows, in its order; None or NaN where there is none.
        positions : array of int, optional
            The positions, among the rows given to `choose`, that `labels` belong to; needed if labels come in another
            order or some are missing.
        complete : bool, default=True
            Whether this review gets no more labels. Rows to certify without a label then count as errors of the model,
            for good, since rows that a person cannot decide are seldom easy. If False, they stay open for a later call.

        Returns
        -------
        Certificate

        Raises
        ------
        ValueError
            If the review is not open in this queue, or labels and positions do not match its rows.
        """
        if not len(review):
            return self.certificate()
        self._check_open(review)
        known, wrong = compare_labels(review, labels, positions)
        begun = self._pending[review.number].with_labels(known, wrong, complete)
        self._pending[review.number] = begun
        if begun.is_complete:
            del self.reviews_[review.number]
        self._count()
        return self.certificate()

    def close(self, review: Review) -> Certificate:
        """End a review that gets no more labels: its rows to certify without one count as errors, for good."""
        return self.learn(review, [], [])

    def _check_open(self, review: Review) -> None:
        known = self.reviews_.get(review.number)
        if known is None and 0 < review.number <= self._n_chosen:
            raise ValueError(f"Review {review.number} is complete already; its labels would count twice.")
        if known is None or not np.array_equal(known.positions, review.positions):
            raise ValueError(
                f"Review {review.number} is not a review of this queue; those still open are in `reviews_`."
            )

    @synchronized
    def certificate(self) -> Certificate:
        """The error rate that the labels so far have proved."""
        if not hasattr(self, "evidence_"):
            return Certificate(np.inf, 0.0, self.max_risk, self.confidence, 0, 0)
        n_waiting = sum(pending.n_waiting for pending in self._pending.values())
        holding_up = [number for number, pending in self._pending.items() if not pending.is_counted]
        return certificate_of(self.evidence_, n_waiting, holding_up[0] if n_waiting else None)

    @synchronized
    def _card(self) -> Card:
        n_open = sum(len(review) for review in self.reviews_.values())
        n_open -= sum(begun.n_known for number, begun in self._pending.items() if number in self.reviews_)
        return queue_card(self.certificate(), n_open, len(self.reviews_), self.budget)

    def summary(self) -> str:
        """What the labels so far have proved, in words."""
        return self.certificate().summary()

    @synchronized
    def to_bytes(self) -> bytes:
        """The state of the queue as the bytes of a safe file, without the model and without rows.

        `from_bytes` checks that it gets the same model, if the model has regions.
        """
        names = ("budget", "max_risk", "confidence", "coverage", "certify_share")
        state = QueueState(
            settings={name: simple_value(getattr(self, name)) for name in names},
            evidence=getattr(self, "evidence_", None),
            n_chosen=self._n_chosen,
            features=self._features,
            begun=tuple(self._pending.values()),
            reviews=tuple(self.reviews_.values()),
            draws=dict(self._rng.bit_generator.state),
        )
        return queue_to_bytes(state, self.model)

    @classmethod
    def from_bytes(cls, data: bytes, model: Any) -> Self:
        """Restore a queue from bytes; raises `FormatError` if they are damaged or belong to another model."""
        state = queue_from_bytes(data, model)
        queue = cls(model, **state.settings)
        if state.evidence is not None:
            queue.evidence_ = state.evidence
        queue._n_chosen, queue._features = state.n_chosen, state.features
        queue._pending = {pending.number: pending for pending in state.begun}
        queue.reviews_ = {review.number: review for review in state.reviews}
        queue._rng.bit_generator.state = state.draws
        return queue

    def save(self, path: str | Path) -> None:
        """Write the state of the queue to a file without code; an existing file is replaced atomically."""
        write_whole(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | Path, model: Any) -> Self:
        """Read a queue from a file, which need not be trusted; open reviews are in `reviews_`."""
        return cls.from_bytes(read_bytes(path), model)

    def _count(self) -> None:
        """Count the labels of pending reviews in the order of `choose`, up to the first open row."""
        for number, begun in list(self._pending.items()):
            self._pending[number], self.evidence_ = begun.count(self.evidence_)
            if not self._pending[number].is_counted:
                return
            if begun.is_complete:
                del self._pending[number]

    def _start(self, trust: FloatArray) -> None:
        if len(trust) < FEWEST_ROWS:
            raise ValueError(
                f"There are {counted(len(trust), 'row')} to define bands of trust, but their shares need at least "
                f"{FEWEST_ROWS}; give choose more rows, or pass recent rows without labels as rows=."
            )
        bands = bands_of(trust, self.coverage, self.max_risk)
        self.evidence_ = Evidence.none(bands, self.max_risk, self.confidence)

    def _plan(self) -> Plan:
        """Aim at the target, then at more; at less only if the labels clearly rule out the target."""
        evidence, certified, patience = self.evidence_, self.evidence_.certified, DAYS_OF_PATIENCE * self.budget
        n_sets, first = len(evidence.bands), max(certified + 1, evidence.bands.target)
        if first < n_sets and not evidence.is_hopeless(first, patience):
            return self._plan_for(first)
        stricter = [self._plan_for(k) for k in range(certified + 1, evidence.bands.target)]
        # The most certified rows per label.
        best = max(stricter, key=lambda plan: plan.coverage / plan.n_more, default=None)
        if best is not None and best.n_more <= patience:
            return best
        return Plan(evidence.bands, None, np.zeros(n_sets), np.inf, self.max_risk)

    def _plan_for(self, k: int) -> Plan:
        return Plan(self.evidence_.bands, k, *self.evidence_.draws(k), self.max_risk)

    def _least_trusted(self, trust: FloatArray, band: IntArray, taken: IntArray) -> IntArray:
        """Positions of the rows that are neither certified nor taken, the least trusted first."""
        rest = np.setdiff1d(np.flatnonzero(band > self.evidence_.certified), taken)
        return np.asarray(rest[np.argsort(trust[rest], kind="stable")])

    def _draw(self, plan: Plan, band: IntArray, n: int) -> IntArray:
        """Positions of rows drawn to certify, in the order of the draws."""
        n = min(n, len(band))
        if plan.aim is None or n == 0:
            return np.empty(0, dtype=np.int64)
        bands = self._rng.choice(len(plan.drawn), size=n, p=plan.drawn)
        rows = [self._rng.permutation(np.flatnonzero(band == h)) for h in range(plan.aim + 1)]
        # At each draw, how often its band has been drawn before.
        turn = np.empty(n, dtype=np.int64)
        for h in range(len(plan.drawn)):
            turn[bands == h] = np.arange(np.count_nonzero(bands == h))
        used_up = [np.flatnonzero((bands == h) & (turn == len(in_band) - 1)) for h, in_band in enumerate(rows)]
        end = min(
            [n, *(int(draws[0]) + 1 for draws in used_up if len(draws)), *(0 for in_band in rows if len(in_band) == 0)]
        )
        return np.array([rows[h][t] for h, t in zip(bands[:end], turn[:end], strict=True)], dtype=np.int64)


def _check(budget: Any, shares: dict[str, float], coverage: float | None, certify_share: float) -> None:
    check_number("budget", budget, least=1, whole=True)
    for name, share in shares.items():
        check_number(name, share, above=0, below=1)
    if coverage is not None:
        check_number("coverage", coverage, above=0, most=1, instead="or None")
    check_number("certify_share", certify_share, least=0, most=1)
