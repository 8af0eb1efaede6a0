"""Held-out rows in numbers: accepted and right in all, by label, by class, by cause and by threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card
from sepc.decisions.decisions import Decisions, positions_of
from sepc.decisions.kinds import Cause
from sepc.metrics import auroc, brier, ece
from sepc.statistics.rates import rate_interval
from sepc.views.outcomes import risk_coverage
from sepc.wording import name_of, percent

N_BARS = 20
# At most this many labels unknown to the model are named.
NAMED_UNKNOWN = 5


@dataclass(frozen=True)
class HeldOut:
    """All held-out rows together; without true labels, figures that need them are None."""

    n_rows: int
    n_accepted: int
    n_right: int | None = None
    n_right_accepted: int | None = None
    low: float | None = None
    high: float | None = None
    aurc: float | None = None
    auroc: float | None = None
    brier: float | None = None
    ece: float | None = None
    n_unknown: int = 0
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Rows with the same predicted label, cause for not being accepted, or value of a column."""

    name: str
    n_rows: int
    n_accepted: int
    n_right: int | None
    n_right_accepted: int | None
    meaning: str = ""


@dataclass(frozen=True)
class Histogram:
    """A histogram of trust over [0, 1], of right and wrong rows; without labels, of accepted and other rows."""

    names: tuple[str, str]
    first: tuple[int, ...]
    second: tuple[int, ...]


def held_out(decisions: Decisions, right: BoolArray | None, y: NDArray[Any] | None, classes: NDArray[Any]) -> HeldOut:
    """Summarise all rows together."""
    accepted = np.asarray(decisions.accepted)
    if right is None or y is None:
        return HeldOut(len(accepted), int(accepted.sum()))
    n_accepted, n_right_accepted = int(accepted.sum()), int((right & accepted).sum())
    low, high = map(float, rate_interval(n_right_accepted, n_accepted)) if n_accepted else (None, None)
    ranks = auroc(right, decisions.trust)
    known = set(classes.tolist())
    strange = [label for label in y.tolist() if label not in known]
    return HeldOut(
        len(accepted),
        n_accepted,
        int(right.sum()),
        n_right_accepted,
        low,
        high,
        aurc=risk_coverage(right, decisions.trust).aurc,
        auroc=None if np.isnan(ranks) else ranks,
        brier=brier(right, decisions.trust),
        ece=ece(right, decisions.trust),
        n_unknown=len(strange),
        unknown=tuple(name_of(label) for label in list(dict.fromkeys(strange))[:NAMED_UNKNOWN]),
    )


def by_label(decisions: Decisions, right: BoolArray | None, classes: NDArray[Any]) -> tuple[Group, ...]:
    """Summarise the rows by predicted label, in the order of the classes."""
    label, accepted = np.asarray(decisions.label), np.asarray(decisions.accepted)
    return tuple(group_of(name_of(cls), label == cls, accepted, right) for cls in classes)


def by_cause(decisions: Decisions, right: BoolArray | None) -> tuple[Group, ...]:
    """Summarise the rows by each cause that occurs."""
    causes, accepted = decisions.cause, np.asarray(decisions.accepted)
    return tuple(
        group_of(cause.name, causes == cause, accepted, right, cause.meaning)
        for cause in Cause
        if (causes == cause).any()
    )


def group_of(name: str, rows: BoolArray, accepted: BoolArray, right: BoolArray | None, meaning: str = "") -> Group:
    """Count the rows that are accepted and right."""
    accepted = rows & accepted
    n_right, n_right_accepted = (
        (None, None) if right is None else (int((right & chosen).sum()) for chosen in (rows, accepted))
    )
    return Group(name, int(rows.sum()), int(accepted.sum()), n_right, n_right_accepted, meaning)


def histogram(decisions: Decisions, right: BoolArray | None) -> Histogram:
    """Count rows by trust."""
    first = np.asarray(decisions.accepted) if right is None else right
    names = ("accepted", "not accepted") if right is None else ("right", "wrong")
    return Histogram(names, _bars(decisions.trust, first), _bars(decisions.trust, ~first))


def _bars(trust: FloatArray, rows: BoolArray) -> tuple[int, ...]:
    return tuple(np.histogram(trust[rows], bins=N_BARS, range=(0.0, 1.0))[0].tolist())


def held_out_card(title: str, estimator: str, figures: HeldOut, groups: Sequence[Group]) -> Card:
    """The short view of a report: rows accepted and right, in all and by cause, or by label if there are no causes."""
    by_cause = any(group.meaning for group in groups)
    head = ["outcome" if by_cause else "label", "rows", *([] if figures.n_right is None else ["right"])]
    head += ["meaning"] if by_cause else []
    rows = tuple(_card_cells(group) for group in sorted(groups, key=lambda group: -group.n_rows))
    facts = (("model", estimator), *_card_facts(figures))
    return Card(f"Report: {title}", facts, tuple(head), rows, "All figures: to_dict()")


def _card_facts(figures: HeldOut) -> list[tuple[str, str]]:
    n, n_accepted = figures.n_rows, figures.n_accepted
    facts = [("held-out rows", f"{n:,}"), ("accepted", f"{n_accepted:,} ({percent(n_accepted / n)})")]
    if figures.n_right is None or figures.n_right_accepted is None:
        return [*facts, ("right", "not known without y")]
    if figures.low is not None and figures.high is not None:
        share = percent(figures.n_right_accepted / n_accepted)
        interval = f"95 % interval {percent(figures.low)} to {percent(figures.high)}"
        facts.append(("right among accepted", f"{figures.n_right_accepted:,} ({share}; {interval})"))
    return [*facts, ("right among all", f"{figures.n_right:,} ({percent(figures.n_right / n)})")]


def _card_cells(group: Group) -> tuple[str, ...]:
    right = () if group.n_right is None else (f"{group.n_right:,}",)
    meaning = (group.meaning,) if group.meaning else ()
    return (group.name.lower() if meaning else group.name, f"{group.n_rows:,}", *right, *meaning)


# Pairs listed.
N_PAIRS = 12
# With more classes than this there is no matrix, only the pairs.
MOST_CLASSES = 40
# The row for all true labels that are not classes of the model.
UNKNOWN = "other labels"

Matrix: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ConfusedPair:
    """Two labels that are confused with each other."""

    first: str
    second: str
    n_forth: int
    n_back: int
    n_accepted: int

    @property
    def n_rows(self) -> int:
        """All rows of either label that were predicted as the other."""
        return self.n_forth + self.n_back


@dataclass(frozen=True)
class Confusion:
    """Rows by true and predicted label."""

    classes: tuple[str, ...]
    truths: tuple[str, ...]
    counts: Matrix
    accepted: Matrix
    pairs: tuple[ConfusedPair, ...]
    n_pairs: int


def confusion_of(label: NDArray[Any], accepted: BoolArray, y: NDArray[Any], classes: NDArray[Any]) -> Confusion:
    """Count rows by true and predicted label."""
    given, true = positions_of(label, classes), _positions(y, classes)
    names = tuple(map(name_of, classes))
    truths = (*names, UNKNOWN) if (true == len(classes)).any() else names
    pairs = _pairs(given, true, accepted, names)
    every, is_small = np.ones(len(label), dtype=bool), len(classes) <= MOST_CLASSES

    def matrix(rows: BoolArray) -> Matrix:
        return _matrix(given[rows], true[rows], len(truths), len(names)) if is_small else ()

    return Confusion(names, truths, matrix(every), matrix(accepted), pairs[:N_PAIRS], len(pairs))


def _positions(y: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """The position of each true label among the classes; one past the last if it is not among them."""
    known = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([known.get(label, len(classes)) for label in y.tolist()], dtype=np.int64)


def _matrix(given: IntArray, true: IntArray, n_truths: int, n_classes: int) -> Matrix:
    counts = np.bincount(true * n_classes + given, minlength=n_truths * n_classes)
    return tuple(map(tuple, counts.reshape(n_truths, n_classes).tolist()))


def _pairs(given: IntArray, true: IntArray, accepted: BoolArray, names: tuple[str, ...]) -> tuple[ConfusedPair, ...]:
    """Every pair of known labels that is confused, the most frequent first."""
    wrong = (given != true) & (true < len(names))
    found: dict[tuple[int, int], list[int]] = {}
    for one, other, taken in zip(true[wrong].tolist(), given[wrong].tolist(), accepted[wrong].tolist(), strict=True):
        pair = found.setdefault((min(one, other), max(one, other)), [0, 0, 0])
        pair[one > other] += 1
        pair[2] += taken
    pairs = [ConfusedPair(names[i], names[j], *numbers) for (i, j), numbers in sorted(found.items())]
    return tuple(sorted(pairs, key=lambda pair: (-pair.n_rows, -pair.n_accepted)))


# Thresholds of the short table, beside the one in use.
SHORT = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)


@dataclass(frozen=True)
class Thresholds:
    """Rows that reach each threshold of trust, from the lowest threshold to the highest."""

    at: tuple[float, ...]
    n_accepted: tuple[int, ...]
    n_right: tuple[int, ...] | None
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None
    now: int
    is_exact: bool
    n_rows: int

    def short(self) -> list[int]:
        """Positions of the thresholds that a short table shows."""
        return sorted({int(np.argmin(np.abs(np.subtract(self.at, value)))) for value in SHORT} | {self.now})


def thresholds_of(trust: FloatArray, accepted: BoolArray, right: BoolArray | None, least: float) -> Thresholds:
    """Count the rows that reach each threshold."""
    is_exact = bool(((trust >= least) == accepted).all())
    if not is_exact:
        least = float(trust[accepted].min(initial=1.0))
    # Steps of a hundredth, and of a thousandth above 0.9, where most thresholds are.
    steps = np.concatenate([np.arange(90) / 100.0, 0.9 + np.arange(101) / 1000.0]).round(3)
    at = np.unique(np.append(steps, least))
    order = np.sort(trust)
    n_accepted = len(trust) - np.searchsorted(order, at)
    n_right = low = high = None
    if right is not None:
        hits = int(right.sum()) - np.searchsorted(np.sort(trust[right]), at)
        ends = rate_interval(hits, np.maximum(n_accepted, 1))
        low, high = (
            tuple(np.where(n_accepted > 0, end, empty).tolist()) for end, empty in zip(ends, (0.0, 1.0), strict=True)
        )
        n_right = tuple(hits.tolist())
    now = int(np.searchsorted(at, least))
    is_exact = is_exact or bool(((trust >= at[now]) == accepted).all())
    return Thresholds(tuple(at.tolist()), tuple(n_accepted.tolist()), n_right, low, high, now, is_exact, len(trust))
