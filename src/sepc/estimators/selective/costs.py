"""The costs of errors and of reviews, and the cheapest threshold at which accepting costs no more than reviewing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import FloatArray, IntArray
from sepc.estimators.selective.thresholds import Control
from sepc.statistics.betting import mean_p_value
from sepc.statistics.rates import n_before_failure, rows_needed, rows_to_start, sums_at
from sepc.wording import check_number, listed, plain, shown


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of wrong labels and of a review, in the same unit.

    Parameters
    ----------
    of_errors : mapping of (true label, predicted label) to float, or array of shape (C, C)
        A mapping names every pair of different labels; a correct label costs nothing unless its pair is named. It may
        name labels that are not in `y`: the largest possible cost counts, whether or not it occurs. An array
        has a row for each true label and a column for each predicted one, sorted.
    review : float
        Cost of having a person review a row that is not accepted.

    Examples
    --------
    >>> costs = Costs({("bad", "good"): 5, ("good", "bad"): 1}, review=0.5)
    >>> costs.matrix(np.array(["bad", "good"]))
    array([[0., 5.],
           [1., 0.]])
    """

    of_errors: Mapping[tuple[Any, Any], float] | ArrayLike
    review: float

    def matrix(self, classes: NDArray[Any]) -> FloatArray:
        """The cost matrix of these classes: a row for each true label, a column for each predicted label."""
        if isinstance(self.of_errors, Mapping):
            matrix = self._from_pairs(dict(self.of_errors), [plain(label) for label in classes])
        else:
            matrix = np.asarray(self.of_errors, dtype=np.float64)
            if matrix.shape != (len(classes),) * 2:
                known = listed(map(shown, classes))
                raise ValueError(
                    f"The costs of errors have shape {matrix.shape}; the {len(classes)} classes {known} need "
                    f"{(len(classes),) * 2}: a row for each true label, a column for each predicted label."
                )
        self._check(matrix)
        return matrix

    def with_named(self, labels: NDArray[Any]) -> NDArray[Any]:
        """These labels and those that a mapping names, sorted."""
        pairs = self.of_errors if isinstance(self.of_errors, Mapping) else ()
        known = {plain(label) for label in labels}
        named = {plain(label) for pair in pairs if isinstance(pair, tuple) for label in pair} - known
        kinds = {type(label) for label in named | known}
        return np.union1d(labels, list(named)) if named and len(kinds) == 1 else labels

    def of(self, true: NDArray[Any], given: NDArray[Any], classes: NDArray[Any]) -> FloatArray:
        """The cost of the predicted label of each row."""
        return np.asarray(self.matrix(classes)[_positions(true, classes), _positions(given, classes)])

    def _from_pairs(self, pairs: dict[Any, float], labels: list[Any]) -> FloatArray:
        every = {(true, given): (i, j) for i, true in enumerate(labels) for j, given in enumerate(labels)}
        unknown = [pair for pair in pairs if pair not in every]
        if unknown:
            raise ValueError(
                f"The costs of errors name {unknown[0]!r}; each must be a pair (true label, predicted label) of the "
                f"classes {listed(map(shown, labels))}."
            )
        missing = [pair for pair in every if pair[0] != pair[1] and pair not in pairs]
        if missing:
            raise ValueError(
                f"The costs of errors lack the pair {missing[0]!r}; give a cost for every pair of different labels."
            )
        matrix = np.zeros((len(labels),) * 2)
        for pair, cost in pairs.items():
            check_number(f"The cost of {shown(pair[1])} instead of {shown(pair[0])}", cost, least=0)
            matrix[every[pair]] = cost
        return matrix

    def _check(self, matrix: FloatArray) -> None:
        check_number("The cost of a review", self.review, above=0)
        if not np.isfinite(matrix).all() or (matrix < 0.0).any():
            wrong = matrix[~(matrix >= 0.0) | ~np.isfinite(matrix)][0]
            raise ValueError(f"A cost of an error is {wrong}; costs must be at least 0.")
        if matrix.max() <= self.review:
            raise ValueError(
                f"No error costs more than a review: at most {matrix.max():g}, and a review costs {self.review:g}. "
                "So no row needs a review; accept every row."
            )


def _positions(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        known = listed(map(shown, classes))
        raise ValueError(f"y holds {shown(unknown[0])}, for which there are no costs; the classes are {known}.")
    return np.searchsorted(classes, labels)


# Thresholds are tested from strict to lenient, as for errors. All that pass before the first failure keep the promise
# simultaneously, so the cheapest of them may be chosen on the same rows.


def choose_cheapest(
    trust: FloatArray,
    cost: FloatArray,
    grid: FloatArray,
    possible: FloatArray,
    review: float,
    confidence: float,
    n_assumed: int = 0,
) -> Control:
    """The cheapest threshold of `grid` that passes fixed-sequence testing."""
    thresholds, values = np.unique(grid)[::-1], np.unique(possible)
    accepted, counts = sums_at(thresholds, trust, (cost[:, None] == values).astype(np.int64))
    accepted, n_rows = accepted + n_assumed, len(trust) + n_assumed
    counts[:, -1] += n_assumed
    share = review / float(values[-1])
    start = int(np.searchsorted(accepted, rows_to_start(n_rows, share, confidence, n_assumed)))
    n_passed = n_before_failure(mean_p_value(counts[start:], values, review, confidence) <= 1.0 - confidence)
    paid = counts @ values
    totals = paid + review * (n_rows - accepted)
    # If totals are equal, take the last threshold, which accepts the most rows.
    chosen = start + n_passed - 1 - int(np.argmin(totals[start : start + n_passed][::-1])) if n_passed else None
    tried, n_needed = min(start, len(thresholds) - 1), rows_needed(share, confidence)
    return Control.at(chosen, tried, thresholds, (accepted, paid), n_rows, review, n_needed)
