"""How decisions turned out, by region, by trust and by class, and which rows need human review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.estimators.sep.fitted import Regions
from sepc.metrics import aurc, check_ranking, risk_coverage_curve
from sepc.model.names import region_name
from sepc.statistics.rates import p_value, rate_interval
from sepc.wording import check_number, counted, name_of, percent, shown


@dataclass(frozen=True, eq=False, repr=False)
class RegionOutcomes(ShownOnOneLine):
    """Numbers of right and wrong rows in every region that occurs, the largest first."""

    names: tuple[str, ...]
    region: IntArray
    label: NDArray[Any]
    right: IntArray
    wrong: IntArray
    trust: FloatArray

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False, repr=False)
class Bins(ShownOnOneLine):
    """Accuracy in bins of trust, with 95 % Clopper-Pearson intervals."""

    trust: FloatArray
    right: FloatArray
    low: FloatArray
    high: FloatArray
    n_rows: IntArray

    def __len__(self) -> int:
        return len(self.n_rows)


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(ShownOnOneLine):
    """Selective risk, the error rate among the most trusted rows, at every coverage; `aurc` is its mean."""

    coverage: FloatArray
    risk: FloatArray
    aurc: float

    def thinned(self, most: int) -> RiskCoverage:
        """The curve with at most this many points."""
        n = len(self.risk)
        kept = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
        return RiskCoverage(self.coverage[kept], self.risk[kept], self.aurc)


def is_right(label: ArrayLike, y: ArrayLike) -> BoolArray:
    """Which labels are the true ones."""
    given, true = np.asarray(label), np.asarray(y)
    if given.shape != true.shape or true.ndim != 1:
        raise ValueError(f"There are {len(given):,} labels, but y has shape {true.shape}; give one entry per row.")
    if len(given) and _is_text(given) != _is_text(true):
        kinds = [f"{type(values[0]).__name__} such as {values[0]!s}" for values in (given, true)]
        raise ValueError(f"The labels are {kinds[0]}, but y contains {kinds[1]}; use the label type passed to fit.")
    return np.asarray(given == true, dtype=bool)


def outcomes_by_region(decisions: Any, regions: Regions, y: ArrayLike) -> RegionOutcomes:
    """Count right and wrong rows in every region."""
    right = is_right(decisions.label, y)
    ids, which, n_rows = np.unique(decisions.region, return_inverse=True, return_counts=True)
    n_right = np.bincount(which, weights=right, minlength=len(ids)).astype(np.int64)
    trust = np.bincount(which, weights=decisions.trust, minlength=len(ids)) / np.maximum(n_rows, 1)
    label = np.array([most_common(decisions.label[which == i]) for i in range(len(ids))], decisions.label.dtype)
    order = np.argsort(-n_rows, kind="stable")
    return RegionOutcomes(
        names=tuple(region_name(regions.model, int(region)) for region in ids[order]),
        region=ids[order],
        label=label[order],
        right=n_right[order],
        wrong=(n_rows - n_right)[order],
        trust=trust[order],
    )


def reliability_bins(correct: ArrayLike, trust: ArrayLike, n_bins: int = 10) -> Bins:
    """Bins of trust with about equally many rows; rows of equal trust are kept together."""
    check_number("n_bins", n_bins, least=1, whole=True)
    right, scores = check_ranking(correct, trust)
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    bins = _assign_bins(sizes, n_bins)[group]
    n_rows = np.bincount(bins)
    n_right = np.bincount(bins, weights=right)
    low, high = rate_interval(n_right, n_rows)
    return Bins(
        trust=np.bincount(bins, weights=scores) / n_rows,
        right=n_right / n_rows,
        low=low,
        high=high,
        n_rows=n_rows,
    )


def risk_coverage(correct: ArrayLike, trust: ArrayLike) -> RiskCoverage:
    """The risk-coverage curve of `sepc.metrics`, with the area under it."""
    coverage, risk = risk_coverage_curve(correct, trust)
    return RiskCoverage(coverage, risk, aurc(correct, trust))


def rows_to_review(decisions: Any, n: int) -> IntArray:
    """Positions of at most `n` rows that are not accepted, the least trusted first."""
    waiting = np.flatnonzero(~np.asarray(decisions.accepted))
    return waiting[np.argsort(np.asarray(decisions.trust)[waiting], kind="stable")][:n]


def most_common(labels: NDArray[Any]) -> Any:
    """The most frequent label; of ties, the first in sorted order."""
    values, counts = np.unique(labels, return_counts=True)
    return values[counts.argmax()]


def _assign_bins(sizes: IntArray, n_bins: int) -> IntArray:
    """Assign each group of tied rows to a bin: cut as evenly as ties allow, then merge bins that are too small."""
    ends = np.cumsum(sizes)
    share = ends[-1] / n_bins
    last = np.unique(np.searchsorted(0.5 * (ends[:-1] + ends[1:]), share * np.arange(1, n_bins)))
    bins = np.searchsorted(last, np.arange(len(sizes)))
    while bins[-1] > 0 and (n_rows := np.bincount(bins, weights=sizes)).min() < 0.5 * share:
        small = int(n_rows.argmin())
        is_left = small == bins[-1] or (small > 0 and n_rows[small - 1] <= n_rows[small + 1])
        bins[bins >= small + (not is_left)] -= 1
    return np.asarray(bins)


def _is_text(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "UST" or (values.dtype.kind == "O" and any(isinstance(value, str) for value in values))


# A class with a smaller share of the rows is rare.
RARE_SHARE = 0.05
# Of a class that is not rare, fewer wrong rows than this may be chance.
FEWEST_WRONG = 5
# Significance level for more errors than promised, divided among all classes (Bonferroni).
LEVEL = 0.05


@dataclass(frozen=True)
class Score:
    """How well a class is found among some rows."""

    n_true: int
    n_predicted: int
    n_right: int
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class ClassScore:
    """The scores of a class: among all rows, and among the accepted."""

    name: str
    all_rows: Score
    accepted: Score
    is_rare: bool

    @property
    def weakest(self) -> float:
        """The smaller of recall and precision over all rows, to sort by; 1 if there is neither."""
        return min((value for value in (self.all_rows.recall, self.all_rows.precision) if value is not None), default=1)

    @property
    def n_wrong_accepted(self) -> int:
        """How many of its accepted rows got another label."""
        return self.accepted.n_true - self.accepted.n_right

    @property
    def in_words(self) -> str:
        """How many of its accepted rows got another label."""
        share = percent(self.n_wrong_accepted / self.accepted.n_true)
        return f"{self.n_wrong_accepted:,} of {self.accepted.n_true:,} of {shown(self.name)} ({share})"


def class_scores(
    label: NDArray[Any], accepted: BoolArray, truth: NDArray[Any], classes: NDArray[Any]
) -> tuple[ClassScore, ...]:
    """The scores of every class, in the order of the classes."""

    def score(of_class: BoolArray, predicted: BoolArray) -> Score:
        n_true, n_predicted, n_right = int(of_class.sum()), int(predicted.sum()), int((of_class & predicted).sum())
        shares = (n_right / n if n else None for n in (n_true, n_predicted))
        return Score(n_true, n_predicted, n_right, *shares)

    scores = []
    for cls in classes:
        of_class, predicted = np.asarray(truth == cls), np.asarray(label == cls)
        both = score(of_class, predicted), score(of_class & accepted, predicted & accepted)
        scores.append(ClassScore(name_of(cls), *both, is_rare=bool(of_class.mean() < RARE_SHARE)))
    return tuple(scores)


def missed(scores: Sequence[ClassScore], promised: float | None = None) -> tuple[ClassScore, ...]:
    """The classes whose accepted rows mostly got another label, or more of them than promised and chance explains."""
    classes = [own for own in scores if own.all_rows.n_true]

    def is_missed(own: ClassScore) -> bool:
        n_found, n_rows = own.accepted.n_right, own.accepted.n_true
        if own.n_wrong_accepted >= (0 if own.is_rare else FEWEST_WRONG) and 2 * n_found < n_rows:
            return True
        found, rows = np.asarray(n_found), np.asarray(n_rows)
        return promised is not None and float(p_value(found, rows, 1.0 - promised)) <= LEVEL / len(classes)

    return tuple(own for own in classes if is_missed(own))


def warnings_of(missed_classes: Sequence[ClassScore], advice: str = "class_weight='balanced'") -> tuple[str, ...]:
    """A sentence for every class that is missed."""
    return tuple(
        f"{shown(own.name)} ({counted(own.all_rows.n_true, 'row')}) is missed: of its {own.accepted.n_true:,} accepted "
        f"rows, {own.n_wrong_accepted:,} got another label. Give it more weight, for example with {advice}."
        for own in missed_classes
    )
