"""A model in production: audit, repair, monitor, review, comparison, plans, erasure."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import golden_data as data
import numpy as np
from record import decided, scenario

import sepc
import sepc.errors
from sepc.lifecycle import (
    Monitor,
    RepairResult,
    ReviewQueue,
    audit,
    check_plan,
    forget,
    repair,
    row_digest,
    verify_receipt,
)

PLAN = """
version = 1
title = "Repairs of the model in 2026"
may_change = ["regions", "threshold"]

[rows]
key = "kept with the plan"
digest = "{digest}"

[candidates]
most = 3

[[criteria]]
kind = "changed"
what = "label"
margin = 0.12
level = 0.05

[[criteria]]
kind = "regions"
fewest = 100
margin = 0.1
level = 0.05
"""


@scenario
def audit_finds_a_corner() -> Any:
    X, y = data.cube()
    found = audit(data.cube_model(), X[1000:], data.changed(X, y)[1000:])
    return {
        "summary": found.summary(),
        "regions": found.to_frame().astype(str).head(12).to_dict("list"),
        "disjuncts": found.disjuncts_to_frame().astype(str).to_dict("list"),
    }


@scenario
def audit_finds_nothing() -> Any:
    X, y = data.cube()
    return audit(data.cube_model(), X[1000:], y[1000:]).summary()


@scenario
def repair_of_a_corner() -> Any:
    found = data.repaired_cube()
    return {"summary": found.summary(), "table": RepairResult.of(found).to_frame().astype(str).to_dict("list")}


@scenario
def repair_refuses_moved_columns() -> Any:
    X, y = data.cube()
    try:
        repair(data.cube_model(), X[1000:2000] * [1.0, 3.0, 1.0], y[1000:2000], cv=2)
    except sepc.errors.MovedColumnsError as error:
        return str(error)
    raise AssertionError("it should refuse")


@scenario
def monitor() -> Any:
    X, y = data.cube()
    watching = Monitor(data.cube_model(), X[1000:1800], y[1000:1800])
    quiet = watching.update(X[1800:2000], y[1800:2000])
    loud = watching.update(X[2000:] + [0.0, 0.7, 0.0])
    return {
        "quiet": [str(alarm) for alarm in quiet],
        "loud": [alarm.summary() for alarm in loud],
        "summary": watching.summary(),
        "accepted": int(watching.decide(X[2000:2200] + [0.0, 0.7, 0.0]).accepted.sum()),
    }


@scenario
def monitor_guesses_a_unit() -> Any:
    X, _, others, _ = data.loans()
    watching = Monitor(data.loan_model(), X)
    watching.update(others.assign(amount=others["amount"] * 100))
    return {"changes": [str(change) for change in watching.column_changes()], "summary": watching.summary()}


@scenario
def review() -> Any:
    X, y = data.cube(8000)
    queue = ReviewQueue(data.cube_model(), budget=200, max_risk=0.1, coverage=0.3, certify_share=0.9, random_state=0)
    asked = []
    for first in (3000, 4500, 6000):
        chosen = queue.choose(X[first : first + 1500])
        asked.append({"positions": chosen.positions[:20], "summary": chosen.summary(), "why": chosen.why(0)})
        queue.learn(chosen, y[first : first + 1500][chosen.positions])
    return {"asked": asked, "certificate": queue.certificate().summary(), "summary": queue.summary()}


@scenario
def comparison() -> Any:
    X, y = data.cube()
    found = sepc.compare(data.cube_model(), data.repaired_cube(), X[2500:], data.changed(X, y)[2500:], "age")
    return {"summary": found.summary(), "rows": found.to_frame().astype(str).head(10).to_dict("list")}


@scenario
def comparison_of_refits() -> Any:
    X, y = data.cube()
    other = sepc.SEPClassifier(max_ellipsoids=6).fit(X[1000:2000], y[1000:2000])
    return sepc.compare(data.cube_model(), other, X[2000:2600], y[2000:2600]).summary()


@scenario
def plan() -> Any:
    X, y = data.cube()
    y = data.changed(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "plan.toml")
        path.write_text(PLAN.format(digest=row_digest("kept with the plan", X[2500:], y[2500:])))
        first = check_plan(path, data.cube_model(), data.repaired_cube(), X[2500:], y[2500:])
        return {"summary": first.summary(), "passed": first.passed}


@scenario
def erasure() -> Any:
    X, y = data.cube()
    model = sepc.SEPClassifier(max_ellipsoids=6).fit(X[:600], y[:600])
    found = forget(model, X[:600], y[:600], rows=[3, 77, 500])
    left = np.delete(np.arange(600), [3, 77, 500])
    verify_receipt(found.receipt, found.model, X.iloc[left], y[left], found.salts)
    return {"summary": found.summary(), "decisions": decided(found.model.decide(X[2000:2030]))}
