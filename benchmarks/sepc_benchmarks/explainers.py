"""Ways to take one decision apart: SHAP of gradient boosting, the terms of an EBM, and ours.

Two-class problems made of sets that no constant of ours was chosen on, since an EBM of three classes took minutes. Each
model is fitted to the same rows, and again to bootstrap samples of them. What a case is made of is in log-odds of the
second class. A term of two features is given to both by halves; terms of ellipsoids belong to no feature. A fit of an
EBM with its 14 outer bags took a minute of the processor, so it has two of them, and the first problem alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from sepc import SEPClassifier
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import medians

Rows = NDArray[np.float64]

# How the labels of a set become two: those named are the second class.
PROBLEMS: dict[str, tuple[str, ...]] = {
    "yeast": ("CYT",),
    "wine_quality_white": ("6", "7", "8", "9"),
    "letter": tuple("NOPQRSTUVWXYZ"),
    "pendigits": ("1", "3", "5", "7", "9"),
    "covertype": ("2",),
}
N_TRAINING, N_CASES, N_REFITS, N_TIMED, N_TOP = 1_000, 200, 3, 9, 3
FEWEST_ROWS = 500  # the smallest run has fewer, and then an EBM only shows that it runs
EXACT = 1e-6


@dataclass(frozen=True)
class Parts:
    """What each feature adds to the log-odds of each case, the sum of all terms, and the log-odds they should give."""

    features: Rows
    total: Rows
    log_odds: Rows
    shared: float  # the share that terms of several features have of the sizes of all terms

    @property
    def gap(self) -> Rows:
        """How far the parts are from the model's own log-odds."""
        return np.abs(self.total - self.log_odds)

    def largest(self) -> NDArray[np.int64]:
        """The features with the largest parts of each case."""
        return np.argsort(-np.abs(self.features), axis=1, kind="stable")[:, :N_TOP]


class Shap:
    """`shap.TreeExplainer` of gradient boosting."""

    needs, most_problems = "shap", 5

    def __init__(self, X: Rows, y: NDArray[np.int64]) -> None:
        from shap import TreeExplainer

        self.model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
        self.explainer = TreeExplainer(self.model)

    def explain(self, X: Rows) -> Any:
        """The values alone."""
        return self.explainer.shap_values(X)

    def parts(self, X: Rows) -> Parts:
        """The values as parts."""
        values = np.asarray(self.explain(X))
        total = values.sum(axis=1) + float(np.ravel(self.explainer.expected_value)[0])
        return Parts(values, total, log_odds_of(self.model, X), 0.0)


class Boosted:
    """An `ExplainableBoostingClassifier`."""

    needs, most_problems = "interpret", 1

    def __init__(self, X: Rows, y: NDArray[np.int64]) -> None:
        from interpret.glassbox import ExplainableBoostingClassifier

        quick = {"max_rounds": 20} if len(y) < FEWEST_ROWS else {}
        self.model = ExplainableBoostingClassifier(outer_bags=2, n_jobs=1, random_state=0, **quick).fit(X, y)

    def explain(self, X: Rows) -> Any:
        """The terms alone."""
        return self.model.eval_terms(X)

    def parts(self, X: Rows) -> Parts:
        """Terms of one feature are its own, and of terms of two features each has a half."""
        terms, features = self.explain(X), np.zeros(X.shape)
        for term, of in zip(terms.T, self.model.term_features_, strict=True):
            features[:, list(of)] += term[:, None] / len(of)
        of_several = np.array([len(of) > 1 for of in self.model.term_features_])
        shared = np.abs(terms[:, of_several]).sum() / np.abs(terms).sum()
        total = terms.sum(axis=1) + float(np.ravel(self.model.intercept_)[0])
        return Parts(features, total, log_odds_of(self.model, X), float(shared))


class Ours:
    """`decide(X).terms()`, in log-odds of the second class."""

    needs, most_problems = "sepc", 5

    def __init__(self, X: Rows, y: NDArray[np.int64]) -> None:
        self.model = SEPClassifier().fit(X, y)

    def explain(self, X: Rows) -> Any:
        """The terms, for which rows are decided on first."""
        return self.model.decide(X).terms()

    def parts(self, X: Rows) -> Parts:
        """Terms for the label become terms for the second class."""
        terms = self.explain(X)
        sign = np.where(terms.label == 1, 1.0, -1.0)
        of_several = np.abs(terms.ellipsoids).sum() + np.abs(terms.isolated).sum()
        shared = of_several / (of_several + np.abs(terms.features).sum())
        return Parts(terms.features * sign[:, None], terms.log_odds * sign, log_odds_of(self.model, X), float(shared))


WAYS: dict[str, type[Shap | Boosted | Ours]] = {
    "SHAP of HGB": Shap,
    "EBM of 2 bags, terms": Boosted,
    "SEP-C, terms": Ours,
}


def log_odds_of(model: Any, X: Rows) -> Rows:
    return np.asarray(logit(np.clip(model.predict_proba(X)[:, 1], 1e-12, 1 - 1e-12)))


def problems(smallest: bool) -> Iterator[tuple[str, Rows, NDArray[np.int64]]]:
    if smallest:
        yield "drawn", *make_classification(200, n_features=5, random_state=0)
        return
    for name, second in PROBLEMS.items():
        data = load(name)
        X, y = data.numeric.to_numpy(dtype=float), np.isin(np.asarray(data.target).astype(str), second).astype(int)
        drawn = np.random.default_rng(0).permutation(len(y))[: N_TRAINING + N_CASES]
        yield name, X[drawn], y[drawn]


def explainers(smallest: bool) -> list[dict[str, Any]]:
    """A record for each problem and each way that is installed."""
    records = []
    here = {name: way for name, way in WAYS.items() if is_here(name, way.needs)}
    for i, (name, X, y) in enumerate(problems(smallest)):
        n = len(y) * N_TRAINING // (N_TRAINING + N_CASES)
        ways = {way: make for way, make in here.items() if i < make.most_problems}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = {way: make(X[:n], y[:n]) for way, make in ways.items()}
            cases = X[n:]
            tasks = {way: partial(one.explain, cases[:1]) for way, one in fitted.items()}
            seconds = medians(tasks, 1 if smallest else N_TIMED)
            for way, one in fitted.items():
                parts, n_refits = one.parts(cases), 1 if smallest else N_REFITS
                same = [stays(parts, again.parts(cases)) for again in refits(ways[way], X[:n], y[:n], n_refits)]
                records.append(
                    {
                        "problem": name,
                        "features": X.shape[1],
                        "by": way,
                        "right %": 100 * float(np.mean(one.model.predict(cases) == y[n:])),
                        "ms": 1000 * seconds[way],
                        "cases that add up %": 100 * float(np.mean(parts.gap < EXACT)),
                        "largest gap": float(parts.gap.max()),
                        "of no one feature %": 100 * parts.shared,
                        "top 3 kept %": 100 * float(np.mean(same)),
                    }
                )
                print(f"done: {records[-1]}", file=sys.stderr, flush=True)
    return records


def refits(make: Callable[..., Any], X: Rows, y: NDArray[np.int64], n_refits: int) -> Iterator[Any]:
    """The same way with models of bootstrap samples."""
    rng = np.random.default_rng(1)
    for _ in range(n_refits):
        drawn = rng.integers(len(y), size=len(y))
        yield make(X[drawn], y[drawn])


def stays(before: Parts, after: Parts) -> float:
    """The share of the top three features that are among them again, over all cases."""
    pairs = zip(before.largest(), after.largest(), strict=True)
    return float(np.mean([len(np.intersect1d(one, other)) / len(one) for one, other in pairs]))


def is_here(name: str, package: str) -> bool:
    if find_spec(package) is None:
        print(f"{name} is left out: {package} is not installed", file=sys.stderr)
        return False
    return True
