"""`RepairedClassifier` in a model file: the classifier, the models of its regions, and what was changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from sepc.estimator.classifier import SEPClassifier
from sepc.io.estimators import classifier_from, classifier_to_node, fill_shell, shell_to_node
from sepc.io.nodes import Node, Reader, Writer
from sepc.io.wrappers import Inner
from sepc.selective.repaired import Change, RepairedClassifier


def repaired_to_node(repaired: RepairedClassifier, writer: Writer, inner: Inner) -> Node:
    """Write a repaired classifier; a model that several regions share is written once."""
    models = list({id(model): model for model in repaired.repaired_.values()}.values())
    place = {id(model): i for i, model in enumerate(models)}
    writer.put(
        regions=np.array(list(repaired.repaired_), dtype=np.int64),
        asked=np.array([place[id(model)] for model in repaired.repaired_.values()], dtype=np.int64),
    )
    return shell_to_node(repaired, but=("estimator",)) | {
        "estimator": inner.to_node(repaired.estimator_, writer.under("estimator")),
        "models": [classifier_to_node(model, writer.under(f"models/{i}")) for i, model in enumerate(models)],
        "changes": [asdict(change) for change in repaired.changes_],
    }


def repaired_from(reader: Reader, inner: Inner) -> RepairedClassifier:
    """Read a repaired classifier."""
    estimator = inner.from_node(reader.part("estimator"))
    if not isinstance(estimator, SEPClassifier):
        raise reader.wrong("repairs something that is no SEPClassifier")
    models = [_fitting(classifier_from(part), estimator, part) for part in reader.parts("models")]
    regions = reader.wholes("regions", None, low=-1, below=len(estimator.regions_))
    asked = reader.wholes("asked", len(regions), below=len(models))
    if (np.diff(regions) <= 0).any() or list(dict.fromkeys(asked.tolist())) != list(range(len(models))):
        raise reader.wrong("has regions twice, or models that no region asks")
    changes = tuple(_change_from(part) for part in reader.parts("changes"))
    found = {int(region): models[i] for region, i in zip(regions, asked, strict=True)}
    repaired = fill_shell(RepairedClassifier.of(estimator, found, changes), reader)
    if repaired.n_features_in_ != estimator.n_features_in_:
        raise reader.wrong("has another number of features than its estimator")
    return repaired


def _fitting(model: SEPClassifier, estimator: SEPClassifier, reader: Reader) -> SEPClassifier:
    """A region's model, if it has the features of the estimator, and no other labels."""
    same = (
        model.n_features_in_ == estimator.n_features_in_ and model.classes_.dtype.kind == estimator.classes_.dtype.kind
    )
    if not (same and np.isin(model.classes_, estimator.classes_).all() and _names(model) == _names(estimator)):
        raise reader.wrong("has other features or labels than the classifier it repairs")
    return model


def _names(classifier: SEPClassifier) -> Any:
    names = getattr(classifier, "feature_names_in_", None)
    return None if names is None else list(names)


def _change_from(reader: Reader) -> Change:
    return Change(
        region=reader.whole("region", low=-1),
        n_made=reader.whole("n_made"),
        n_judged=reader.whole("n_judged"),
        errors_before=reader.whole("errors_before"),
        errors_after=reader.whole("errors_after"),
        kept=reader.value("kept", bool),
    )
