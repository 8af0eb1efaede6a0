"""Conformal sets of MAPIE and crepes, MAPIE's controller, or `SelectiveClassifier`: who accepts how many? An hour.

Gradient boosting is fitted once to 2,000 rows (1,000 of the smallest set); the other rows are the population, and a
calibration sample is 1,000 of them, drawn with replacement. All ways have the same probabilities. A set with one label
counts as accepted. Of sets it is promised that they hold the true label of 95 % of all rows, which is not what is
counted here; our promise, and that of MAPIE's controller, is that at most 5 % of accepted rows are wrong, with a
confidence of 90 %. What is not installed is left out, with a line that says so.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from mapie.risk_control import BinaryRisk, MultiClassificationLTTController
from mapie.risk_control.risks import abstention_rate
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from sepc import SelectiveClassifier
from sepc.datasets import load
from sepc.statistics.rates import fixed_grid
from sepc_benchmarks.measure import Parts, Records

# None of them had a part in choosing how promises are made.
SETS = ("letter", "covertype", "spambase", "wine_quality_white", "segment")
MOST_ROWS, N_TRAINING, N_CALIBRATION, N_DRAWS = 6_000, 2_000, 1_000, 200
SMALL_SET = 3_000
MOST_WRONG, CONFIDENCE = 0.05, 0.9

Accepted = tuple[NDArray[np.bool_], NDArray[np.int64]]


class Remembered(ClassifierMixin, BaseEstimator):
    """A fitted model whose probabilities of all rows are known: a row is its number in the population."""

    def __init__(self, probabilities: NDArray[np.float64]) -> None:
        self.probabilities = probabilities
        self.classes_ = np.arange(probabilities.shape[1])
        self.n_features_in_ = 1

    def fit(self, X: Any, y: Any) -> Remembered:
        """Nothing is learnt."""
        return self

    def predict_proba(self, X: NDArray[np.int64]) -> NDArray[np.float64]:
        """Probabilities of the rows with these numbers."""
        return self.probabilities[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X: NDArray[np.int64]) -> NDArray[np.int64]:
        """The most probable classes."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))


def by_promise(model: Remembered, drawn: NDArray[np.int64], y: NDArray[np.int64], everything: Any) -> Accepted:
    """`SelectiveClassifier`."""
    selective = SelectiveClassifier(FrozenEstimator(model), max_risk=MOST_WRONG, confidence=CONFIDENCE)
    decisions = selective.fit(drawn[:, None], y).decide(everything)
    return decisions.accepted, decisions.label


def by_controller(model: Remembered, drawn: NDArray[np.int64], y: NDArray[np.int64], everything: Any) -> Accepted:
    """MAPIE's controller of risks, with the thresholds that ours has.

    It is spared those that accept no row: their p-values are NaN, and end its testing.
    """
    truth = np.zeros(len(everything), dtype=int)
    truth[drawn] = y
    trust, label, thresholds = model.probabilities.max(axis=1), model.predict(everything), fixed_grid()
    error_of_accepted = BinaryRisk(
        risk_occurrence=lambda true, given: given != true,
        risk_condition=lambda true, given: ~np.isnan(given),
        higher_is_better=False,
    )
    controller = MultiClassificationLTTController(
        predict_function=lambda rows, tried: np.where(trust[rows] >= np.asarray(tried)[:, None], label[rows], np.nan),
        risks=[error_of_accepted],
        target_level=[MOST_WRONG],
        confidence_level=CONFIDENCE,
        best_predict_param_choice=abstention_rate,
        list_predict_params=thresholds[thresholds <= trust[drawn].max()],
        classes=np.arange(1 + max(label.max(), truth.max())),
    )
    controller.calibrate(drawn, y)
    passed = controller.valid_predict_params
    return trust >= (float(passed.min()) if len(passed) else np.inf), label


def by_mapie(model: Remembered, drawn: NDArray[np.int64], y: NDArray[np.int64], everything: Any) -> Accepted:
    """MAPIE's sets, with its default score."""
    from mapie.classification import SplitConformalClassifier

    sets = SplitConformalClassifier(model, confidence_level=1 - MOST_WRONG).conformalize(drawn[:, None], y)
    return singletons(sets.predict_set(everything)[1][:, :, 0])


def by_crepes(model: Remembered, drawn: NDArray[np.int64], y: NDArray[np.int64], everything: Any) -> Accepted:
    """The sets of crepes, with its default score."""
    from crepes import WrapClassifier

    wrapped = WrapClassifier(model)
    wrapped.calibrate(drawn[:, None], y, seed=0)
    return singletons(wrapped.predict_set(everything, labels=False, confidence=1 - MOST_WRONG, seed=0).astype(bool))


def by_probability(model: Remembered, drawn: NDArray[np.int64], y: NDArray[np.int64], everything: Any) -> Accepted:
    """What the model itself is 95 % sure of."""
    return model.probabilities.max(axis=1) >= 1 - MOST_WRONG, model.predict(everything)


def singletons(sets: NDArray[np.bool_]) -> Accepted:
    return sets.sum(axis=1) == 1, np.asarray(sets.argmax(axis=1))


# Name, what must be installed, and how.
WAYS: dict[str, tuple[str, Callable[..., Accepted]]] = {
    "SelectiveClassifier": ("sepc", by_promise),
    "MAPIE, controller": ("mapie", by_controller),
    "MAPIE, sets": ("mapie", by_mapie),
    "crepes, sets": ("crepes", by_crepes),
    "own probability": ("sklearn", by_probability),
}
# A draw takes these long, so they see the first ones only.
FEWER_DRAWS = {"MAPIE, controller": 4, "crepes, sets": 20}


def rows_of(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    data = load(name)
    X, y = data.numeric.to_numpy(dtype=float), np.asarray(data.target)
    drawn = np.random.default_rng(0).permutation(np.flatnonzero(np.isfinite(X).all(axis=1)))[:MOST_ROWS]
    return X[drawn], y[drawn]


def conformal(smallest: bool) -> Records:
    """A record for each data set and way."""
    ways = {name: way for name, (package, way) in WAYS.items() if is_here(name, package)}
    records = []
    for name in ("drawn",) if smallest else SETS:
        X, y = make_classification(900, n_informative=4, random_state=0) if smallest else rows_of(name)
        n = 300 if smallest else N_TRAINING if len(y) > SMALL_SET else N_TRAINING // 2
        truth = np.unique(y, return_inverse=True)[1]
        model = HistGradientBoostingClassifier(random_state=0).fit(X[:n], truth[:n])
        remembered = Remembered(with_all_classes(model, X[n:], int(truth.max()) + 1))
        for way, accept in ways.items():
            n_draws = 2 if smallest else N_DRAWS // FEWER_DRAWS.get(way, 1)
            told = judged(accept, remembered, truth[n:], n_draws, 200 if smallest else N_CALIBRATION)
            records.append({"data set": name, "by": way, **told})
            print(f"done: {records[-1]}", file=sys.stderr, flush=True)
    return records


def with_all_classes(model: Any, X: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Probabilities with a column for every class, also one that training did not have."""
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, model.classes_] = model.predict_proba(X)
    return probabilities


def judged(
    accept: Callable[..., Accepted], model: Remembered, truth: NDArray[np.int64], n_draws: int, n_calibration: int
) -> dict[str, Any]:
    """What a way accepts of the population, and how often more than stated is wrong, over calibration samples."""
    rng, everything = np.random.default_rng(1), np.arange(len(truth))[:, None]
    shares, wrongs = [], []
    for _ in range(n_draws):
        drawn = rng.integers(len(truth), size=n_calibration)
        accepted, label = accept(model, drawn, truth[drawn], everything)
        shares.append(accepted.mean())
        wrongs.append(np.mean(label[accepted] != truth[accepted]) if accepted.any() else 0.0)
    return {
        "accepted %": 100 * float(np.mean(shares)),
        "wrong among these %": 100 * float(np.mean(wrongs)),
        "draws above 5 %, %": 100 * float(np.mean(np.array(wrongs) > MOST_WRONG)),
    }


def is_here(name: str, package: str) -> bool:
    """Whether a package is installed; if not, a line says what is left out."""
    found = find_spec(package) is not None
    if not found:
        sys.stderr.write(f"{name} is left out: {package} is not installed.\n")
    return found


def parts(smallest: bool) -> Parts:
    return {"conformal": lambda: {"conformal": conformal(smallest)}}
