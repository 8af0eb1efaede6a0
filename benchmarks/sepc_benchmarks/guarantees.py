"""How often promises are broken: 1,000 calibration samples of each of eight data sets, beside MAPIE's controller.

Numeric columns, complete rows, at most 24,000 of them drawn at random. Models are fitted once, on 2,000 rows; the
others are the population. A calibration sample is 2,000 rows of it, drawn with replacement. A promise is broken if it
is not true of the whole population. "most" is what is promised: half of the model's error rate, in whole per cent.
MAPIE's controller gets the same labels and trust, and the same confidence of 95 %.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from mapie.risk_control import BinaryRisk, MultiClassificationLTTController
from mapie.risk_control.risks import abstention_rate, build_precision_ovr
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.estimators.selective.costs import choose_cheapest
from sepc.estimators.selective.thresholds import choose_threshold
from sepc.statistics.rates import fixed_grid, lower_bound
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

SETS = (
    "adult",
    "electricity",
    "htru2",
    "magic_gamma_telescope",
    "page_blocks",
    "pendigits",
    "phoneme",
    "satimage",
)
MOST_ROWS, N_TRAINING, N_CALIBRATION, N_DRAWS = 24_000, 2_000, 2_000, 1_000
CONFIDENCE = 0.95
# As the figures of the page were measured; a promise must hold for whatever trust it is given.
SEP_C = SEPClassifier(2, trust="counts", max_ellipsoids=40, fit_rows=None)
MODELS = {"HGB": HistGradientBoostingClassifier(random_state=0), "SEP-C": SEP_C}

# MAPIE's controllers take 10 to 50 ms, and see the first draws only.
N_MAPIE_DRAWS = 200

# Promises per class are about the labels given most often.
N_NAMED = 3

# Calling a class by an earlier one costs so much, any other error 1.
LARGEST_COST = 5.0

# Of the mean cost if all rows are accepted, a review costs this share.
REVIEW_SHARE = 0.5

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Population:
    """What a fitted model says of all rows that it was not fitted on; labels are numbered from 0."""

    name: str
    model: str
    label: NDArray[np.int64]
    trust: Rows
    truth: NDArray[np.int64]
    region: NDArray[np.int64] | None

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which labels are wrong."""
        return self.label != self.truth

    @property
    def head(self) -> dict[str, Any]:
        """What a table says first."""
        return {"data set": self.name, "model": self.model}

    def draws(self, n_draws: int, n_calibration: int) -> Iterator[NDArray[np.int64]]:
        """Positions of the rows of each calibration sample."""
        rng = np.random.default_rng(1)
        return (rng.integers(len(self.label), size=n_calibration) for _ in range(n_draws))


def rows_of(name: str) -> tuple[Rows, NDArray[Any]]:
    data = load(name)
    X, y = data.numeric.to_numpy(dtype=float), np.asarray(data.target)
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(np.isfinite(X).all(axis=1)))[:MOST_ROWS]
    return X[drawn], y[drawn]


def populations(name: str, X: Rows, y: NDArray[Any], n_training: int) -> Iterator[Population]:
    truth = np.unique(y, return_inverse=True)[1]
    for kind, model in MODELS.items():
        model.fit(X[:n_training], truth[:n_training])
        new = X[n_training:]
        decided = model.decide(new) if hasattr(model, "decide") else None
        trust = model.predict_proba(new).max(axis=1) if decided is None else decided.trust
        region = None if decided is None else decided.region
        yield Population(name, kind, model.predict(new), trust, truth[n_training:], region)


def half_of(error_rate: float) -> float:
    return max(0.01, round(error_rate / 2, 2))


def risk(population: Population, n_draws: int, n_mapie: int, n_calibration: int) -> dict[str, Any]:
    wrong, trust, most = population.wrong, population.trust, half_of(population.wrong.mean())
    ours, theirs = Tally(), Tally()
    for i, drawn in enumerate(population.draws(n_draws, n_calibration)):
        found = choose_threshold(trust[drawn], wrong[drawn], fixed_grid(), most, CONFIDENCE).threshold
        ours.add(float(np.mean(trust >= found)), is_above(wrong[trust >= found], most))
        if i < n_mapie:
            found = mapie_threshold(population, drawn, trust[drawn].max(), [error_of_accepted()], [most])
            theirs.add(float(np.mean(trust >= found)), is_above(wrong[trust >= found], most))
    return population.head | {"error %": 100 * float(wrong.mean()), "most %": 100 * most} | ours.beside(theirs)


def risk_per_class(population: Population, n_draws: int, n_mapie: int, n_calibration: int) -> dict[str, Any]:
    label, wrong, trust = population.label, population.wrong, population.trust
    named = np.argsort(-np.bincount(label), kind="stable")[:N_NAMED]
    named = named[np.bincount(label, minlength=named.max() + 1)[named] > 0]
    most = {one: half_of(wrong[label == one].mean()) for one in named}
    each = 1 - (1 - CONFIDENCE) / len(named)
    ours, theirs = Tally(), Tally()
    for i, drawn in enumerate(population.draws(n_draws, n_calibration)):
        accepted, broken = np.zeros(len(label), dtype=bool), False
        for one in named:
            own = drawn[label[drawn] == one]
            found = choose_threshold(trust[own], wrong[own], fixed_grid(), most[one], each).threshold
            covered = (label == one) & (trust >= found)
            accepted |= covered
            broken |= is_above(wrong[covered], most[one])
        ours.add(accepted.mean(), broken)
        if i < n_mapie:
            strictest = min(trust[drawn[label[drawn] == one]].max(initial=0) for one in named)
            least = [1 - most[one] for one in named]
            found = mapie_threshold(population, drawn, strictest, build_precision_ovr(named), least)
            covered = np.isin(label, named) & (trust >= found)
            broken = any(is_above(wrong[covered & (label == one)], most[one]) for one in named)
            theirs.add(covered.mean(), broken)
    promised = ", ".join(f"{100 * one:.0f}" for one in most.values())
    return population.head | {"classes": len(named), "most %": promised} | ours.beside(theirs)


def costs(population: Population, n_draws: int, n_calibration: int) -> dict[str, Any]:
    n_classes = 1 + int(max(population.label.max(), population.truth.max()))
    true, given = np.indices((n_classes, n_classes))
    # Errors in one direction are dear, in the other cheap.
    matrix = np.where(true > given, LARGEST_COST, 1.0) * (true != given)
    trust, cost = population.trust, matrix[population.truth, population.label]
    review = REVIEW_SHARE * float(cost.mean())
    ours, paid = Tally(), []
    for drawn in population.draws(n_draws, n_calibration):
        found = choose_cheapest(trust[drawn], cost[drawn], fixed_grid(), matrix.ravel(), review, CONFIDENCE).threshold
        ours.add(float(np.mean(trust >= found)), is_above(cost[trust >= found], review))
        paid.append(np.where(trust >= found, cost, review).mean())
    best = min(np.where(trust >= threshold, cost, review).mean() for threshold in (*fixed_grid(), np.inf))
    told = {"accept all": float(cost.mean()), "review all": review, "ours": float(np.mean(paid)), "best": float(best)}
    return population.head | ours.told() | told


def certificates(population: Population, n_draws: int, n_calibration: int) -> dict[str, Any]:
    assert population.region is not None
    region = np.unique(population.region, return_inverse=True)[1]
    n_regions, wrong = int(region.max()) + 1, population.wrong
    true = 1 - np.bincount(region, weights=wrong) / np.bincount(region)
    ours, bounds = Tally(), []
    for drawn in population.draws(n_draws, n_calibration):
        n = np.bincount(region[drawn], minlength=n_regions)
        errors = np.bincount(region[drawn], weights=wrong[drawn], minlength=n_regions)
        seen = n > 0
        bound = lower_bound(n[seen] - errors[seen], n[seen], 1 - (1 - CONFIDENCE) / seen.sum())
        ours.add(0.0, bool((true[seen] < bound).any()))
        bounds.append(float(np.average(bound, weights=n[seen])))
    head = {"data set": population.name, "regions": n_regions, "broken %": ours.told()["broken %"]}
    return head | {"accuracy %": 100 * float(1 - wrong.mean()), "certified %": 100 * float(np.mean(bounds))}


@dataclass
class Tally:
    """Coverage, and whether the promise was broken, of draw after draw."""

    n: int = 0
    covered: float = 0.0
    broken: int = 0

    def add(self, coverage: float, broken: bool) -> None:
        """Count a draw."""
        self.n, self.covered, self.broken = self.n + 1, self.covered + float(coverage), self.broken + int(broken)

    def told(self, whose: str = "") -> dict[str, float]:
        """The columns of a table."""
        return {f"broken{whose} %": 100 * self.broken / self.n, f"coverage{whose}": self.covered / self.n}

    def beside(self, theirs: Tally) -> dict[str, float]:
        """The columns of this and of MAPIE's."""
        return self.told() | theirs.told(" MAPIE")


def is_above(values: NDArray[Any], most: float) -> bool:
    return bool(len(values) and values.mean() > most)


def error_of_accepted() -> BinaryRisk:
    return BinaryRisk(
        risk_occurrence=lambda truth, label: label != truth,
        risk_condition=lambda truth, label: ~np.isnan(label),
        higher_is_better=False,
    )


def mapie_threshold(
    population: Population,
    drawn: NDArray[np.int64],
    strictest: float,
    risks: list[Any],
    levels: list[float],
    confidence: float = CONFIDENCE,
) -> float:
    """The most generous threshold that MAPIE's controller lets pass, infinite if none does.

    It is spared the thresholds above `strictest`, which accept no row: their p-values are NaN, and end its testing.
    """
    thresholds = fixed_grid()
    controller = MultiClassificationLTTController(
        predict_function=lambda rows, tried: np.where(
            population.trust[rows] >= np.asarray(tried)[:, None], population.label[rows], np.nan
        ),
        risks=risks,
        target_level=levels,
        confidence_level=confidence,
        best_predict_param_choice=abstention_rate,
        list_predict_params=thresholds[thresholds <= strictest],
        classes=np.arange(1 + max(population.label.max(), population.truth.max())),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        controller.calibrate(drawn, population.truth[drawn])
    passed = controller.valid_predict_params
    return float(passed.min()) if len(passed) else np.inf


def data(smallest: bool) -> Iterator[tuple[str, Rows, NDArray[Any]]]:
    if smallest:
        yield "drawn", *make_classification(2000, n_classes=3, n_informative=4, random_state=0)
    else:
        yield from ((name, *rows_of(name)) for name in SETS)


def main() -> None:
    options = arguments(__doc__)
    n_draws, n_mapie, n_rows = (20, 2, 400) if options.smallest else (N_DRAWS, N_MAPIE_DRAWS, N_CALIBRATION)
    results: dict[str, list[dict[str, Any]]] = {"risk": [], "per class": [], "costs": [], "certificates": []}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        for name, X, y in data(options.smallest):
            for population in populations(name, X, y, 500 if options.smallest else N_TRAINING):
                results["risk"].append(risk(population, n_draws, n_mapie, n_rows))
                results["per class"].append(risk_per_class(population, n_draws, n_mapie, n_rows))
                results["costs"].append(costs(population, n_draws, n_rows))
                if population.region is not None:
                    results["certificates"].append(certificates(population, n_draws, n_rows))
                print(f"done: {name}, {population.model}", file=sys.stderr, flush=True)
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
