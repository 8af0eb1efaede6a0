"""Promises and thresholds, from calibration rows, groups, costs, target rows and sites."""

from __future__ import annotations

from typing import Any

import golden_data as data
import numpy as np
from addresses import public
from record import decided, scenario
from sklearn.linear_model import LogisticRegression

from sepc import Costs, Edit, SelectiveClassifier, SEPClassifier


def promise(model: Any, X: Any, **arguments: Any) -> dict[str, Any]:
    found = model.decide(X, **arguments)
    return {
        "summary": model.summary(),
        "threshold": model.threshold_,
        "coverage": model.coverage_,
        "controls": {str(key): str(control) for key, control in model.promise_.controls.items()},
        "decisions": decided(found),
        "why": found[0].why(),
    }


@scenario
def of_all_rows() -> Any:
    return promise(data.selective_loans(), data.loans()[2][:40])


@scenario
def around_a_frozen_model() -> Any:
    return promise(data.frozen_cube(), data.cube()[0][2000:2040])


@scenario
def by_label() -> Any:
    X, y = data.cube()
    model = SelectiveClassifier(LogisticRegression(), {"good": 0.1, "bad": 0.2}, random_state=0).fit(X[:2000], y[:2000])
    return promise(model, X[2000:2040])


@scenario
def by_cost() -> Any:
    X, y = data.cube()
    costs = Costs({("good", "bad"): 10.0, ("bad", "good"): 1.0}, review=0.5)
    model = SelectiveClassifier(LogisticRegression(), costs, random_state=0).fit(X[:2000], y[:2000])
    return {**promise(model, X[2000:2040]), "mean_cost": model.promise_.controls[None].mean_cost}


@scenario
def by_group() -> Any:
    X, y = data.cube()
    groups = np.where(X["age"] > 0.6, "old", "young")
    model = SelectiveClassifier(LogisticRegression(), 0.15, by="age", random_state=0)
    model.fit(X[:2000], y[:2000], groups={"age": groups[:2000]})
    found = model.decide(X[2000:2040], groups={"age": groups[2000:2040]})
    return {
        "summary": model.summary(),
        "threshold": model.threshold_,
        "groups": str(model.promise_.groups),
        "decisions": decided(found),
    }


@scenario
def for_other_rows() -> Any:
    X, y = data.cube()
    target = X[2000:2600][X["width"][2000:2600] > 0.0]
    model = SelectiveClassifier(SEPClassifier(max_ellipsoids=6), 0.2, random_state=0)
    model.fit(X[:2000], y[:2000], X_target=target)
    return {"summary": model.summary(), "shift": str(model.promise_.shift), "threshold": model.threshold_}


@scenario
def that_cannot_be_had() -> Any:
    X, y, others, _ = data.rows_of("vertebral_column_2c")
    model = SelectiveClassifier(LogisticRegression(max_iter=2000), 0.001, random_state=0).fit(X, y)
    return promise(model, others[:10])


@scenario
def refused_edits() -> Any:
    try:
        data.frozen_cube().edited(Edit.drop_feature("age"), author="A", reason="r", date="2026-01-02")
    except TypeError as error:
        return str(error)
    return None


@scenario
def certificates() -> Any:
    X, y = data.cube()
    return str(data.frozen_cube().certificates(X[2000:], y[2000:]))


@scenario
def of_sites() -> Any:
    X, y = data.cube()
    counts = [
        public("count_site")(data.cube_model(), X[i : i + 600], y[i : i + 600], site=site)
        for i, site in ((1000, "north"), (1600, "south"), (2200, "west"))
    ]
    found = public("certify")(data.cube_model(), counts, max_risk=0.08)
    return {
        "summary": found.summary(),
        "counts": counts[0].to_json(),
        "threshold": found.together.threshold,
        "decisions": decided(found.model().decide(X[2800:2830])),
    }
