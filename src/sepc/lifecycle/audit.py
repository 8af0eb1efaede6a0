"""Audit a model with feedback: which regions are wrong more often than they claim, and where wrong rows cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import binom, false_discovery_control

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard, ShownOnOneLine
from sepc.decisions.decisions import frame_of
from sepc.documents.charts import Chart
from sepc.documents.document import Table
from sepc.lifecycle.disjuncts import Disjunct, find_disjuncts
from sepc.lifecycle.feedback import Feedback, fallback_name, feedback_of
from sepc.lifecycle.monitoring.column_guesses import ColumnChange, column_tables, columns_in_short, columns_in_words
from sepc.lifecycle.monitoring.columns import column_rows
from sepc.lifecycle.monitoring.comparing import column_changes
from sepc.lifecycle.result import DrawnResult
from sepc.views.charts import Pair, pair_chart
from sepc.wording import AS_SET, check_number, counted, p_in_short, percent, with_number

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class RegionTests(ShownAsCard):
    """The tests of all regions with feedback, one entry per region.

    Attributes
    ----------
    region : array of int
        Ids, ascending; -1 is all unseen combinations of ellipsoids together.
    where : array of str
        The regions in words.
    n_rows, n_errors : array of int
        Feedback rows there, and the wrong ones.
    expected : array of float
        Errors expected by the trust of the decisions: the sum of 1 - trust.
    p_value : array of float
        Chance of at least this many errors if the claims are true.
    adjusted : array of float
        Corrected for the number of regions tested (Benjamini and Hochberg); 1 if not tested.
    tested : array of bool
        Whether the region has enough rows to fail: with all of them wrong, the p-value would be at most `fdr`.
    failing : array of bool
    """

    region: IntArray
    where: NDArray[Any]
    n_rows: IntArray
    n_errors: IntArray
    expected: FloatArray
    p_value: FloatArray
    adjusted: FloatArray
    tested: BoolArray
    failing: BoolArray

    def __len__(self) -> int:
        return len(self.region)

    def summary(self, i: int) -> str:
        """The region at this position in words."""
        adjusted = f"= {self.adjusted[i]:.2g}" if self.adjusted[i] > 0.0 else "< 1e-300"
        return (
            f"{self._name(i)}: {self.n_errors[i]:,} of {self.n_rows[i]:,} rows wrong, "
            f"{self.expected[i]:.2g} expected, adjusted p {adjusted}"
        )

    def cells(self, i: int) -> tuple[str, ...]:
        """The region at this position as a row of a table: where, rows, wrong and expected ones, adjusted p-value."""
        counts = f"{self.n_rows[i]:,}", f"{self.n_errors[i]:,}", f"{self.expected[i]:.1f}"
        return self._name(i), *counts, p_in_short(self.adjusted[i])

    def _name(self, i: int) -> str:
        return with_number(self.where[i], int(self.region[i]))

    def _card(self) -> Card:
        n_failing = int(self.failing.sum())
        facts = (
            ("failing", f"{n_failing:,}"),
            ("pass", f"{int(self.tested.sum()) - n_failing:,}"),
            ("too few rows to test", f"{int((~self.tested).sum()):,}"),
        )
        order = np.lexsort((-self.n_rows, self.adjusted)).tolist()
        rows = tuple((*self.cells(i), "fails" if self.failing[i] else "") for i in order)
        head = ("where", "rows", "wrong", "expected", "adjusted p", "")
        return Card(f"RegionTests of {counted(len(self), 'region')}", facts, head, rows)


def check_regions(
    region: IntArray, wrong: BoolArray, claimed_risk: FloatArray, fdr: float, name: Callable[[int], str] = fallback_name
) -> RegionTests:
    """Count rows and errors of each region, and test them against what the decisions claim.

    Examples
    --------
    Both regions claim a risk of 0.1; in the second, every other row is wrong.

    >>> region, wrong = np.repeat([3, 8], 40), np.tile([False, True], 40)
    >>> wrong[:38] = False
    >>> check_regions(region, wrong, np.full(80, 0.1), fdr=0.1).failing
    array([False,  True])
    """
    ids, which, n_rows = np.unique(region, return_inverse=True, return_counts=True)
    n_errors = np.bincount(which, weights=wrong, minlength=len(ids)).astype(np.int64)
    expected = np.bincount(which, weights=claimed_risk, minlength=len(ids)).astype(np.float64)
    p_value = tail(n_errors, n_rows, expected)
    # Which regions are tested depends only on rows and claims, never on errors.
    tested = tail(n_rows, n_rows, expected) <= fdr
    adjusted = np.ones(len(ids))
    if tested.any():
        adjusted[tested] = false_discovery_control(p_value[tested], method="bh")
    where = np.array([name(region_id) for region_id in ids.tolist()], dtype=object)
    return RegionTests(ids, where, n_rows, n_errors, expected, p_value, adjusted, tested, adjusted <= fdr)


def tail(n_errors: IntArray, n_rows: IntArray, expected: FloatArray) -> FloatArray:
    """An upper bound on the chance of at least `n_errors`, if each row is wrong with the probability it claims."""
    mean = np.clip(expected / n_rows, 0.0, 1.0)
    chance = binom.sf(n_errors - 1, n_rows, mean)
    return np.where(n_errors >= expected + 1.0, chance, 1.0)


# The share of the audit's level for all rows together; the regions share the rest.
PART_OF_ALL_ROWS = 0.25
# Up to this many rows are added one by one; longer sums use a fast Fourier transform.
ONE_BY_ONE = 64


@dataclass(frozen=True, repr=False)
class OverallTest(ShownOnOneLine):
    """The test of all rows together.

    Attributes
    ----------
    n_rows, n_errors : int
        Feedback rows, and the wrong ones.
    expected : float
        Errors expected by the trust of the decisions: the sum of 1 - trust.
    deviation : float
        Standard deviation of the number of errors, if the claims are true.
    p_value : float
        Chance of at least this many errors, if the claims are true.
    level : float
        The significance level: true claims fail the test with at most this probability.
    """

    n_rows: int
    n_errors: int
    expected: float
    deviation: float
    p_value: float
    level: float

    @property
    def fails(self) -> bool:
        """Whether there are more errors than claimed."""
        return self.p_value <= self.level

    @property
    def z(self) -> float:
        """How many standard deviations the errors exceed their expected number by; 0 if the deviation is 0."""
        return (self.n_errors - self.expected) / self.deviation if self.deviation > 0.0 else 0.0

    def summary(self) -> str:
        """The result in a sentence."""
        counts = f"{self.n_errors:,} of {self.n_rows:,} rows are wrong, {self.expected:,.1f} expected by trust"
        chance = f"z {self.z:.1f}, p {p_in_short(self.p_value, '= ')}, level {percent(self.level, AS_SET)}"
        if self.fails:
            return f"The model as a whole is wrong more often than it claims: {counts} ({chance})."
        return f"As a whole the model is not wrong more often than it claims: {counts} ({chance})."


def check_all_rows(wrong: BoolArray, claimed_risk: FloatArray, fdr: float) -> OverallTest:
    """Test the number of errors of all rows against the sum of the risks that the decisions claim.

    Examples
    --------
    >>> wrong = np.arange(1000) < 130
    >>> test = check_all_rows(wrong, np.full(1000, 0.1), fdr=0.1)
    >>> test.fails, round(test.z, 1), round(test.p_value, 4)
    (True, 3.2, 0.0013)
    """
    n_errors, risk = int(wrong.sum()), np.clip(claimed_risk, 0.0, 1.0)
    deviation = float(np.sqrt((risk * (1.0 - risk)).sum()))
    chance = tail_of_sum(n_errors, risk)
    return OverallTest(len(wrong), n_errors, float(risk.sum()), deviation, chance, PART_OF_ALL_ROWS * fdr)


def tail_of_sum(n_errors: int, risk: FloatArray) -> float:
    """The chance of at least `n_errors`, if each row is wrong with its own probability: a Poisson-binomial tail.

    Examples
    --------
    >>> round(tail_of_sum(2, np.array([0.5, 0.5])), 6), round(tail_of_sum(1, np.array([0.1, 0.2])), 6)
    (0.25, 0.28)
    """
    if n_errors <= 0:
        return 1.0
    if n_errors > len(risk):
        return 0.0
    return float(np.clip(_chances(risk)[n_errors:].sum(), 0.0, 1.0))


def _chances(risk: FloatArray) -> FloatArray:
    """The chances of 0, 1, 2 and more errors."""
    n_sums = -(-len(risk) // ONE_BY_ONE)
    rows = np.zeros(n_sums * ONE_BY_ONE)
    rows[: len(risk)] = risk
    sums = np.zeros((n_sums, ONE_BY_ONE + 1))
    sums[:, 0] = 1.0
    for one_row in rows.reshape(n_sums, ONE_BY_ONE).T[:, :, None]:
        sums = sums * (1.0 - one_row) + np.roll(sums, 1, axis=1) * one_row
    while len(sums) > 1:
        if len(sums) % 2:
            sums = np.pad(sums, ((0, 1), (0, 0)))
            sums[-1, 0] = 1.0
        size = 2 * sums.shape[1] - 1
        length = next_fast_len(size, real=True)
        transforms = rfft(sums, length, axis=1)
        sums = np.maximum(irfft(transforms[::2] * transforms[1::2], length, axis=1)[:, :size], 0.0)
    return np.asarray(sums[0])


HEAD = ("where", "rows", "wrong", "expected", "p")

# Regions in the picture of an audit that found nothing.
MOST_REGIONS = 12
# Regions and clusters listed in a summary; the others are counted.
MOST_LISTED = 10


def audit(model: Any, X: Any, y: ArrayLike, *, fdr: float = 0.1, random_state: int = 0) -> Audit:
    """Compare the trust that a model claims with labels that arrived later.

    All rows together are tested, and then each region: is it wrong more often than the trust of its decisions says? A
    scan for clusters looks for errors that these tests miss, because they are few in a large region or spread over
    several. Columns that differ from training are named, with a guess at the cause where it is simple, such as a change
    of unit.

    Parameters
    ----------
    model : fitted estimator with `decide`, or a pipeline, search or `FrozenEstimator` around one
        Regions are those of an `SEPClassifier` or of the partition of a `TrustedClassifier`, also inside a
        `SelectiveClassifier` or a `RoutedClassifier`; for other estimators there are clusters only.
    X : array or DataFrame of n rows
        Feedback. None of these rows may have been used to train the model, or it would pass too easily.
    y : array of shape (n,)
        The true labels.
    fdr : float, default=0.1
        False discovery rate: an upper bound on the expected share of false alarms, both among the overall test and the
        failing regions, and among the clusters. The overall test uses a quarter of it, the regions the rest.
    random_state : int, default=0
        Seed of the draws behind the p-values of clusters.

    Returns
    -------
    Audit

    Notes
    -----
    Regions are disjoint, so with independent rows their p-values are independent, and the correction of Benjamini and
    Hochberg holds. If rows of different regions depend on one another (several visits of one patient), use that of
    Benjamini and Yekutieli: ``scipy.stats.false_discovery_control(audit.regions.p_value, method="by")``. If
    rows within a region do, no p-value here is valid; keep one row of each patient.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import SEPClassifier
    >>> from sepc.lifecycle import audit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(3000, 2))
    >>> y = np.where(X[:, 0] > 0.0, "right", "left")
    >>> classifier = SEPClassifier().fit(X[:1500], y[:1500])
    >>> y[np.abs(X - 0.5).max(axis=1) < 0.1] = "left"  # a corner has changed
    >>> found = audit(classifier, X[1500:], y[1500:])
    >>> print(len(found.disjuncts), "cluster, predicted", found.disjuncts[0].predicted)
    1 cluster, predicted right
    """
    check_number("fdr", fdr, above=0, below=1)
    feedback = feedback_of(model, X, y)
    columns = column_changes(column_rows(feedback.decisions, X, np.asarray(y)))
    return replace(audit_feedback(feedback, X, np.asarray(y), fdr, random_state), columns=columns)


def audit_feedback(feedback: Feedback, X: Any, y: NDArray[Any], fdr: float, random_state: int) -> Audit:
    """`audit`, given the decisions on the rows, without the comparison of columns."""
    wrong, risk = ~feedback.right, feedback.claimed_risk
    no_regions, level = np.empty(0, dtype=np.int64), (1.0 - PART_OF_ALL_ROWS) * fdr
    regions = (
        check_regions(no_regions, wrong[:0], risk[:0], level)
        if feedback.region is None
        else check_regions(feedback.region, wrong, risk, level, feedback.region_name)
    )
    disjuncts = find_disjuncts(X, y, feedback, fdr, random_state)
    return Audit(check_all_rows(wrong, risk, fdr), regions, disjuncts, fdr)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(DrawnResult):
    """The result of an audit: `summary` in words, `to_frame` as a table, `plot` as a picture, `to_html` as a page.

    Attributes
    ----------
    overall : OverallTest
        Whether all rows together are wrong more often than they claim.
    regions : RegionTests
        Rows, errors, expected errors and p-values of each region with feedback; empty for models without regions.
    disjuncts : tuple of Disjunct
        Clusters of consistently wrong rows, the most unusual first.
    fdr : float
    columns : tuple of ColumnChange
        Columns that differ from training: those with a guess at the cause first, then those that moved farthest.
    """

    overall: OverallTest
    regions: RegionTests
    disjuncts: tuple[Disjunct, ...]
    fdr: float
    columns: tuple[ColumnChange, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of feedback rows."""
        return self.overall.n_rows

    @property
    def n_errors(self) -> int:
        """Number of feedback rows that are wrong."""
        return self.overall.n_errors

    @property
    def expected(self) -> float:
        """The number of errors expected by the trust of the decisions."""
        return self.overall.expected

    @property
    def failing(self) -> IntArray:
        """Ids of the regions that are wrong more often than they claim, the smallest p-value first."""
        failing = np.flatnonzero(self.regions.failing)
        return self.regions.region[failing[np.argsort(self.regions.p_value[failing], kind="stable")]]

    @property
    def to_repair(self) -> IntArray:
        """Ids of the failing regions and of the regions with clusters of wrong rows."""
        clustered = [region for disjunct in self.disjuncts for region in disjunct.regions]
        return np.array(list(dict.fromkeys([*self.failing.tolist(), *clustered])), dtype=np.int64)

    def to_frame(self) -> pd.DataFrame:
        """The regions as a pandas DataFrame, a row for each with feedback."""
        return frame_of(vars(self.regions))

    def disjuncts_to_frame(self) -> pd.DataFrame:
        """The clusters as a pandas DataFrame, with two columns of ranges for every feature."""
        columns: dict[str, list[Any]] = {
            name: [getattr(disjunct, name) for disjunct in self.disjuncts]
            for name in ("n_errors", "expected", "p_value", "predicted", "actual", "regions", "where")
        }
        columns = {"n_rows": [len(disjunct.rows) for disjunct in self.disjuncts], **columns}
        for feature in sorted({part.feature for disjunct in self.disjuncts for part in disjunct.ranges}):
            parts = [next(part for part in disjunct.ranges if part.feature == feature) for disjunct in self.disjuncts]
            columns[f"{feature} from"] = [part.low for part in parts]
            columns[f"{feature} to"] = [part.high for part in parts]
        return frame_of(columns)

    def _card(self) -> Card:
        regions, failing = self.regions, self.failing
        n_tested, n_clustered = int(regions.tested.sum()), sum(len(disjunct.rows) for disjunct in self.disjuncts)
        text = f"{len(failing):,} of {n_tested:,} tested" if len(regions) else "none to test"
        facts = (
            ("columns that moved", columns_in_short(self.columns)),
            ("wrong", f"{self.n_errors:,} of {self.n_rows:,} rows, {self.expected:,.1f} expected by trust"),
            ("all rows together", f"{'fail' if self.overall.fails else 'pass'} (z {self.overall.z:.1f})"),
            ("failing regions", text),
            (
                "clusters of wrong rows",
                f"{len(self.disjuncts):,}, with {counted(n_clustered, 'suspicious row')}" if n_clustered else "none",
            ),
            ("false alarms", f"{percent(self.fdr, AS_SET)} of them at most, on average"),
        )
        rows = [regions.cells(i) for i in np.searchsorted(regions.region, failing).tolist()]
        rows += [disjunct.cells() for disjunct in self.disjuncts]
        note = "In words: print(audit). As DataFrames: to_frame(), disjuncts_to_frame()"
        found = _headline(self.overall.fails, len(failing), len(self.disjuncts), len(self.columns))
        title = f"Audit of {counted(self.n_rows, 'row')}: {found}"
        return Card(title, facts, HEAD, tuple(rows), note)

    def _tables(self) -> list[Table]:
        return [*column_tables(self.columns), *super()._tables()]

    def _chart(self) -> Chart:
        """Error rates by trust and by feedback: of failing regions and clusters, or else of the largest regions."""
        regions, found = self.regions, np.searchsorted(self.regions.region, self.failing)
        is_calm = len(found) + len(self.disjuncts) == 0
        chosen = np.argsort(-regions.n_rows, kind="stable")[:MOST_REGIONS] if is_calm else found
        pairs = [
            Pair(regions.cells(i)[0], regions.expected[i] / regions.n_rows[i], regions.n_errors[i] / regions.n_rows[i])
            for i in chosen.tolist()
        ]
        pairs += [
            Pair(cluster.cells()[0], cluster.expected / len(cluster.rows), cluster.n_errors / len(cluster.rows))
            for cluster in self.disjuncts
        ]
        title = "Errors of the largest regions" if is_calm else "Errors where the model fails"
        return pair_chart(title, "share of rows wrong", ("expected by trust", "in the feedback"), pairs)

    def summary(self) -> str:
        """What the audit found, in words: columns that moved, all rows together, and then regions and clusters."""
        whole = [] if self.overall.fails else [self.overall.summary()]
        others = [change for change in self.columns if not change.is_guessed]
        columns = (
            ["Moved without a simple explanation:", *_bullet_list([str(change) for change in others], "column")]
            if others
            else []
        )
        return "\n".join([self.headline(), *whole, *columns, *self._region_lines(), *self._disjunct_lines()])

    def headline(self) -> str:
        """Columns with a guess, whether the model fails overall, how many regions do, and where most rows are wrong."""
        columns = columns_in_words([change for change in self.columns if change.is_guessed])
        whole = self.overall.summary() if self.overall.fails else ""
        return " ".join(part for part in (columns, whole, self._region_headline()) if part)

    def _region_headline(self) -> str:
        regions, n_failing = self.regions, len(self.failing)
        if len(regions) == 0:
            return f"{counted(len(self.disjuncts), 'cluster')} of wrong rows; the model has no regions to test."
        if n_failing == 0:
            found = "was found" if len(self.disjuncts) == 1 else "were found"
            clusters = f"{counted(len(self.disjuncts), 'cluster')} of wrong rows {found}"
            more = f", but {clusters}" if self.disjuncts else ""
            return f"None of {counted(len(regions), 'region')} fails{more}."
        i = int(np.argmax(np.where(regions.failing, regions.n_errors - regions.expected, -np.inf)))
        counts = f"{regions.n_errors[i]:,} of {regions.n_rows[i]:,} wrong ({regions.expected[i]:.1f} expected)"
        fail = "fails" if n_failing == 1 else "fail"
        return f"{n_failing:,} of {counted(len(regions), 'region')} {fail}; the largest: {regions.where[i]}, {counts}."

    def _region_lines(self) -> list[str]:
        if len(self.regions) == 0:
            return []
        failing, fdr = self.failing, percent((1.0 - PART_OF_ALL_ROWS) * self.fdr, AS_SET)
        tested = f"{counted(int(self.regions.tested.sum()), 'region')} with enough rows to test"
        lines = [f"Wrong more often than they claim, of {tested} (FDR {fdr}):" if len(failing) else f"{tested}."]
        places = np.searchsorted(self.regions.region, failing).tolist()
        return lines + _bullet_list([self.regions.summary(i) for i in places], "region")

    def _disjunct_lines(self) -> list[str]:
        if not self.disjuncts:
            return ["No cluster of wrong rows was found."]
        clusters = counted(len(self.disjuncts), "cluster")
        lines = [f"{clusters} of wrong rows (chance of any false alarm {percent(self.fdr, AS_SET)})."]
        return lines + _bullet_list([str(disjunct) for disjunct in self.disjuncts], "cluster")


def _bullet_list(lines: list[str], what: str) -> list[str]:
    """The first lines as a list, and how many more there are."""
    n_more = len(lines) - MOST_LISTED
    more = [f"- and {counted(n_more, f'more {what}')}"] if n_more > 0 else []
    return [f"- {line}" for line in lines[:MOST_LISTED]] + more


def _headline(whole_fails: bool, n_failing: int, n_clusters: int, n_columns: int) -> str:
    whole = ["the model as a whole fails"] if whole_fails else []
    columns = [f"{counted(n_columns, 'column')} moved"] if n_columns else []
    if n_failing == n_clusters == 0:
        return ", ".join([*columns, *whole]) or "nothing suspicious"
    found = [counted(n_failing, "failing region"), f"{counted(n_clusters, 'cluster')} of wrong rows"]
    return ", ".join([*columns, *whole, *found])
