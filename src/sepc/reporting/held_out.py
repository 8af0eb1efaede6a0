"""Held-out rows in numbers: how many are accepted and right, in all, by label, by cause and by trust."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.cards import Card
from sepc.decisions.decisions import Decisions
from sepc.decisions.kinds import Cause
from sepc.metrics import auroc, brier, ece
from sepc.statistics.binomial import rate_interval
from sepc.views.outcomes import reliability_bins, risk_coverage
from sepc.wording import name_of, percent

N_BARS = 20
# Longer curves are thinned out to this many points.
N_CURVE = 300
# At most this many labels unknown to the model are named.
NAMED_UNKNOWN = 5


@dataclass(frozen=True)
class HeldOut:
    """All held-out rows together; without true labels, figures that need them are None.

    Attributes
    ----------
    n_rows, n_accepted : int
    n_right, n_right_accepted : int or None
        Rows with the right label, among all rows and among the accepted ones.
    low, high : float or None
        Clopper and Pearson's 95 % interval of the share of accepted rows that are right; None if none is accepted.
    aurc, auroc, brier, ece : float or None
        See `sepc.metrics`; `auroc` is None also if all labels are right, or all wrong.
    n_unknown : int
        Rows whose true label the model does not know; they count as wrong.
    unknown : tuple of str
        Some of these labels.
    """

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
    """Rows with the same predicted label, or the same cause for not being accepted."""

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


@dataclass(frozen=True)
class Curves:
    """The risk-coverage curve, thinned out if long, and the bins of a reliability diagram."""

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    bin_trust: tuple[float, ...]
    bin_right: tuple[float, ...]
    bin_low: tuple[float, ...]
    bin_high: tuple[float, ...]
    bin_rows: tuple[int, ...]


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
    label = np.asarray(decisions.label)
    return tuple(_group(name_of(cls), label == cls, decisions, right) for cls in classes)


def by_cause(decisions: Decisions, right: BoolArray | None) -> tuple[Group, ...]:
    """Summarise the rows by each cause that occurs."""
    causes = decisions.cause
    return tuple(
        _group(cause.name, causes == cause, decisions, right, cause.meaning)
        for cause in Cause
        if (causes == cause).any()
    )


def _group(name: str, rows: BoolArray, decisions: Decisions, right: BoolArray | None, meaning: str = "") -> Group:
    accepted = rows & np.asarray(decisions.accepted)
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


def curves(right: ArrayLike, trust: FloatArray) -> Curves:
    """The risk-coverage curve and the reliability diagram."""
    curve, bins = risk_coverage(right, trust), reliability_bins(right, trust)
    n = len(curve.risk)
    shown = np.unique(np.linspace(0, n - 1, min(n, N_CURVE)).round().astype(np.int64))
    named = {f"bin_{name}": tuple(getattr(bins, name).tolist()) for name in ("trust", "right", "low", "high")}
    return Curves(
        tuple(curve.coverage[shown].tolist()),
        tuple(curve.risk[shown].tolist()),
        bin_rows=tuple(bins.n_rows.tolist()),
        **named,
    )


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
