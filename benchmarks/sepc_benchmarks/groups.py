"""How often a promise is broken in some group: 1,000 calibration samples of each of seven populations, beside MAPIE.

An `SEPClassifier` is fitted once: on 4,000 rows of adult, or on 300 of german_credit_numeric. The other rows, at most
24,000, are the population; a calibration sample is 6,000 rows of it for adult and 700 for german_credit_numeric, drawn
with replacement. The groups of adult are those of its columns sex and race. In german_credit_numeric, a10 is the age,
and code 2 of a07 is female, the others male. Two more populations are made, so that their error rates are known: in
one, a minority is wrong far more often than its trust says; in the other, six groups of very unequal sizes are wrong
just more often than promised, whatever the trust, so that every promise made is broken.

Thresholds: "each" group has its own, "one" is for all groups, "none" is the ordinary promise over all rows. "above"
says how often accepted rows of a group, or of any, are wrong more often than the promised rate. MAPIE's controller gets
one group at a time, with the confidence that makes 95 % for all groups together, and the first 100 samples.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.estimators.selective.groups import codes_of, control_groups, largest_first
from sepc.estimators.selective.thresholds import choose_threshold
from sepc.statistics.rates import fixed_grid
from sepc_benchmarks.attacking.levels import GROUP, LABEL, TRUST, Levels
from sepc_benchmarks.attacking.verdict import holm
from sepc_benchmarks.datasets import load
from sepc_benchmarks.guarantees import CONFIDENCE, Population, error_of_accepted, mapie_threshold
from sepc_benchmarks.measure import arguments, save, show

Array = NDArray[Any]

MOST_ROWS, N_DRAWS = 24_000, 1_000
# MAPIE's controller takes 10 to 50 ms for a group, and sees the first draws only.
N_MAPIE_DRAWS = 100

# Rates that are equal but for rounding count as equal.
ROUNDING = 1e-9

OWN, ONE, WITHOUT = "each", "one", "none"
YOUNG = 30
FEMALE = 2


@dataclass(frozen=True, eq=False)
class Case:
    """A population with groups, and what is promised of each of them.

    Attributes
    ----------
    name : str
    groups : sequence of str
        Their names; rows have their position.
    levels : Levels
        The rows of the population, or levels of trust with their shares and error rates.
    most : float
        The error rate that is promised.
    n_calibration : int
        The rows of a calibration sample.
    """

    name: str
    groups: tuple[str, ...]
    levels: Levels
    most: float
    n_calibration: int


@dataclass(frozen=True, eq=False)
class Fate:
    """What thresholds do to the rows of a group; an array has a value for each draw."""

    accepted: Array
    is_above: Array
    is_harmed: Array

    @classmethod
    def of(cls, case: Case, group: int, thresholds: Array) -> Fate:
        """What becomes of a group with one threshold after the other."""
        own = case.levels.rows[:, GROUP] == group
        trust, share, error = case.levels.rows[own, TRUST], case.levels.share[own], case.levels.error[own]
        known = {one: _fate(trust >= one, share, error, case.most) for one in np.unique(thresholds)}
        return cls(*np.array([known[one] for one in thresholds]).T)


def _fate(accepted: Array, share: Array, error: Array, most: float) -> tuple[float, bool, bool]:
    of_accepted, of_refused = (rate(share[part], error[part]) for part in (accepted, ~accepted))
    is_harmed = bool(accepted.any()) and not of_accepted < of_refused - ROUNDING
    return float(share[accepted].sum() / share.sum()), of_accepted > most + ROUNDING, is_harmed


def rate(share: Array, error: Array) -> float:
    return float(share @ error / share.sum()) if len(share) else 0.0


def thresholds_of(case: Case, X: Array, y: Array, one_threshold: bool) -> tuple[list[float], list[bool]]:
    """The threshold of each group, as the estimator has it, infinite if it is too small; whether no harm is shown."""
    group = X[:, GROUP].astype(np.int64)
    sizes = largest_first(group)
    controls, no_harm, _ = control_groups(
        X[:, TRUST],
        y != X[:, LABEL],
        codes_of(group, list(sizes)),
        sizes,
        fixed_grid(),
        case.most,
        CONFIDENCE,
        one_threshold,
    )
    each = range(len(case.groups))
    thresholds = [controls[one].threshold if one in controls else np.inf for one in each]
    return thresholds, [one in no_harm and no_harm[one].is_shown for one in each]


def mapie_thresholds(case: Case, X: Array, y: Array) -> list[float]:
    """What MAPIE's controller lets pass in each group by itself."""
    found = []
    for group in range(len(case.groups)):
        own = np.flatnonzero(X[:, GROUP] == group)
        right = (y[own] == X[own, LABEL]).astype(np.int64)
        rows = Population(case.name, "", np.ones_like(right), X[own, TRUST], right, None)
        strictest, each = rows.trust.max(initial=0.0), 1 - (1 - CONFIDENCE) / len(case.groups)
        asked = ([error_of_accepted()], [case.most], each)
        found.append(mapie_threshold(rows, np.arange(len(own)), strictest, *asked) if len(own) else np.inf)
    return found


@dataclass(frozen=True, eq=False)
class Drawn:
    """Thresholds of each group, and where no harm is shown, draw after draw; MAPIE's of the first draws only."""

    thresholds: Mapping[str, Array]
    shown: Mapping[str, Array]
    mapie: Array


def drawn(case: Case, n_draws: int, n_mapie: int) -> Drawn:
    rng, grid, n_groups = np.random.default_rng(1), fixed_grid(), len(case.groups)
    thresholds = {way: np.empty((n_draws, n_groups)) for way in (OWN, ONE, WITHOUT)}
    shown = {way: np.empty((n_draws, n_groups), dtype=bool) for way in (OWN, ONE)}
    mapie = np.empty((n_mapie, n_groups))
    for i in range(n_draws):
        X, y = case.levels.draw(rng, case.n_calibration)
        for way in (OWN, ONE):
            thresholds[way][i], shown[way][i] = thresholds_of(case, X, y, way == ONE)
        thresholds[WITHOUT][i] = choose_threshold(X[:, TRUST], y != X[:, LABEL], grid, case.most, CONFIDENCE).threshold
        if i < n_mapie:
            mapie[i] = mapie_thresholds(case, X, y)
    return Drawn(thresholds, shown, mapie)


def fates(case: Case, thresholds: Array) -> list[Fate]:
    return [Fate.of(case, group, thresholds[:, group]) for group in range(len(case.groups))]


def share_of(case: Case, group: int) -> float:
    return float(case.levels.share[case.levels.rows[:, GROUP] == group].sum())


def group_records(case: Case, found: Drawn) -> Iterator[dict[str, Any]]:
    """A row for each way and group; p-values are not yet adjusted."""
    without = fates(case, found.thresholds[WITHOUT])
    for way in (OWN, ONE):
        for group, fate in enumerate(fates(case, found.thresholds[way])):
            shown, n_broken = found.shown[way][:, group], int(fate.is_above.sum())
            p = binomtest(n_broken, len(shown), 1 - CONFIDENCE, alternative="greater").pvalue
            yield {
                "population": case.name,
                "thresholds": way,
                "group": case.groups[group],
                "share %": 100 * share_of(case, group),
                "most %": 100 * case.most,
                "broken %": 100 * n_broken / len(shown),
                "p, Holm": float(p),
                "accepted %": percent(fate.accepted),
                "accepted %, none": percent(without[group].accepted),
                "above %, none": percent(without[group].is_above),
                "no harm shown %": percent(shown),
                "shown but false %": percent(shown & (fate.is_harmed > 0)),
            }


def percent(values: Array) -> float:
    return 100 * float(values.mean())


def population_record(case: Case, found: Drawn) -> dict[str, Any]:
    """A row for a population: what becomes of all its groups together."""
    record = {"population": case.name, "groups": len(case.groups), "most %": 100 * case.most}
    ways = {way: together(case, thresholds) for way, thresholds in found.thresholds.items()}
    ways["MAPIE"] = together(case, found.mapie)
    for way, (any_above, _) in ways.items():
        record[f"above %, {way}"] = any_above
    for way, (_, accepted) in ways.items():
        record[f"accepted %, {way}"] = accepted
    return record


def together(case: Case, thresholds: Array) -> tuple[float, float]:
    """In how many draws any group is wrong more often than promised, and how many rows are accepted, in per cent."""
    found = fates(case, thresholds)
    any_above = np.any([fate.is_above for fate in found], axis=0)
    accepted = sum(share_of(case, group) * fate.accepted for group, fate in enumerate(found))
    return percent(any_above), percent(np.asarray(accepted))


@cache
def answers(name: str, n_training: int) -> tuple[Array, Array, Array]:
    """Which rows of a set are the population, the trust of a model in them, and which of its labels are wrong."""
    data = load(name)
    y = np.asarray(data.target)
    rows = np.random.default_rng(0).permutation(len(y))[: n_training + MOST_ROWS]
    training, new = rows[:n_training], rows[n_training:]
    decided = (
        SEPClassifier(random_state=0).fit(data.features.iloc[training], y[training]).decide(data.features.iloc[new])
    )
    return new, decided.trust, decided.label != y[new]


def numbered(names: Array) -> tuple[tuple[str, ...], Array]:
    """Names of groups, the largest first, and the position of each row's."""
    known = list(largest_first(names))
    return tuple(known), codes_of(names, known)


def adult() -> Iterator[Case]:
    new, trust, wrong = answers("adult", 4000)
    rows = load("adult").features.iloc[new]
    sex, race = (rows[column].to_numpy(dtype=object) for column in ("sex", "race"))
    for by, names in {"sex": sex, "race": race, "sex and race": sex + ", " + race}.items():
        groups, code = numbered(names)
        yield Case(f"adult by {by}", groups, Levels.of(trust, wrong.astype(float), group=code), 0.05, 6000)


def german() -> Iterator[Case]:
    new, trust, wrong = answers("german_credit_numeric", 300)
    rows = load("german_credit_numeric").features.iloc[new]
    age = np.where(rows["a10"] < YOUNG, f"under {YOUNG}", f"{YOUNG} and over")
    sex = np.where(rows["a07"] == FEMALE, "female", "male")
    for by, names in {"age": age, "sex": sex}.items():
        groups, code = numbered(names)
        yield Case(f"german credit by {by}", groups, Levels.of(trust, wrong.astype(float), group=code), 0.15, 700)


def made() -> Iterator[Case]:
    trust, size = np.linspace(0.5, 0.999, 100), np.array([0.85, 0.15])
    # The trust of the majority is right, or too low; the minority can be trusted in its top third only.
    error = np.concatenate([0.1 * (1.0 - trust), np.where(trust > 0.83, 0.02, 0.4)])
    levels = Levels.of(np.tile(trust, 2), error, np.repeat(size, 100) / 100, group=np.repeat([0, 1], 100))
    yield Case("made: a minority not as its trust says", ("majority", "minority"), levels, 0.05, 6000)
    size = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
    trust, group = np.tile(trust, len(size)), np.repeat(np.arange(len(size)), 100)
    levels = Levels.of(trust, 0.0505, np.repeat(size, 100) / 100, group=group)
    names = tuple(f"group {i + 1}" for i in range(len(size)))
    yield Case("made: all groups just above", names, levels, 0.05, 6000)


def drawn_blobs() -> Iterator[Case]:
    X, y = make_classification(1200, n_informative=4, class_sep=2.0, random_state=0)
    decided = SEPClassifier(random_state=0).fit(X[:200], y[:200]).decide(X[200:])
    wrong = (decided.label != y[200:]).astype(float)
    levels = Levels.of(decided.trust, wrong, group=(X[200:, 0] > 1).astype(np.int64))
    yield Case("drawn", ("low", "high"), levels, 0.1, 1000)


def cases(smallest: bool) -> Iterator[Case]:
    if smallest:
        yield from drawn_blobs()
    else:
        yield from adult()
        yield from german()
    yield from made()


def main() -> None:
    options = arguments(__doc__)
    n_draws, n_mapie = (20, 1) if options.smallest else (N_DRAWS, N_MAPIE_DRAWS)
    results: dict[str, list[dict[str, Any]]] = {"groups": [], "populations": []}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        for case in cases(options.smallest):
            found = drawn(case, n_draws, n_mapie)
            results["groups"].extend(group_records(case, found))
            results["populations"].append(population_record(case, found))
            print(f"done: {case.name}", file=sys.stderr, flush=True)
    adjusted = holm([record["p, Holm"] for record in results["groups"]])
    for record, p in zip(results["groups"], adjusted, strict=True):
        record["p, Holm"] = p
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
