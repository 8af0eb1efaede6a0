"""Small disjuncts: clusters of consistently wrong rows, found by a scan and described in the user's own features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.neighbors import NearestNeighbors

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownInLists, ShownOnOneLine
from sepc.columns.preparation import number_columns
from sepc.estimators.sep.training_set import Extent, Standardization
from sepc.lifecycle.feedback import Feedback
from sepc.points.in_memory import ArrayPoints
from sepc.views.outcomes import most_common
from sepc.wording import counted, listed, name_of, p_in_short, shown, with_number

# The null hypothesis: every row is wrong with the probability that it claims or, if that is larger, with the share of
# wrong rows among all rows that claim about the same; where a row lies does not matter. So neither expected errors nor
# uniform overconfidence makes a cluster. The statistic is the maximum of Kulldorff's (1997) likelihood ratio over all
# balls in which most rows are wrong; more errors never make it smaller, so its p-value also holds if rows are wrong
# less often. A significant ball is removed before the next search, until none is significant. Each is compared with
# draws for all rows, as in Kulldorff, and only if it is not unusual among these, with draws for the rows left (Zhang,
# Assunção and Kulldorff, 2010). The chance of any false ball is then at most `fdr`, and so is the expected share of
# false ones. Balls that share rows are merged into one cluster.


# The smallest ball in rows, and the factor from one size to the next.
FEWEST, GROWTH = 10, 1.2
# Consistently wrong: more than this share of a ball's rows.
WRONG_SHARE = 0.5
# A ball has at most this share of all rows, and at most this many, unless more of them are identical.
MOST_SHARE, MOST_ROWS = 0.1, 200
# Balls are centred at no more places than this, chosen without looking at errors; they may contain any row.
MOST_CENTERS = 20_000
N_STRATA = 10
N_DRAWS = 199
MOST_CLUSTERS = 50
# A lower bound on expected counts, against division by zero.
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Cluster:
    """The rows of overlapping balls, and the p-value of the most unusual of these balls."""

    rows: IntArray
    p_value: float


def scan(rows: FloatArray, wrong: BoolArray, claimed_risk: FloatArray, fdr: float, seed: int) -> tuple[Cluster, ...]:
    """All clusters with a p-value of at most `fdr`, the most unusual first."""
    if len(rows) <= 2 * FEWEST or wrong.sum() < FEWEST:
        return ()
    rng = np.random.default_rng(seed)
    return _merge_balls(_unusual_balls(_Places.of(rows, rng), wrong, claimed_risk, fdr, rng))


@dataclass(frozen=True, eq=False)
class _Places:
    """Where rows lie, and the balls around some of these places."""

    of_row: IntArray
    centers: IntArray
    nearest: NDArray[np.int32]
    sizes: IntArray
    is_ball: BoolArray

    @classmethod
    def of(cls, rows: FloatArray, rng: np.random.Generator) -> _Places:
        places, of_row, n_rows = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        centers = np.sort(rng.permutation(len(places))[:MOST_CENTERS])
        most = int(np.clip(MOST_SHARE * len(rows), 2 * FEWEST, MOST_ROWS))
        finder = NearestNeighbors(n_neighbors=min(most, len(places))).fit(places)
        nearest = np.asarray(finder.kneighbors(places[centers], return_distance=False), dtype=np.int32)
        sizes = _sizes(nearest.shape[1], FEWEST if len(places) == len(rows) else 1)
        is_ball = (_sums(n_rows, nearest, sizes) <= most) | (sizes == 1)
        return cls(of_row.ravel(), centers, nearest, sizes, is_ball)

    def totals(self, values: FloatArray | BoolArray) -> FloatArray:
        """The sum of the values of all rows at each place."""
        return np.asarray(np.bincount(self.of_row, weights=values), dtype=np.float64)

    def rows_in(self, center: int, size: int) -> IntArray:
        """The rows of a ball."""
        return np.flatnonzero(np.isin(self.of_row, self.nearest[center, :size]))


def _merge_balls(balls: Iterable[tuple[IntArray, float]]) -> tuple[Cluster, ...]:
    """Merge balls that share rows: a large or long cluster fills several of them."""
    clusters: list[Cluster] = []
    for ball, p_value in balls:
        adjoining = [cluster for cluster in clusters if np.isin(ball, cluster.rows).any()]
        first = adjoining[0] if adjoining else Cluster(ball, p_value)
        joined = Cluster(np.unique(np.concatenate([ball, *(cluster.rows for cluster in adjoining)])), first.p_value)
        place = clusters.index(first) if adjoining else len(clusters)
        clusters = [*clusters[:place], joined, *(cluster for cluster in clusters[place:] if cluster not in adjoining)]
    return tuple(clusters)


def _unusual_balls(
    places: _Places, wrong: BoolArray, claimed_risk: FloatArray, fdr: float, rng: np.random.Generator
) -> Iterator[tuple[IntArray, float]]:
    """Significant balls with their p-values, the most unusual first, each without the rows of those before it."""
    left, p_value = np.ones(len(wrong), dtype=bool), 0.0
    null = _Null.of(places, wrong, left, claimed_risk, rng)
    for _ in range(MOST_CLUSTERS):
        balls = _Balls.of(places, left, null.risk)
        best, place, size = balls.most_unusual(wrong & left)
        if null.p_value(best) > fdr and (null.left != left).any():
            null = _Null.of(places, wrong, left, claimed_risk, rng)
            balls = _Balls.of(places, left, null.risk)
            best, place, size = balls.most_unusual(wrong & left)
        p_value = max(p_value, null.p_value(best))
        if p_value > fdr:
            return
        ball = places.rows_in(place, size)
        yield ball, p_value
        left = left.copy()
        left[ball] = False


@dataclass(frozen=True, eq=False)
class _Null:
    """The null distribution: largest statistics if each row `left` is wrong by chance, with its `risk`."""

    left: BoolArray
    risk: FloatArray
    largest: FloatArray

    @classmethod
    def of(
        cls, places: _Places, wrong: BoolArray, left: BoolArray, claimed_risk: FloatArray, rng: np.random.Generator
    ) -> _Null:
        risk = np.where(left, np.maximum(claimed_risk, _usual_risk(wrong, left, claimed_risk)), 0.0)
        balls = _Balls.of(places, left, risk)
        largest = [balls.most_unusual(rng.random(len(risk)) < risk)[0] for _ in range(N_DRAWS)]
        return cls(left, risk, np.array(largest))

    def p_value(self, statistic: float) -> float:
        """How often chance alone gives a statistic as large; 1 for a statistic of 0."""
        return float((1 + np.sum(self.largest >= statistic)) / (1 + N_DRAWS)) if statistic > 0.0 else 1.0


def _usual_risk(wrong: BoolArray, left: BoolArray, claimed_risk: FloatArray) -> FloatArray:
    """The share of wrong rows among those left that claim about the same; equal claims stay together."""
    edges = np.unique(np.quantile(claimed_risk, np.linspace(0.0, 1.0, N_STRATA + 1)[1:-1]))
    stratum = np.searchsorted(edges, claimed_risk, side="left")
    n_rows, n_wrong = (np.bincount(stratum, weights=mask) for mask in (left, wrong & left))
    return np.asarray((n_wrong / np.maximum(n_rows, 1.0))[stratum])


@dataclass(frozen=True, eq=False)
class _Balls:
    """Balls of several sizes at every centre; rows left and errors expected have shape (centres, sizes)."""

    places: _Places
    n_rows: FloatArray
    expected: FloatArray

    @classmethod
    def of(cls, places: _Places, left: BoolArray, risk: FloatArray) -> _Balls:
        totals = (places.totals(values) for values in (left, np.where(left, risk, 0.0)))
        return cls(places, *(_sums(values, places.nearest, places.sizes) for values in totals))

    def most_unusual(self, wrong: BoolArray) -> tuple[float, int, int]:
        """The largest statistic of balls around wrong rows, its centre and size; 0 if none is consistently wrong."""
        places, at_place = self.places, self.places.totals(wrong)
        around = np.flatnonzero(at_place[places.centers])
        n_wrong, n_rows = _sums(at_place, places.nearest[around], places.sizes), self.n_rows[around]
        is_wrong = (n_wrong > WRONG_SHARE * n_rows) & (n_rows >= FEWEST) & places.is_ball[around]
        ball, size = np.nonzero(is_wrong)
        if len(ball) == 0:
            return 0.0, -1, 0
        ratio = _likelihood_ratio(n_wrong[ball, size], n_rows[ball, size], self.expected[around[ball], size])
        best = int(ratio.argmax())
        return float(ratio[best]), int(around[ball[best]]), int(places.sizes[size[best]])


def _sizes(most: int, fewest: int) -> IntArray:
    n_sizes = int(np.log(max(most / fewest, 1.0)) / np.log(GROWTH)) + 1
    return np.unique(np.minimum(fewest * GROWTH ** np.arange(n_sizes + 1), most).astype(np.int64))


def _sums(values: FloatArray | IntArray, balls: NDArray[np.int32], sizes: IntArray) -> FloatArray:
    """Sums over the first places of each ball, of shape (balls, sizes)."""
    starts = np.concatenate([[0], sizes[:-1]])
    parts = (
        np.add.reduceat(values.astype(np.float32)[balls], starts, axis=1) if len(balls) else np.empty((0, len(sizes)))
    )
    return np.cumsum(parts, axis=1, dtype=np.float64)


def _likelihood_ratio(n_wrong: FloatArray, n_rows: FloatArray, expected: FloatArray) -> FloatArray:
    """Log likelihood ratio of a ball's own error rate against the expected one; 0 if it has no excess of errors."""
    n_right, n_right_expected = n_rows - n_wrong, np.maximum(n_rows - expected, NOTHING)
    ratio = xlogy(n_wrong, n_wrong / np.maximum(expected, NOTHING)) + xlogy(n_right, n_right / n_right_expected)
    return np.where(n_wrong > expected, ratio, 0.0)


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
