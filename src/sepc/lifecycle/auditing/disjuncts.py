"""Small disjuncts: clusters of consistently wrong rows, described in the user's own features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownInLists, ShownOnOneLine
from sepc.columns.number_columns import number_columns
from sepc.estimators.sep.standardization import Extent, Standardization
from sepc.lifecycle.auditing.cluster_scan import Cluster, scan
from sepc.lifecycle.auditing.feedback import Feedback
from sepc.points.in_memory import ArrayPoints
from sepc.views.outcomes import most_common
from sepc.wording import counted, listed, name_of, p_in_short, shown, with_number

# Ranges named in a sentence; the others hold most rows anyway.
SHOWN_RANGES = 3
# The listed regions of a disjunct hold at least this share of its wrong rows; a few rows may stray.
HELD_SHARE = 0.9
# A region beside the largest is listed only if it holds at least this many of them; fewer may have strayed there.
FEWEST_HELD = 3


@dataclass(frozen=True, repr=False)
class Range(ShownOnOneLine):
    """The range of one feature that holds the wrong rows of a disjunct, and the share of all feedback in it."""

    feature: str
    low: float
    high: float
    share: float

    def __str__(self) -> str:
        return f"{self.feature} from {self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True, eq=False, repr=False)
class Disjunct(ShownInLists):
    """A cluster of feedback rows of which most are wrong.

    Attributes
    ----------
    rows : array of int
        Positions in the feedback.
    n_errors : int
        How many of them are wrong.
    expected : float
        The number of errors expected by the trust of the decisions.
    p_value : float
        Probability of a cluster this unusual anywhere, if errors of rows with equal trust are spread at random.
    ranges : tuple of Range
        Where the wrong rows lie, starting with the feature whose range holds the smallest share of the feedback.
    predicted, actual : object
        The most frequent predicted and true label of the wrong rows.
    regions : tuple of int
        The fewest regions that hold 90 % of the wrong rows, the largest first; of these, all after the first hold at
        least three. Empty if the model has no regions.
    where : tuple of str
        These regions in words.
    """

    rows: IntArray
    n_errors: int
    expected: float
    p_value: float
    ranges: tuple[Range, ...]
    predicted: Any
    actual: Any
    regions: tuple[int, ...]
    where: tuple[str, ...]

    def __str__(self) -> str:
        where = listed([str(part) for part in self.ranges[:SHOWN_RANGES]])
        text = (
            f"{len(self.rows):,} rows, {self.n_errors:,} wrong, {self.expected:.1f} expected, p = {self.p_value:.2g}: "
        )
        text += f"{where}; predicted {shown(self.predicted)}, mostly {shown(self.actual)}"
        return text + self._region_words()

    def cells(self) -> tuple[str, ...]:
        """The cluster as a row of a table: where, rows, wrong and expected ones, p-value."""
        counts = f"{len(self.rows):,}", f"{self.n_errors:,}", f"{self.expected:.1f}"
        return f"cluster, {self.ranges[0]}", *counts, p_in_short(self.p_value)

    def _card(self) -> Card:
        rows = counted(len(self.rows), "row")
        facts = [
            ("wrong", f"{self.n_errors:,} of {rows}, {self.expected:.1f} expected, p = {self.p_value:.2g}"),
            ("predicted", name_of(self.predicted)),
            ("mostly", name_of(self.actual)),
        ]
        if self.regions:
            facts.append(("in regions", "; ".join(map(with_number, self.where, self.regions))))
        ranges = tuple((part.feature, f"{part.low:.4g}", f"{part.high:.4g}") for part in self.ranges)
        title = f"Cluster of {rows}, {self.n_errors:,} wrong, {self.ranges[0]}"
        return Card(title, tuple(facts), ("feature", "from", "to"), ranges)

    def _region_words(self) -> str:
        if not self.regions:
            return ""
        first = f"; in region {self.regions[0]}, {self.where[0]}"
        return f"{first}, and {counted(len(self.regions) - 1, 'other region')}" if self.regions[1:] else first


def find_disjuncts(X: Any, y: NDArray[Any], feedback: Feedback, fdr: float, seed: int) -> tuple[Disjunct, ...]:
    """Scan for clusters of wrong rows in the numeric columns of `X`; empty if there are no such columns."""
    rows, names = _numbers(X)
    if not names:
        return ()
    extent = Extent.of(ArrayPoints(rows))
    varies = ~extent.is_constant
    if not varies.any():
        return ()
    wrong, scale = ~feedback.right, Standardization.of(extent).scale
    clusters = scan(rows[:, varies] / scale[varies], wrong, feedback.claimed_risk, fdr, seed)
    return tuple(_describe_cluster(cluster, rows, names, y, feedback) for cluster in clusters)


def _numbers(X: Any) -> tuple[FloatArray, list[str]]:
    """Numeric columns and their names; missing values are replaced by the median."""
    rows, names = number_columns(X)
    missing = np.isnan(rows)
    if missing.any():
        rows[:, missing.all(axis=0)] = 0.0
        rows = np.where(np.isnan(rows), np.nanmedian(rows, axis=0), rows)
    return rows, list(map(str, names))


def _describe_cluster(
    cluster: Cluster, rows: FloatArray, names: list[str], y: NDArray[Any], feedback: Feedback
) -> Disjunct:
    wrong = cluster.rows[~feedback.right[cluster.rows]]
    regions = () if feedback.region is None else _regions(feedback.region[wrong])
    return Disjunct(
        rows=cluster.rows,
        n_errors=len(wrong),
        expected=float(feedback.claimed_risk[cluster.rows].sum()),
        p_value=cluster.p_value,
        ranges=_ranges(rows, names, wrong),
        predicted=most_common(np.asarray(feedback.decisions.label)[wrong]),
        actual=most_common(y[wrong]),
        regions=regions,
        where=tuple(map(feedback.region_name, regions)),
    )


def _ranges(rows: FloatArray, names: list[str], wrong: IntArray) -> tuple[Range, ...]:
    low, high = rows[wrong].min(axis=0), rows[wrong].max(axis=0)
    share = _inside(rows, low, high).mean(axis=0)
    return tuple(
        Range(names[j], float(low[j]), float(high[j]), float(share[j])) for j in np.argsort(share, kind="stable")
    )


def _inside(rows: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    return np.asarray((rows >= low) & (rows <= high))


def _regions(region: IntArray) -> tuple[int, ...]:
    ids, counts = np.unique(region, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    n_held = np.searchsorted(np.cumsum(counts[order]), HELD_SHARE * len(region)) + 1
    held = order[:n_held]
    return tuple(ids[held[(counts[held] >= FEWEST_HELD) | (np.arange(len(held)) == 0)]].tolist())
