"""`TrustedClassifier`, `SelectiveClassifier` and `StratifiedClassifier` in a model file.

What is inside a wrapper is written with it if it is ours, and else recognised by its fingerprint when given again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sepc.estimators.stratified.strata import Strata
from sepc.estimators.trusted.trust_model import N_SIGNALS, TrustModel
from sepc.io.estimators import classifier_from, classifier_to_node, fill_shell, shell_to_node
from sepc.io.fingerprint import fingerprint_of, reattached
from sepc.io.nodes import Node, Reader, Writer
from sepc.io.values import checked_plain, labels_from, labels_to_node, plain
from sepc.regions.calibration import Calibration
from sepc.regions.model import SEPModel
from sepc.selective._cost_control import CostControl
from sepc.selective._risk_control import Control
from sepc.selective.costs import Costs
from sepc.selective.selective import SelectiveClassifier
from sepc.selective.stratified import StratifiedClassifier
from sepc.selective.trusted import TrustedClassifier

CONTROLS: dict[str, type[Control | CostControl]] = {"risk": Control, "cost": CostControl}


@dataclass(frozen=True)
class Inner:
    """How models inside a wrapper are written and read: ours as nodes, others by their fingerprint."""

    write: Callable[[Any, Writer], Node | None]
    read: Callable[[Reader], Any]
    estimator: Any = None
    view: Any = None

    def to_node(self, model: Any, writer: Writer) -> Node:
        """Write a model inside a wrapper."""
        own = self.write(model, writer.under("ours"))
        return {"ours": own} if own is not None else {"foreign": fingerprint_of(model)}

    def from_node(self, reader: Reader) -> Any:
        """Read it, or take the one given."""
        if reader.has("ours"):
            return self.read(reader.part("ours"))
        return reattached(self.estimator, reader.part("foreign"), "estimator")


def trusted_to_node(trusted: TrustedClassifier, writer: Writer, inner: Inner) -> Node:
    """Write a trust layer."""
    return shell_to_node(trusted, but=("estimator", "partition", "view")) | {
        "classes": labels_to_node(trusted.classes_),
        "estimator": inner.to_node(trusted.estimator_, writer.under("estimator")),
        "view": None if trusted.view is None else fingerprint_of(trusted.view_),
        "partition": classifier_to_node(trusted.partition_, writer.under("partition")),
        "own_partition": trusted.partition is not None,
        "trust": _trust_to_node(trusted.model_, writer.under("trust")),
    }


def trusted_from(reader: Reader, inner: Inner) -> TrustedClassifier:
    """Read a trust layer."""
    estimator = inner.from_node(reader.part("estimator"))
    trusted = fill_shell(TrustedClassifier(estimator), reader)
    trusted.estimator_, trusted.classes_ = estimator, labels_from(reader.part("classes"))
    if reader.has("view"):
        trusted.view = trusted.view_ = reattached(inner.view, reader.part("view"), "view")
    trusted.partition_ = classifier_from(reader.part("partition"))
    if _are_text(trusted.partition_.classes_) is not _are_text(trusted.classes_):
        raise reader.wrong("has a partition whose labels are not of its own type")
    if reader.value("own_partition", bool):
        trusted.partition = clone(trusted.partition_)
    trusted.model_ = _trust_from(reader.part("trust"), trusted.partition_.model_)
    return trusted


def _are_text(labels: NDArray[Any]) -> bool:
    """Whether labels are text, or anything else that is not compared with numbers."""
    return labels.dtype.kind not in "biuf"


def _trust_to_node(trust: TrustModel, writer: Writer) -> Node:
    writer.put(coefficients=trust.calibration.coefficients)
    return {"base": trust.base, "intercept": trust.calibration.intercept}


def _trust_from(reader: Reader, partition: SEPModel) -> TrustModel:
    coefficients = reader.floats("coefficients", N_SIGNALS)
    if (coefficients < 0.0).any():
        raise reader.wrong("has a negative coefficient")
    return TrustModel(partition, Calibration(coefficients, reader.number("intercept")), reader.text("base"))


def selective_to_node(selective: SelectiveClassifier, writer: Writer, inner: Inner) -> Node:
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


def selective_from(reader: Reader, inner: Inner) -> SelectiveClassifier:
    """Read a promise."""
    estimator = inner.from_node(reader.part("estimator"))
    selective = fill_shell(SelectiveClassifier(estimator), reader)
    selective.estimator_, selective.classes_ = estimator, labels_from(reader.part("classes"))
    selective.max_risk = _risk_from(reader.part("max_risk"), selective.classes_)
    controls = list(reader.parts("controls"))
    selective.controls_ = dict(_control_from(part, selective.classes_) for part in controls)
    selective.confidence_ = reader.number("promised_confidence", 0.0, 1.0)
    selective.n_calibration_ = reader.whole("n_calibration")
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
        one.name: reader.whole(one.name) if one.name.startswith("n_") else reader.number(one.name, 0.0)
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


def stratified_to_node(stratified: StratifiedClassifier, writer: Writer, inner: Inner) -> Node:
    """Write strata and their models, which must be ours; the pooled one may be another's."""
    strata = stratified.strata_
    models = {}
    for s, model in stratified.estimators_.items():
        models[str(s)] = inner.write(model, writer.under(f"models/{s}"))
        if models[str(s)] is None:
            kind = type(model).__name__
            raise TypeError(f"The models of the strata are {kind}s, which are not ours; they cannot be written.")
    writer.put(by=stratified.by_, counts=strata.counts, fitted=strata.fitted)
    return shell_to_node(stratified, but=("estimator", "by", "pooled")) | {
        "classes": labels_to_node(stratified.classes_),
        "by_names": list(strata.by),
        "values": [[plain(value) for value in row] for row in strata.values],
        "sees_all": stratified.pooled is not None,
        "pooled": inner.to_node(stratified.pooled_, writer.under("pooled")),
        "models": models,
    }


def stratified_from(reader: Reader, inner: Inner) -> StratifiedClassifier:
    """Read strata and their models."""
    by, names = reader.wholes("by", None), reader.texts("by_names")
    classes = labels_from(reader.part("classes"))
    counts = reader.wholes("counts", None, len(classes))
    values = np.empty((len(counts), len(names)), dtype=object)
    rows = reader.value("values", list)
    if len(rows) != len(values) or not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        raise reader.wrong("has strata without their categories")
    for i, row in enumerate(rows):
        values[i] = [checked_plain(value, reader) for value in row]
    strata = Strata(names, values, classes, counts, reader.truths("fitted", len(counts)))
    models = reader.value("models", dict)
    if set(models) != {str(s) for s in np.flatnonzero(strata.fitted)}:
        raise reader.wrong("has strata without their models")
    found = {int(s): inner.read(reader.under(f"models/{s}", node)) for s, node in models.items()}
    pooled = inner.from_node(reader.part("pooled"))
    stratified = fill_shell(StratifiedClassifier(next(iter(found.values()), pooled), by.tolist()), reader)
    if len(by) != len(names) or (len(by) and by.max() >= stratified.n_features_in_) or len(set(by.tolist())) < len(by):
        raise reader.wrong("names columns that it does not have")
    stratified.pooled = pooled if reader.value("sees_all", bool) else None
    stratified.classes_, stratified.strata_, stratified.by_ = classes, strata, by
    stratified.pooled_, stratified.estimators_ = pooled, dict(sorted(found.items()))
    return stratified
