"""How often attacks broke their promise, and whether that is more often than promised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from sepc_benchmarks.attacking.attack import Attack, Kind, Promise

# A promise counts as broken below this adjusted p-value. A control is seen below it, too.
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Outcome:
    """How many draws of an attack broke its promise."""

    attack: Attack
    n_draws: int
    n_broken: int

    @property
    def p_value(self) -> float:
        """The chance of so many broken draws, or more, if the promise is just kept."""
        return float(binomtest(self.n_broken, self.n_draws, self.attack.level, alternative="greater").pvalue)

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's 95 % interval of the share of broken draws."""
        ends = binomtest(self.n_broken, self.n_draws).proportion_ci(0.95, method="exact")
        return float(ends.low), float(ends.high)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number, by Holm's method."""
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(np.asarray(p_values, dtype=float)[order] * factors), 1.0)
    return adjusted.tolist()


def other_records(outcomes: Sequence[Outcome], kind: Kind) -> list[dict[str, Any]]:
    """A row for each control, or for each attack that is ruled out."""
    family = [one for one in outcomes if one.attack.kind is kind]
    return [_counts(one) | {"p": one.p_value, "seen": "yes" if one.p_value < SIGNIFICANT else "no"} for one in family]


def promise_records(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row for each promise: what was tried on it, and the attack that came nearest to breaking it."""
    family = [one for one in outcomes if one.attack.kind is Kind.ATTACK]
    adjusted = dict(zip(map(id, family), holm([one.p_value for one in family]), strict=True))
    records = []
    for promise in dict.fromkeys(one.attack.promise for one in family):
        own = [one for one in family if one.attack.promise == promise]
        worst = min(own, key=lambda one: one.p_value)
        records.append(_promise(promise, own) | _worst(worst) | {"p, Holm": adjusted[id(worst)]})
    return records


def _promise(promise: Promise, own: Sequence[Outcome]) -> dict[str, Any]:
    head = {"promise": f"[{promise.name}](../{promise.page})", "what is promised": promise.says}
    return head | {"if": promise.assumes, "attacks": len(own), "draws": sum(one.n_draws for one in own)}


def _worst(worst: Outcome) -> dict[str, Any]:
    counts = _counts(worst)
    shown = ("allowed %", "broken %", "95 % interval")
    return {"nearest to breaking it": worst.attack.tried} | {name: counts[name] for name in shown}


def _counts(outcome: Outcome) -> dict[str, Any]:
    low, high = outcome.interval
    return {
        "promise": outcome.attack.promise.name,
        "tried": outcome.attack.tried,
        "allowed %": 100 * outcome.attack.level,
        "draws": outcome.n_draws,
        "broken": outcome.n_broken,
        "broken %": 100 * outcome.n_broken / outcome.n_draws,
        "95 % interval": f"{100 * low:.1f} to {100 * high:.1f}",
    }
