"""The error rate of accepted rows: trust of every kind, and calibration sets from five rows to 100,000.

Wherever it can be, the true error rate is just above the promised one at every threshold, so that a promise that is
made at all is broken, and a right implementation breaks it nearly as often as it may.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sepc import SelectiveClassifier
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise
from sepc_benchmarks.attacking.levels import Levels, ReadsItsRows, frozen

OVERALL = Promise(
    "error rate",
    "howto/promises.md",
    "at most `max_risk` of the accepted rows are wrong",
    "rows are independent, later ones like those of calibration",
)
# Just above the 2 % that are promised.
ABOVE = 0.0201


def broken(selective: SelectiveClassifier, levels: Levels) -> bool:
    """Whether more of the levels that are accepted are wrong than promised."""
    assert isinstance(selective.max_risk, float)
    return levels.risk(selective.decide(levels.rows).accepted) > selective.max_risk


def calibrated(
    rng: np.random.Generator, levels: Levels, n: int, max_risk: float = 0.02, confidence: float = 0.95
) -> bool:
    """A frozen model; all rows are calibration rows."""
    selective = SelectiveClassifier(frozen(0, 9), max_risk, confidence)
    return broken(selective.fit(*levels.draw(rng, n)), levels)


def split(rng: np.random.Generator, levels: Levels, n: int, order: str = "") -> bool:
    """A model that is fitted on one part of the rows; these may be sorted."""
    X, y = levels.draw(rng, n)
    keys = {"": np.arange(n), "wrong first": y != 9, "wrong last": y == 9, "by trust": X[:, 1]}
    rows = np.argsort(keys[order], kind="stable")
    selective = SelectiveClassifier(ReadsItsRows(), random_state=int(rng.integers(2**31)))
    return broken(selective.fit(X[rows], y[rows]), levels)


def one_label_but_for_few(rng: np.random.Generator) -> bool:
    """Training may hold one label only, and goes on until it meets a second one; calibration has what is left."""
    levels = Levels.of(0.9, 0.0505)
    selective = SelectiveClassifier(ReadsItsRows(), 0.05, calibration_size=0.75, random_state=int(rng.integers(2**31)))
    return broken(selective.fit(*levels.draw(rng, 80)), levels)


def copied_ten_times(rng: np.random.Generator) -> bool:
    """Every calibration row is there ten times, so that 40 rows look like 400."""
    X, y = CONSTANT.draw(rng, 40)
    return broken(SelectiveClassifier(frozen(0, 9)).fit(np.repeat(X, 10, axis=0), np.repeat(y, 10)), CONSTANT)


def always_the_same_split(rng: np.random.Generator) -> bool:
    """Wrong rows are last, and the seed is always the same, an unlucky one: so are the rows that calibrate."""
    X, y = CONSTANT.draw(rng, 772)
    order = np.argsort(y, kind="stable")
    return broken(SelectiveClassifier(ReadsItsRows(), random_state=11).fit(X[order], y[order]), CONSTANT)


def upside_down(rng: np.random.Generator) -> bool:
    """The top tenth is wrong twice as often as the others, all of them together just too often."""
    error = np.where(np.arange(100) < 90, (ABOVE - 0.1 * 0.036) / 0.9, 0.036)
    return calibrated(rng, Levels.of(np.linspace(0.5, 0.999, 100), error), 1000)


def crossing(rng: np.random.Generator) -> bool:
    """Errors fall as trust rises, as they should; the promise holds for the upper part of the rows only."""
    trust = np.linspace(0.5, 0.999, 500)
    return calibrated(rng, Levels.of(trust, 0.3 * (1.0 - trust)), 3000)


CONSTANT = Levels.of(0.9, ABOVE)
MANY = Levels.of(np.linspace(0.5, 0.9999, 1000), ABOVE)
SIZES = {
    # With this many rows, a promise can be made with no error or with few, and the test is nearly exact.
    "5 rows, 50 % promised": (5, 0.5),
    "30 rows, 10 % promised": (30, 0.1),
    "60 rows, 5 % promised": (60, 0.05),
}


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, OVERALL)
    yield make("constant trust", partial(calibrated, levels=CONSTANT, n=386))
    yield make("trust tied at two values", partial(calibrated, levels=Levels.of([0.6, 0.9], ABOVE), n=772))
    yield make("trust tied at three values", partial(calibrated, levels=Levels.of([0.4, 0.6, 0.9], ABOVE), n=1158))
    yield make("the whole range of trust", partial(calibrated, levels=MANY, n=2000))
    yield make("the most trusted tenth wrong more often", upside_down)
    yield make("errors fall with trust", crossing)
    for tried, (n, most) in SIZES.items():
        yield make(tried, partial(calibrated, levels=Levels.of(0.9, 1.005 * most), n=n, max_risk=most))
    yield make("100,000 rows", partial(calibrated, levels=Levels.of([0.6, 0.9], 0.02002), n=100_000))
    yield make("confidence 50 %", partial(calibrated, levels=MANY, n=2000, confidence=0.5), allowed=0.5)
    yield make("confidence 99 %", partial(calibrated, levels=CONSTANT, n=500, confidence=0.99), allowed=0.01)
    for order in ("wrong first", "wrong last", "by trust"):
        levels = Levels.of([0.6, 0.9], ABOVE)
        yield make(f"rows sorted, {order}", partial(split, levels=levels, n=1544, order=order))
    yield make("80 rows, few of a second label", one_label_but_for_few)
    yield make("every calibration row ten times", copied_ten_times, kind=Kind.RULED_OUT)
    yield make("wrong rows last, always the same seed", always_the_same_split, kind=Kind.RULED_OUT)
