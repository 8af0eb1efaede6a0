"""Other models, none of them tuned."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from interpret.glassbox import ExplainableBoostingClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

BOOSTING = {  # the extra `boosting`: learner, package, class, and what makes it silent on one thread
    "LightGBM": ("lightgbm", "LGBMClassifier", {"n_jobs": 1, "verbose": -1}),
    "CatBoost": ("catboost", "CatBoostClassifier", {"thread_count": 1, "verbose": False, "allow_writing_files": False}),
}


def boosting() -> dict[str, Any]:
    """Those of the boosting libraries that are installed, with their defaults; a line for each that is not."""
    found = {}
    for learner, (package, name, settings) in BOOSTING.items():
        if find_spec(package) is None:
            sys.stderr.write(f"{learner} is left out: {package} is not installed (the extra boosting).\n")
        else:
            found[learner] = getattr(import_module(package), name)(random_state=0, **settings)
    return found


PEERS: dict[str, Any] = {
    "RF": RandomForestClassifier(200, random_state=0),
    "ExtraTrees": ExtraTreesClassifier(200, random_state=0),
    "HGB": HistGradientBoostingClassifier(random_state=0),
    **boosting(),
    "EBM": ExplainableBoostingClassifier(outer_bags=4, interactions=10, n_jobs=1, random_state=0),
    "LR": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)),
}
