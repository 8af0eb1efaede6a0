"""An error rate in every group, and that abstaining does no harm: many groups, small ones, new ones, and ties.

Wherever it can be, rows of a group are wrong just more often than promised at every threshold, so that a promise that
is made for it is broken; and accepted rows are wrong exactly as often as refused ones, so that to say "no harm" is
false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from sepc import SelectiveClassifier
from sepc.statistics.rates import rows_needed
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise
from sepc_benchmarks.attacking.levels import GROUP, LABEL, Array, Levels, ReadsItsRows, frozen

GROUPS = Promise(
    "error rate in every group",
    "howto/promises.md",
    "at most `max_risk` of the accepted rows of each group are wrong, for all groups together",
    "rows of a group are independent, later ones like those of calibration",
)
NO_HARM = Promise(
    "no harm",
    "howto/promises.md",
    "where no harm is said, accepted rows of that group are wrong less often than refused ones",
    "rows of a group are independent, later ones like those of calibration",
)
# Just above the 2 % or 5 % that are promised.
ABOVE, ABOVE_FIVE = 0.0201, 0.0505
# Rates that are equal but for rounding count as equal.
ROUNDING = 1e-9
# Stands for a group that is not known; no row has it where it does not.
UNKNOWN = -1
NEW = 7


def broken(accepted: Array, levels: Levels, max_risk: float, parents: Mapping[int, int] | None = None) -> bool:
    """Whether more of the accepted levels of any group are wrong than promised."""
    group = np.array([(parents or {}).get(int(one), one) for one in levels.rows[:, GROUP]])
    return any(levels.risk(accepted & (group == one)) > max_risk for one in np.unique(group))


def calibrated(
    rng: np.random.Generator, levels: Levels, n: int, max_risk: float = 0.02, confidence: float = 0.95, **options: Any
) -> bool:
    """A frozen model; all rows are calibration rows."""
    selective = SelectiveClassifier(frozen(0, 9), max_risk, confidence, by=GROUP, **options)
    accepted = selective.fit(*levels.draw(rng, n)).decide(levels.rows).accepted
    return broken(accepted, levels, max_risk, options.get("parents"))


def sorted_rows(rng: np.random.Generator) -> bool:
    """Rows sorted by group, wrong ones last, given to a model that has to be fitted."""
    X, y = TWO.draw(rng, 1880)
    order = np.lexsort((y != X[:, LABEL], X[:, GROUP]))
    selective = SelectiveClassifier(ReadsItsRows(), by=GROUP, random_state=int(rng.integers(2**31)))
    return broken(selective.fit(X[order], y[order]).decide(TWO.rows).accepted, TWO, 0.02)


def two_columns(rng: np.random.Generator) -> bool:
    """Groups are pairs of values of two columns that the model does not see."""
    X, y = FOUR.draw(rng, 860)
    selective = SelectiveClassifier(frozen(0, 9), 0.05, by=["half", "side"]).fit(X, y, groups=pairs(X))
    return broken(selective.decide(FOUR.rows, groups=pairs(FOUR.rows)).accepted, FOUR, 0.05)


def pairs(X: Array) -> dict[str, Array]:
    """Columns whose pairs of values are the groups."""
    return {"half": X[:, GROUP] // 2, "side": np.where(X[:, GROUP] % 2, "left", "right")}


def not_known(rng: np.random.Generator) -> bool:
    """The group of every other row is missing, as None or as NaN; rows with and without one are wrong too often."""
    levels = Levels.of(0.9, ABOVE, group=[0, UNKNOWN])
    X, y = levels.draw(rng, 940)
    selective = SelectiveClassifier(frozen(0, 9), by="group").fit(X, y, groups=with_gaps(rng, X))
    return broken(selective.decide(levels.rows, groups=with_gaps(rng, levels.rows)).accepted, levels, 0.02)


def with_gaps(rng: np.random.Generator, X: Array) -> Array:
    """The groups, with missing values for the one that is not known."""
    missing = np.array([None, np.nan], dtype=object)[rng.integers(2, size=len(X))]
    return np.where(X[:, GROUP] == UNKNOWN, missing, X[:, GROUP].astype(object))


def met_later(rng: np.random.Generator) -> bool:
    """Rows of a group that calibration has not seen; to accept any breaks the promise."""
    levels = Levels.of(0.9, 0.001, group=[0, 1])
    selective = SelectiveClassifier(frozen(0, 9), by=GROUP).fit(*levels.draw(rng, 1000))
    return bool(selective.decide(Levels.of(np.linspace(0.5, 1.0, 50), 0.5, group=NEW).rows).accepted.any())


def small(rng: np.random.Generator, n_each: int) -> bool:
    """Twenty small groups, no row of which is wrong; to accept any with too few rows for a promise breaks it."""
    share = np.array([0.5] + 20 * [0.5 / 20])
    levels = Levels.of(0.9, 0.0, share, group=range(21))
    X, y = levels.draw(rng, 40 * n_each)
    selective = SelectiveClassifier(frozen(0, 9), 0.05, by=GROUP).fit(X, y)
    is_small = np.bincount(X[:, GROUP].astype(np.int64), minlength=21) < rows_needed(0.05, 0.95)
    return bool(selective.decide(levels.rows[is_small]).accepted.any())


def upside_down(rng: np.random.Generator, one_threshold: bool) -> bool:
    """In one group errors fall with trust; in the other the top tenth is wrong more often, all just too often."""
    trust = np.linspace(0.5, 0.999, 100)
    error = np.where(np.arange(100) < 90, (ABOVE - 0.1 * 0.036) / 0.9, 0.036)
    levels = Levels.of(np.tile(trust, 2), np.append(0.02 * (1.0 - trust), error), group=np.repeat([0, 1], 100))
    return calibrated(rng, levels, 2000, one_threshold=one_threshold)


def smallest_joins(rng: np.random.Generator) -> bool:
    """Of twenty groups, always wrong, that of which calibration happens to have fewest rows joins the large one."""
    X, y = MANY_SMALL.draw(rng, 206)
    counts = np.bincount(X[:, GROUP].astype(np.int64), minlength=21)
    parents = {1 + int(np.argmin(counts[1:])): 0}
    selective = SelectiveClassifier(frozen(0, 9), 0.05, by=GROUP, parents=parents).fit(X, y)
    return broken(selective.decide(MANY_SMALL.rows).accepted, MANY_SMALL, 0.05, parents)


def met_later_untold(rng: np.random.Generator) -> bool:
    """All groups share a threshold, and `decide` is not told that rows are of a group that calibration has not seen."""
    X, y = Levels.of(0.9, 0.001, group=[0, 1]).draw(rng, 1000)
    selective = SelectiveClassifier(frozen(0, 9), by="group", one_threshold=True).fit(X, y, groups=X[:, GROUP])
    later = Levels.of(0.9, ABOVE, group=NEW)
    return broken(selective.decide(later.rows).accepted, later, 0.02)


def harmed(selective: SelectiveClassifier, levels: Levels) -> bool:
    """Whether no harm is said of a group whose accepted levels are wrong no less often than its refused ones."""
    accepted, group = selective.decide(levels.rows).accepted, levels.rows[:, GROUP]
    assert selective.promise_.groups is not None
    said = [key for key, harm in selective.promise_.groups.no_harm.items() if harm.is_shown]
    own = [(accepted & (group == one), ~accepted & (group == one)) for one in said]
    return any(levels.risk(kept) >= levels.risk(refused) - ROUNDING for kept, refused in own)


def said_of_frozen(
    rng: np.random.Generator, levels: Levels, n: int, max_risk: float, confidence: float = 0.95, **options: Any
) -> bool:
    """A frozen model, with 200 thresholds."""
    selective = SelectiveClassifier(frozen(0, 9), max_risk, confidence, by=GROUP, **options)
    return harmed(selective.fit(*levels.draw(rng, n)), levels)


def said_of_ties(rng: np.random.Generator) -> bool:
    """A model that is fitted and whose trust has two values, so that there are two thresholds."""
    levels = Levels.of(np.tile([0.6, 0.9], 3), [0.3, 0.01, *4 * [0.02]], group=np.repeat([0, 1, 2], 2))
    seed = int(rng.integers(2**31))
    selective = SelectiveClassifier(ReadsItsRows(), 0.05, 0.5, by=GROUP, one_threshold=True, random_state=seed)
    return harmed(selective.fit(*levels.draw(rng, 3000)), levels)


def led_by_another(error: Any, n_groups: int = 1) -> Levels:
    """Errors of one group fall with trust so that it asks for a threshold in the middle; other groups have these."""
    trust, others = np.linspace(0.5, 0.999, 100), np.tile(np.broadcast_to(error, 100), n_groups)
    group = np.repeat(np.arange(1 + n_groups), 100)
    return Levels.of(np.tile(trust, 1 + n_groups), np.append(1.2 * (1.0 - trust), others), group=group)


TWO = Levels.of(0.9, ABOVE, group=[0, 1])
FOUR = Levels.of(0.9, ABOVE_FIVE, group=range(4))
TEN = Levels.of(0.9, 0.201, group=range(10))
TEN_BUT_ONE = Levels.of(0.9, [0.201, *9 * [0.0]], group=range(10))
UNEQUAL = Levels.of(
    np.tile([0.6, 0.9], 4), ABOVE_FIVE, np.repeat([0.7, 0.2, 0.06, 0.04], 2) / 2, group=np.arange(8) // 2
)
ONE_TOO_OFTEN = Levels.of(0.9, [0.0, ABOVE], group=[0, 1])
BOTH_FALL = Levels.of(
    np.tile(np.linspace(0.5, 0.999, 250), 2),
    np.append(0.15 * np.linspace(0.5, 0.001, 250), 0.3 * np.linspace(0.5, 0.001, 250)),
    group=np.repeat([0, 1], 250),
)
JOINED = Levels.of(0.9, [ABOVE, ABOVE, 0.0, 2 * ABOVE], group=range(4))
# Each of the small groups, all of whose rows are wrong, would take the large one just above 5 %.
SMALL_SHARE = ABOVE_FIVE / (1.0 - ABOVE_FIVE)
MANY_SMALL = Levels.of(
    0.9, [0.0] + 20 * [1.0], np.array([1.0] + 20 * [SMALL_SHARE]) / (1.0 + 20 * SMALL_SHARE), group=range(21)
)
# Three groups, wrong less often than the 5 % that are promised, whatever the trust.
FLAT = Levels.of(np.tile(np.linspace(0.5, 0.999, 100), 3), 0.035, group=np.repeat([0, 1, 2], 100))
# Ten groups whose accepted rows are wrong exactly as often as their refused ones.
TEN_LED = led_by_another(0.02, 10)


def attacks() -> Iterator[Attack]:
    """All of them."""
    make = partial(Attack, GROUPS)
    yield make("two groups, constant trust", partial(calibrated, levels=TWO, n=940))
    yield make("ten groups", partial(calibrated, levels=TEN, n=600, max_risk=0.2))
    yield make("four groups, the smallest 4 % of rows", partial(calibrated, levels=UNEQUAL, n=3000, max_risk=0.05))
    yield make("groups that are just large enough, or not", partial(calibrated, levels=FOUR, n=380, max_risk=0.05))
    yield make("groups that are pairs of two columns", two_columns)
    yield make("rows sorted by group, wrong last", sorted_rows)
    one = partial(calibrated, one_threshold=True)
    yield make("one threshold, one of two groups wrong too often", partial(one, levels=ONE_TOO_OFTEN, n=840))
    yield make(
        "one threshold, one of ten groups wrong too often", partial(one, levels=TEN_BUT_ONE, n=420, max_risk=0.2)
    )
    yield make("one threshold, errors fall with trust", partial(one, levels=BOTH_FALL, n=4000))
    yield make("a threshold a group, errors fall with trust", partial(calibrated, levels=BOTH_FALL, n=4000))
    for one_threshold in (False, True):
        words = "one threshold, " if one_threshold else ""
        tried = f"{words}trust upside down in one of two groups"
        yield make(tried, partial(upside_down, one_threshold=one_threshold))
    for n_each in (10, 50):
        yield make(f"twenty groups of about {n_each} rows, none wrong", partial(small, n_each=n_each))
    joined = partial(calibrated, parents={2: NEW, 3: NEW})
    yield make("two groups join a new one, as fixed in advance", partial(joined, levels=JOINED, n=1020))
    yield make("a group that calibration has not seen", met_later)
    yield make("the group of every other row missing", not_known)
    yield make("the group with fewest rows joins another", smallest_joins, kind=Kind.RULED_OUT)
    yield make("a new group, not told", met_later_untold, kind=Kind.RULED_OUT)
    make = partial(Attack, NO_HARM)
    flat = partial(said_of_frozen, levels=FLAT, n=6000, max_risk=0.05)
    yield make("three groups wrong alike, whatever the trust", flat)
    yield make("three groups wrong alike, confidence 50 %", partial(flat, confidence=0.5), allowed=0.5)
    led = partial(said_of_frozen, n=3000, max_risk=0.2, one_threshold=True)
    yield make("one threshold, which another group asks for", partial(led, levels=led_by_another(0.02)))
    yield make("one threshold, ten groups wrong alike", partial(led, levels=TEN_LED, n=6600))
    crossed = led_by_another(np.where(np.arange(100) < 50, 0.019, 0.021))
    yield make("one threshold, accepted rows wrong more often", partial(led, levels=crossed))
    yield make("trust tied at two values, confidence 50 %", said_of_ties, allowed=0.5)
