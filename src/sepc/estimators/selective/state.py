"""`SelectiveClassifier` in a model file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from sepc.estimators.selective.cost_control import CostControl
from sepc.estimators.selective.costs import Costs
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.risk_control import Control
from sepc.io.estimator_fields import fields_to_node, restore_fields
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.values import labels_from, labels_to_node, read_simple_value, simple_value
from sepc.io.writer import Node, Writer

CONTROLS: dict[str, type[Control | CostControl]] = {"risk": Control, "cost": CostControl}


def write(selective: SelectiveClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier and its promise."""
    return fields_to_node(selective, without=("estimator", "max_risk")) | {
        "classes": labels_to_node(selective.classes_),
        "estimator": inner.to_node(selective.estimator_, writer.under("estimator")),
        "max_risk": _risk_to_node(selective.max_risk, selective.classes_),
        "controls": [_control_to_node(selective, label) for label in selective.controls_],
        "promised_confidence": selective.confidence_,
        "n_calibration": selective.n_calibration_,
        "coverage": selective.coverage_,
    }


def read(reader: Reader, inner: InnerModels) -> SelectiveClassifier:
    """Read a classifier and its promise."""
    estimator = inner.from_node(reader.part("estimator"))
    selective = restore_fields(SelectiveClassifier(estimator), reader)
    selective.estimator_, selective.classes_ = estimator, labels_from(reader.part("classes"))
    if len(np.setdiff1d(estimator.classes_, selective.classes_)):
        raise reader.wrong("lacks a class of its classifier")
    selective.max_risk = _risk_from(reader.part("max_risk"), selective.classes_)
    controls = list(reader.parts("controls"))
    selective.controls_ = dict(_control_from(part, selective.classes_) for part in controls)
    selective.confidence_ = reader.number("promised_confidence", 0.0, 1.0)
    selective.n_calibration_ = reader.integer("n_calibration")
    selective.coverage_ = reader.number("coverage", 0.0, 1.0)
    several = isinstance(selective.max_risk, Mapping)
    if len(selective.controls_) != len(controls) or not controls or several is (None in selective.controls_):
        raise reader.wrong("has promises that do not match its max_risk")
    thresholds = {label: control.threshold for label, control in selective.controls_.items()}
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
    return {"label": simple_value(label), "kind": names[type(control)], "risk_bound": bound, **values}


def _control_from(reader: Reader, classes: Any) -> tuple[Any, Control | CostControl]:
    kind = CONTROLS.get(reader.text("kind"))
    label = read_simple_value(reader.node.get("label"), reader)
    if kind is None or (label is not None and label not in classes.tolist()):
        raise reader.wrong("has a promise of an unknown kind, or about an unknown label")
    values: dict[str, Any] = {
        field.name: reader.integer(field.name) if field.name.startswith("n_") else reader.number(field.name, 0.0)
        for field in fields(kind)
        if field.name != "threshold"
    }
    threshold = reader.number("threshold", 0.0) if reader.has("threshold") else math.inf
    return label, kind(threshold=threshold, **values)


def _finite(value: float) -> float | None:
    """JSON has no infinity, so an infinite threshold is written as null."""
    return None if isinstance(value, float) and math.isinf(value) else value


def _risk_to_node(max_risk: Any, classes: Any) -> Node:
    if isinstance(max_risk, Costs):
        return {"costs": max_risk.matrix(classes).tolist(), "review": max_risk.review}
    if isinstance(max_risk, Mapping):
        return {"of_labels": [[simple_value(label), float(risk)] for label, risk in max_risk.items()]}
    return {"of_all": float(max_risk)}


def _risk_from(reader: Reader, classes: Any) -> Any:
    if reader.has("of_all"):
        return reader.number("of_all", 0.0, 1.0)
    if reader.has("of_labels"):
        pairs = reader.value("of_labels", list)
        if not all(isinstance(pair, list) and len(pair) == 2 and type(pair[1]) is float for pair in pairs):
            raise reader.wrong("holds risks that are not pairs of label and number")
        return {read_simple_value(label, reader): risk for label, risk in pairs}
    costs = Costs(reader.value("costs", list), reader.number("review", 0.0))
    try:
        costs.matrix(classes)
    except (ValueError, TypeError) as error:
        raise reader.wrong("holds invalid costs") from error
    return costs
