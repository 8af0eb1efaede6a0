"""Ours and the peers, with one thread each and nothing tuned."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier

OURS, HGB, RF, LIGHTGBM, EBM, LR = "SEP-C", "HGB", "RF", "LightGBM", "EBM", "logistic regression"


def lightgbm() -> Any:
    return import_module("lightgbm").LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)


MAKE: dict[str, Callable[[], Any]] = {
    OURS: SEPClassifier,
    HGB: lambda: HistGradientBoostingClassifier(random_state=0),
    RF: lambda: RandomForestClassifier(100, random_state=0, n_jobs=1),
    LIGHTGBM: lightgbm,
    # One bag instead of 14, since a fit takes many times longer than all others. Bags are averaged into one table of
    # terms, so scoring takes as long with any number of them.
    EBM: lambda: ExplainableBoostingClassifier(outer_bags=1, n_jobs=1, random_state=0),
    LR: lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
}
if find_spec("lightgbm") is None:  # the extra `boosting`
    del MAKE[LIGHTGBM]


def made(*names: str) -> dict[str, Any]:
    """New learners of these names, those that are installed."""
    return {name: MAKE[name]() for name in names if name in MAKE}
