"""`SelectiveClassifier` in a model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from sepc.estimators.selective.cost_control import CostControl
from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.risk_control import Control
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.shell import fill_shell, shell_to_node
from sepc.io.values import checked_plain, labels_from, labels_to_node, plain
from sepc.io.writer import Node, Writer

CONTROLS: dict[str, type[Control | CostControl]] = {"risk": Control, "cost": CostControl}


def write(selective: SelectiveClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a promise."""
    return shell_to_node(selective, but=("estimator", "max_risk")) | {
        "classes": labels_to_node(selective.classes_),
        "estimator": inner.to_node(selective.estimator_, writer.under("estimator")),
        "max_risk": _risk_to_node(selective.max_risk, selective.classes_),
        "controls": [_control_to_node(selective, label) for label in selective.controls_],
        "promised_confidence": selective.confidence_,
        "n_calibration": selective.n_calibration_,
        "coverage": selective.coverage_,
    }


def read(reader: Reader, inner: InnerModels) -> SelectiveClassifier:
    """Read a promise."""
    estimator = inner.from_node(reader.part("estimator"))
    selective = fill_shell(SelectiveClassifier(estimator), reader)
    selective.estimator_, selective.classes_ = estimator, labels_from(reader.part("classes"))
    selective.max_risk = _risk_from(reader.part("max_risk"), selective.classes_)
    controls = list(reader.parts("controls"))
    selective.controls_ = dict(_control_from(part, selective.classes_) for part in controls)
    selective.confidence_ = reader.number("promised_confidence", 0.0, 1.0)
    selective.n_calibration_ = reader.integer("n_calibration")
    selective.coverage_ = reader.number("coverage", 0.0, 1.0)
    several = isinstance(selective.max_risk, Mapping)
    if len(selective.controls_) != len(controls) or not controls or several is (None in selective.controls_):
        raise reader.wrong("makes no promise, or not the one asked for")
    thresholds = {label: one.threshold for label, one in selective.controls_.items()}
    selective.threshold_ = thresholds if several else thresholds[None]
    if isinstance(selective.max_risk, Costs):
        selective.mean_cost_ = controls[0].number("cost", 0.0)
    else:
        each = (part.number("risk_bound", 0.0, 1.0) for part in controls)
        bounds = dict(zip(selective.controls_, each, strict=True))
        selective.risk_bound_ = bounds if several else bounds[None]
    return selective


def _control_to_node(selective: SelectiveClassifier, label: Any) -> Node:
    names = {kind: name for name, kind in CONTROLS.items()}
    control = selective.controls_[label]
    bounds = getattr(selective, "risk_bound_", None)
    values = {name: _finite(value) for name, value in asdict(control).items()}
    bound = bounds[label] if isinstance(bounds, Mapping) else bounds
    return {"label": plain(label), "kind": names[type(control)], "risk_bound": bound, **values}


def _control_from(reader: Reader, classes: Any) -> tuple[Any, Control | CostControl]:
    kind = CONTROLS.get(reader.text("kind"))
    label = checked_plain(reader.node.get("label"), reader)
    if kind is None or (label is not None and label not in classes.tolist()):
        raise reader.wrong("is a promise of an unknown kind, or about an unknown label")
    values: dict[str, Any] = {
        one.name: reader.integer(one.name) if one.name.startswith("n_") else reader.number(one.name, 0.0)
        for one in fields(kind)
        if one.name != "threshold"
    }
    threshold = reader.number("threshold", 0.0) if reader.has("threshold") else math.inf
    return label, kind(threshold=threshold, **values)


def _finite(value: float) -> float | None:
    """JSON has no infinity: a threshold that nothing reaches is null."""
    return None if isinstance(value, float) and math.isinf(value) else value


def _risk_to_node(max_risk: Any, classes: Any) -> Node:
    if isinstance(max_risk, Costs):
        return {"costs": max_risk.matrix(classes).tolist(), "review": max_risk.review}
    if isinstance(max_risk, Mapping):
        return {"of_labels": [[plain(label), float(risk)] for label, risk in max_risk.items()]}
    return {"of_all": float(max_risk)}


def _risk_from(reader: Reader, classes: Any) -> Any:
    if reader.has("of_all"):
        return reader.number("of_all", 0.0, 1.0)
    if reader.has("of_labels"):
        pairs = reader.value("of_labels", list)
        if not all(isinstance(one, list) and len(one) == 2 and type(one[1]) is float for one in pairs):
            raise reader.wrong("holds risks that are no pairs of label and number")
        return {checked_plain(label, reader): risk for label, risk in pairs}
    costs = Costs(reader.value("costs", list), reader.number("review", 0.0))
    try:
        costs.matrix(classes)
    except (ValueError, TypeError) as error:
        raise reader.wrong("holds costs that are none") from error
    return costs
