"""Tables and fitted models that scenarios share; nobody changes them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from addresses import public
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from sepc import SelectiveClassifier, SEPClassifier, TrustedClassifier, datasets
from sepc.lifecycle import repair

Split = tuple[Any, Any, Any, Any]
Made = TypeVar("Made", bound=Callable[..., Any])


def made_once(make: Made) -> Made:
    """Make something for all scenarios, without warnings: these would belong to whichever scenario comes first."""

    @cache
    @wraps(make)
    def quietly(*arguments: Any, **parameters: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return make(*arguments, **parameters)

    return cast("Made", quietly)


@made_once
def rows_of(name: str, n_rows: int | None = None) -> Split:
    """Training and other rows of a data set, every third row aside: X, y, other X, other y."""
    data = datasets.load(name)
    chosen = np.random.default_rng(0).permutation(len(data.target))[:n_rows]
    X, y = data.features.iloc[chosen].reset_index(drop=True), data.target[chosen]
    aside = np.arange(len(y)) % 3 == 2
    return X[~aside].reset_index(drop=True), y[~aside], X[aside].reset_index(drop=True), y[aside]


@made_once
def loans(n_rows: int = 1200) -> Split:
    """Numbers with gaps, categories, dates and a text id; who defaults depends on all but the id."""
    rng = np.random.default_rng(1)
    income, months = np.round(rng.lognormal(10.3, 0.4, n_rows), 2), rng.integers(0, 240, n_rows)
    housing = rng.choice(["own", "rent", "free"], n_rows, p=[0.5, 0.4, 0.1])
    opened = pd.Timestamp("2021-01-04") + pd.to_timedelta(rng.integers(0, 1200, n_rows), "D")
    odds = -1.2 - 1.1 * np.log(income / 30_000) - 0.012 * (months - 60) + 1.4 * (housing == "free")
    defaulted = rng.random(n_rows) < 1 / (1 + np.exp(-2.0 * (odds + 0.3 * np.sin(opened.dayofyear / 58))))
    income[rng.random(n_rows) < 0.05] = np.nan
    X = pd.DataFrame(
        {
            "id": [f"L{i:05d}" for i in range(n_rows)],
            "income": income,
            "months_employed": months,
            "housing": pd.Series(housing).mask(rng.random(n_rows) < 0.03),
            "opened": opened,
            "amount": np.round(rng.uniform(500, 20_000, n_rows), -2),
        }
    )
    y = np.where(defaulted, "default", "paid")
    n = 2 * n_rows // 3
    return X[:n], y[:n], X[n:].reset_index(drop=True), y[n:]


@made_once
def cube(n_rows: int = 3000) -> tuple[Any, Any]:
    """Two classes in a cube with a noisy border."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(n_rows, 3)), columns=["depth", "width", "age"])
    return X, np.where(X["depth"] + 0.3 * rng.standard_normal(n_rows) > 0.0, "good", "bad")


def changed(X: Any, y: Any) -> Any:
    """Labels after one corner of the cube has changed its label."""
    return np.where(np.abs(X[["depth", "width"]].to_numpy() - 0.5).max(axis=1) < 0.3, "bad", y)


@made_once
def cube_model() -> Any:
    X, y = cube()
    return SEPClassifier(out_of_fold=True).fit(X[:1000], y[:1000])


@made_once
def repaired_cube() -> Any:
    X, y = cube()
    return repair(cube_model(), X[1000:2500], changed(X, y)[1000:2500], cv=2)


@made_once
def loan_model() -> Any:
    X, y, _, _ = loans()
    return SEPClassifier(out_of_fold=True).fit(X, y)


@made_once
def model_of(name: str, **parameters: Any) -> Any:
    X, y, _, _ = rows_of(name, 1500)
    return SEPClassifier(**parameters).fit(X, y)


@made_once
def selective_loans() -> Any:
    X, y, _, _ = loans()
    return SelectiveClassifier(SEPClassifier(), max_risk=0.1, random_state=0).fit(X, y)


@made_once
def frozen_cube() -> Any:
    X, y = cube()
    return SelectiveClassifier(FrozenEstimator(cube_model()), max_risk=0.05).fit(X[1000:2000], y[1000:2000])


@made_once
def trusted() -> Any:
    X, y, _, _ = rows_of("vertebral_column_2c")
    return TrustedClassifier(HistGradientBoostingClassifier(random_state=0), cv=3).fit(X, y)


@made_once
def stratified() -> Any:
    X, y, _, _ = loans()
    X = X[["months_employed", "housing", "amount"]]
    return public("RoutedClassifier")(SEPClassifier(), by=["housing"], min_rows=60).fit(X, y)


@made_once
def logistic() -> Any:
    X, y = cube()
    return LogisticRegression().fit(X[:1000], y[:1000])
