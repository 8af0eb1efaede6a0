"""A ReviewQueue as a query strategy of scikit-activeml."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.lifecycle.located_rows import decide_in_memory
from sepc.lifecycle.reviewing.review_batch import Purpose, Review

if TYPE_CHECKING:
    from sepc.lifecycle.reviewing.review_queue import ReviewQueue


def query_strategy(queue: ReviewQueue, *, missing_label: Any = np.nan, random_state: Any = None) -> Any:
    """A query strategy of scikit-activeml that asks for the same labels as `queue`.

    Its ``query(X, y, batch_size=...)`` first learns the labels in `y` of the rows it asked for before; `queue` then has
    the certificate. Queries count in order: a missing label holds up all later ones. `X` must stay the same from one
    query to the next, as usual in pool-based active learning.

    Parameters
    ----------
    queue : ReviewQueue
        Its `budget` is replaced by `batch_size`.
    missing_label : scalar, str, NaN or None
        The value in `y` that means an unknown label.
    random_state : int, RandomState or None
        For scikit-activeml; the queue uses its own random state.

    Returns
    -------
    skactiveml.base.SingleAnnotatorPoolQueryStrategy
    """
    return _strategy_class()(queue, missing_label=missing_label, random_state=random_state)


@cache
def _strategy_class() -> type:
    try:
        from skactiveml.base import SingleAnnotatorPoolQueryStrategy
        from skactiveml.utils import is_labeled
    except ImportError as error:
        raise ImportError("query_strategy needs scikit-activeml: pip install scikit-activeml") from error

    class CertifyingQueryStrategy(SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc]
        """Ask for labels that certify rows, by a `ReviewQueue`."""

        def __init__(self, queue: Any, missing_label: Any = np.nan, random_state: Any = None) -> None:
            super().__init__(missing_label=missing_label, random_state=random_state)
            self.queue = queue

        def query(
            self, X: Any, y: Any, candidates: Any = None, batch_size: int = 1, return_utilities: bool = False
        ) -> Any:
            """Positions in `X` of the rows to label and, on request, the utility of each row."""
            X, y, candidates, batch_size, return_utilities = self._validate_data(
                X, y, candidates, batch_size, return_utilities, reset=True
            )
            rows, where = self._transform_candidates(candidates, X, y, enforce_mapping=True)
            self._learn(y)
            review, trust = self.queue.choose(rows, n_rows=batch_size), decide_in_memory(self.queue.model, rows).trust
            picked = _fill_up(review.positions, trust, batch_size)
            self._asked = [*self._waiting(), (review, where[review.positions])]
            chosen = where[picked]
            return (chosen, _utilities(review, trust, picked, where, len(X))) if return_utilities else chosen

        def _waiting(self) -> list[tuple[Review, IntArray]]:
            return getattr(self, "_asked", [])

        def _learn(self, y: NDArray[Any]) -> None:
            """Learn completed reviews in order, up to the first with a missing label."""
            known, waiting = is_labeled(y, missing_label=self.missing_label_), self._waiting()
            while waiting and known[waiting[0][1]].all():
                review, positions = waiting[0]
                self.queue.learn(review, y[positions])
                waiting = waiting[1:]
            self._asked = waiting

    return CertifyingQueryStrategy


def _fill_up(positions: IntArray, trust: FloatArray, n: int) -> IntArray:
    """Exactly `n` rows: those of the queue, filled up with the least trusted of the others."""
    least_trusted = np.argsort(trust, kind="stable")
    others = least_trusted[~np.isin(least_trusted, positions)]
    return np.concatenate([positions, others[: n - len(positions)]])


def _utilities(review: Review, trust: FloatArray, picked: IntArray, where: IntArray, n_rows: int) -> FloatArray:
    """For each pick, the probability of drawing each row, or 1 - trust; NaN for rows already picked or labelled."""
    band = review.plan.bands.of(trust)
    likely = (review.plan.drawn / np.maximum(np.bincount(band, minlength=len(review.plan.bands)), 1))[band]
    utilities = np.full((len(picked), n_rows), np.nan)
    for i in range(len(picked)):
        certifies = i < len(review) and review.purpose[i] == Purpose.CERTIFY
        utilities[i, where] = likely if certifies else 1.0 - trust
        utilities[i, where[picked[:i]]] = np.nan
    return utilities
