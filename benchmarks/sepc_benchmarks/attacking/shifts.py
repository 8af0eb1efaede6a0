"""The error rate under another mix of regions: small and large regions, few rows, and regions without any.

Trust says nothing about errors; only regions do. Those that are wrong more often are more frequent in the target,
whose error rate is just above the promised one at every threshold if all regions are covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from sepc import SelectiveClassifier
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise
from sepc_benchmarks.attacking.levels import REGION, Array, Levels, frozen

ANOTHER_MIX = Promise(
    "error rate under another mix of regions",
    "howto/promises.md",
    "at most `max_risk` of the accepted rows are wrong, if regions are as frequent as in the target",
    "rows are independent; within a region, rows and labels are as in calibration",
)
# The true error rate in the target, as a multiple of the promised one.
ABOVE = 1.005


@dataclass(frozen=True, eq=False)
class Mixes:
    """The same levels as often as in calibration, and as often as in the target.

    Attributes
    ----------
    before, after : Levels
    promised : float
    """

    before: Levels
    after: Levels
    promised: float

    @classmethod
    def of(cls, promised: float, error: Any, share: Any, times: Any, trust: Any = 0.9) -> Mixes:
        """Regions of these sizes in calibration, and in the target so many times as often as another of their size.

        Errors are given in proportion. `trust` is one value for all rows, or several, which rows of any region have.
        """
        values = np.atleast_1d(trust)
        error, share, times = (np.repeat(one, len(values)).astype(float) for one in (error, share, times))
        before, after = share / share.sum(), share * times / (share @ times)
        levels = Levels.of(np.resize(values, len(share)), error * ABOVE * promised / (after @ error), before)
        levels.rows[:, REGION] = np.arange(len(share)) // len(values)
        return cls(levels, replace(levels, share=after), promised)

    def broken(self, accepted: Array) -> bool:
        """Whether more of the accepted levels are wrong than promised, or any that calibration cannot have."""
        return self.after.risk(accepted) > self.promised or bool(accepted[self.before.share == 0.0].any())


def fitted(rng: np.random.Generator, mixes: Mixes, X: Array, y: Array, X_target: Array | None) -> bool:
    """Make the promise, and say whether it is broken."""
    model, seed = frozen(0, 9, with_regions=True), int(rng.integers(2**31))
    selective = SelectiveClassifier(model, mixes.promised, random_state=seed).fit(X, y, X_target=X_target)
    return mixes.broken(selective.decide(mixes.after.rows).accepted)


def shifted(rng: np.random.Generator, mixes: Mixes, n: int, m: int) -> bool:
    """Calibration has `n` rows, and the target sample `m`."""
    return fitted(rng, mixes, *mixes.before.draw(rng, n), mixes.after.draw(rng, m)[0])


def calibration_is_the_target(rng: np.random.Generator, mixes: Mixes, n: int) -> bool:
    """The calibration rows are given again as the target, so that the two samples are as dependent as can be."""
    X, y = mixes.before.draw(rng, n)
    return fitted(rng, mixes, X, y, X)


def inside_regions(rng: np.random.Generator) -> bool:
    """Each of three regions has rows that are never wrong and others; the target has more of the others."""
    levels = Levels.of(0.9, [0.0, 0.1] * 3)
    levels.rows[:, REGION] = np.arange(6) // 2
    mixes = Mixes(levels, replace(levels, share=np.array([0.2, 0.8] * 3) / 3), 0.065)
    return shifted(rng, mixes, 2000, 4000)


def half_bad(n_regions: int, times: float, **options: Any) -> Mixes:
    """Regions of one size: every other one is never wrong, and the others are so many times as often in the target."""
    is_bad = np.arange(n_regions) % 2 == 0
    return Mixes.of(error=is_bad, share=np.ones(n_regions), times=np.where(is_bad, times, 1.0), **options)


THREE = Mixes.of(0.05, [1.0, 3.0, 12.0], [0.6, 0.3, 0.1], [1.0, 6.0, 36.0])
UNSEEN = Mixes.of(0.05, np.ones(10), np.ones(10), np.ones(10))
UNSEEN = replace(UNSEEN, before=replace(UNSEEN.before, share=np.repeat([0.0, 1.0 / 8.0], [2, 8])))
TIES = (0.4, 0.6, 0.9)
RANGE = np.linspace(0.5, 0.9999, 200)


def attacks() -> Iterator[Attack]:
    """All of them."""
    tries = {
        "bad ones of 60 regions four times as often": (half_bad(60, 4.0, promised=0.07), 6000, 4000),
        "bad ones of 60 regions four times as often, few rows": (half_bad(60, 4.0, promised=0.07), 1000, 2000),
        "three large regions": (THREE, 3000, 3000),
        "regions that calibration has not seen": (UNSEEN, 800, 2000),
        "a target sample of 30 rows": (half_bad(2, 3.0, promised=0.2), 400, 30),
        "60 calibration rows": (half_bad(2, 1.5, promised=0.1), 60, 2000),
        "a region 20 times as often": (Mixes.of(0.05, [1, 1, 9], [0.45, 0.45, 0.1], [1, 1, 20]), 3000, 2000),
        "no shift at all": (Mixes.of(0.05, np.ones(8), np.ones(8), np.ones(8)), 1000, 4000),
        "trust tied at three values": (half_bad(8, 3.0, promised=0.05, trust=TIES), 3000, 4000),
        "the whole range of trust": (half_bad(8, 3.0, promised=0.05, trust=RANGE), 3000, 4000),
        "a target in one region": (Mixes.of(0.05, [0, 1, 0], np.ones(3), [0, 1, 0]), 1200, 1000),
        "300 tiny regions": (half_bad(300, 2.0, promised=0.1), 3000, 4000),
    }
    for tried, (mixes, n, m) in tries.items():
        yield Attack(ANOTHER_MIX, tried, partial(shifted, mixes=mixes, n=n, m=m))
    again = partial(calibration_is_the_target, mixes=half_bad(20, 1.0, promised=0.1), n=1000)
    yield Attack(ANOTHER_MIX, "the calibration rows as target", again)
    yield Attack(ANOTHER_MIX, "a shift inside regions", inside_regions, kind=Kind.RULED_OUT)
