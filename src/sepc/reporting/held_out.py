"""What an estimator did on held-out rows, in numbers: accepted and right, by label, by cause, by trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.decisions.decisions import Decisions
from sepc.decisions.kinds import Cause
from sepc.metrics import auroc, brier, ece
from sepc.statistics.binomial import rate_interval
from sepc.views.outcomes import reliability_bins, risk_coverage
from sepc.wording import name_of

N_BARS = 20
# A longer curve is drawn through so many of its points.
N_CURVE = 300
# So many labels that the model does not know are named.
NAMED_UNKNOWN = 5


@dataclass(frozen=True)
class HeldOut:
    """Held-out rows together. What needs their true labels is None without them.

    Attributes
    ----------
    n_rows, n_accepted : int
    n_right, n_right_accepted : int or None
        Rows with the right label, among all and among the accepted.
    low, high : float or None
        Clopper and Pearson's 95 % interval of the share that is right among the accepted; None if there are none.
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
    """Rows that have something in common: their label, or the cause for which they were not accepted."""

    name: str
    n_rows: int
    n_accepted: int
    n_right: int | None
    n_right_accepted: int | None
    meaning: str = ""


@dataclass(frozen=True)
class Histogram:
    """Rows by trust, in bars of one width from 0 to 1: right and wrong ones, or accepted and not without labels."""

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
    """The figures of all rows together."""
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
    """The rows that were given each label, in the order of the classes."""
    label = np.asarray(decisions.label)
    return tuple(_group(name_of(one), label == one, decisions, right) for one in classes)


def by_cause(decisions: Decisions, right: BoolArray | None) -> tuple[Group, ...]:
    """The rows of each cause that occurs."""
    causes = decisions.cause
    return tuple(
        _group(cause.name, causes == cause, decisions, right, cause.meaning)
        for cause in Cause
        if (causes == cause).any()
    )


def _group(name: str, rows: BoolArray, decisions: Decisions, right: BoolArray | None, meaning: str = "") -> Group:
    accepted = rows & np.asarray(decisions.accepted)
    n_right, n_right_accepted = (
        (None, None) if right is None else (int((right & one).sum()) for one in (rows, accepted))
    )
    return Group(name, int(rows.sum()), int(accepted.sum()), n_right, n_right_accepted, meaning)


def histogram(decisions: Decisions, right: BoolArray | None) -> Histogram:
    """Rows by trust."""
    first = np.asarray(decisions.accepted) if right is None else right
    names = ("accepted", "not accepted") if right is None else ("right", "wrong")
    return Histogram(names, _bars(decisions.trust, first), _bars(decisions.trust, ~first))


def _bars(trust: FloatArray, rows: BoolArray) -> tuple[int, ...]:
    return tuple(np.histogram(trust[rows], bins=N_BARS, range=(0.0, 1.0))[0].tolist())


def curves(right: ArrayLike, trust: FloatArray) -> Curves:
    """How trust ranks errors, and how well it predicts them."""
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
