"""Thresholds for rows whose mix of regions differs from that of the calibration rows, and the test of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import nbinom
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimators.base import column_names
from sepc.estimators.selective.thresholds import Control, choose_threshold
from sepc.records import flag, ints, number, part, record, text, whole
from sepc.statistics.rates import differ_p_value, rows_needed, spread_p_value
from sepc.wording import name_of

# Without labels, one can only test whether trust and each column have the same distribution within regions. A
# difference is a sign, not a proof: the labels may be unaffected. Conversely, no difference proves nothing about
# labels.


# The significance level: the probability of a false alarm.
SIGN_LEVEL = 0.05
TRUST = "trust"


@dataclass(frozen=True, eq=False)
class Rows:
    """Region and trust of each row, and whether its label is wrong."""

    region: IntArray
    trust: FloatArray
    wrong: BoolArray


@record
class ShiftCheck:
    """Whether target rows differ from calibration rows within regions.

    Attributes
    ----------
    column : str
        What differs most: a column, or trust.
    p_value : float
        Its p-value, times the number of tests (Bonferroni), at most 1.
    n_tests : int
        The number of tests: two for each column, and two for trust.
    is_sign : bool
        Whether this is a sign that the assumption does not hold.
    """

    column: str = text()
    p_value: float = number(0.0, 1.0)
    n_tests: int = whole(low=1)
    is_sign: bool = flag()


def check_shift(X: Any, X_target: Any, rows: Rows, region: IntArray, trust: FloatArray) -> ShiftCheck:
    """Compare calibration and target rows within regions: trust, then column by column."""
    is_target = np.repeat([False, True], [len(rows.region), len(region)])
    which = np.unique(np.append(rows.region, region), return_inverse=True)[1]
    found = {}
    for name, values in [(TRUST, np.append(rows.trust, trust)), *_columns(X, X_target)]:
        parts = values, is_target, which
        found[name] = min(differ_p_value(*parts), spread_p_value(*parts))
    most, n_tests = min(found, key=found.__getitem__), 2 * len(found)
    p = min(1.0, n_tests * found[most])
    return ShiftCheck(most, p, n_tests, p <= SIGN_LEVEL)


def _columns(X: Any, X_target: Any) -> list[tuple[str, FloatArray]]:
    tables = [table if hasattr(table, "shape") else np.asarray(table) for table in (X, X_target)]
    if any(len(table.shape) != 2 for table in tables):
        return []
    names = [name_of(name) for name in column_names(tables[0])]
    return [(name, _as_numbers(np.concatenate([_cells(table, j) for table in tables]))) for j, name in enumerate(names)]


def _cells(table: Any, j: int) -> NDArray[Any]:
    column = _safe_indexing(table, j, axis=1)
    column = column.toarray().ravel() if hasattr(column, "toarray") else column
    return np.asarray(column, dtype=object)


def _as_numbers(cells: NDArray[Any]) -> FloatArray:
    """Numbers as they are, with infinity for missing values; other values by the rank of their frequency."""
    try:
        values = cells.astype(np.float64)
    except (TypeError, ValueError):
        texts = np.array([str(cell) for cell in cells])
        _, which, counts = np.unique(texts, return_inverse=True, return_counts=True)
        order = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
        return np.asarray(order[which], dtype=np.float64)
    return np.where(np.isnan(values), np.inf, values)


# The assumption: within a region, rows and their labels are distributed as in calibration. A random part of the target
# rows only estimates how frequent each region is. Each of the others is paired with an unused calibration row of its
# region. The calibration rows of these pairs are then distributed like the target rows, with labels, and the threshold
# is chosen on them as usual. If no calibration row is left, the pair counts as accepted and wrong, which is
# conservative. Rows in regions with too few calibration rows are not accepted.


# The share of the target rows that only estimate the frequencies of regions.
PLAN_SHARE = 0.2
# Plans that are compared differ in the number of pairs.
N_PLANS = 40
# A region is covered if the expected share of its pairs without a calibration row is below this share of `max_risk`.
MOST_LACKING = 0.3
# The margin that few pairs cost a promise: this many times the square root of (the fewest pairs needed / pairs).
MARGIN = 8.0
# The trust of pairs that always count as accepted, and of pairs that never do.
ALWAYS, NEVER = np.inf, -np.inf


@record
class Shift:
    """The basis of a promise for another mix of regions.

    Attributes
    ----------
    regions : array of int
        The regions whose rows may be accepted, sorted: those with enough calibration rows.
    n_planning : int
        Target rows that only estimate the frequencies of regions.
    n_target, n_target_accepted, n_target_uncovered : int
        All target rows, those accepted, and those in other regions.
    n_unpaired : int
        Pairs that lack a calibration row and count as accepted and wrong.
    check : ShiftCheck
        Whether target rows differ from calibration rows within regions, which would violate the assumption.
    """

    regions: IntArray = ints("B")
    n_planning: int = whole()
    n_target: int = whole()
    n_target_accepted: int = whole()
    n_target_uncovered: int = whole()
    n_unpaired: int = whole()
    check: ShiftCheck = part(ShiftCheck)

    def flaw(self) -> str | None:
        """What is wrong with the regions or counts, if anything."""
        if (np.diff(self.regions) <= 0).any():
            return "has regions that are not in order"
        is_possible = self.n_target >= max(1, self.n_target_accepted + self.n_target_uncovered)
        return None if is_possible else "counts more target rows than there are"

    def covers(self, region: IntArray) -> BoolArray:
        """Which rows lie in a region whose rows may be accepted."""
        return np.isin(region, self.regions)


def choose_for_target(
    rows: Rows,
    target: IntArray,
    trust_of_target: FloatArray,
    grid: FloatArray,
    max_risk: float,
    confidence: float,
    random: np.random.RandomState,
    check: ShiftCheck,
) -> tuple[Control, Shift]:
    """The most lenient threshold that keeps the error rate under the target's mix of regions, and its basis."""
    regions = np.unique(rows.region[rows.region >= 0])
    order = random.permutation(len(target))
    planning, pairing = np.split(target[order], [round(PLAN_SHARE * len(target))])
    counts = _counts(rows.region, regions), _counts(planning, regions)
    is_covered, n_pairs = plan(*counts, len(planning), len(pairing), max_risk, rows_needed(max_risk, confidence))
    regions = regions[is_covered]
    trust, wrong, n_unpaired = np.full(n_pairs, NEVER), np.zeros(n_pairs, dtype=bool), 0
    for region in regions:
        pairs = np.flatnonzero(pairing[:n_pairs] == region)
        taken = random.permutation(np.flatnonzero(rows.region == region))[: len(pairs)]
        trust[pairs], wrong[pairs] = ALWAYS, True
        trust[pairs[: len(taken)]], wrong[pairs[: len(taken)]] = rows.trust[taken], rows.wrong[taken]
        n_unpaired += len(pairs) - len(taken)
    control = choose_threshold(trust, wrong, grid, max_risk, confidence)
    covered = np.isin(target, regions)
    n_accepted, n_uncovered = int((covered & (trust_of_target >= control.threshold)).sum()), int((~covered).sum())
    return control, Shift(regions, len(planning), len(target), n_accepted, n_uncovered, n_unpaired, check)


def plan(
    n_rows: IntArray, n_asked: IntArray, n_planning: int, most_pairs: int, max_risk: float, n_needed: int
) -> tuple[BoolArray, int]:
    """Which regions to cover, and how many pairs to make.

    Examples
    --------
    >>> plan(np.array([400, 400, 5]), np.array([500, 300, 200]), 1000, 4000, 0.05, 59)
    (array([ True,  True, False]), 729)
    """
    best, is_covered, n_pairs = 0.0, np.zeros(len(n_rows), dtype=bool), 0
    for n in np.unique(np.geomspace(1, max(most_pairs, 1), N_PLANS).astype(np.int64)):
        asked, lacking = _expected(n_rows, n_asked, n_planning, n)
        enough = (lacking <= MOST_LACKING * max_risk * asked) & (n_asked > 0)
        share = n_asked[enough].sum() / max(n_planning, 1)
        if share > 0.0 and n <= most_pairs:
            margin = MARGIN * np.sqrt(n_needed / (n * share)) + lacking[enough].sum() / (max_risk * n * share)
            if share / (1.0 + margin) > best:
                best, is_covered, n_pairs = share / (1.0 + margin), enough, int(n)
    return is_covered, n_pairs


def _expected(n_rows: IntArray, n_asked: IntArray, n_planning: int, n: int) -> tuple[FloatArray, FloatArray]:
    """The expected number of pairs in each region, out of `n`, and of those that lack a row."""
    size, share = n_asked + 0.5, 1.0 / (1.0 + n / max(n_planning, 1))
    asked = size * n / max(n_planning, 1)
    beyond = asked * nbinom.sf(n_rows - 1, size + 1.0, share) - n_rows * nbinom.sf(n_rows, size, share)
    return asked, np.maximum(beyond, 0.0)


def _counts(region: IntArray, regions: IntArray) -> IntArray:
    """How many rows lie in each of the regions."""
    known = region[np.isin(region, regions)]
    return np.bincount(np.searchsorted(regions, known), minlength=len(regions))
