"""`RepairedClassifier` in a model file: the classifier, the models of its regions, and the changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sepc.estimators.repaired.changes import Change
from sepc.estimators.repaired.estimator import RepairedClassifier
from sepc.estimators.repaired.partition import HasRegions, partition_of
from sepc.estimators.sep import state as sep_state
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.io.estimator_fields import fields_to_node, restore_fields
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.values import are_among
from sepc.io.writer import Node, Writer


def write(repaired: RepairedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a repaired classifier; a model that several regions share is written once."""
    models = list({id(model): model for model in repaired.repaired_.values()}.values())
    place = {id(model): i for i, model in enumerate(models)}
    writer.put(
        regions=np.array(list(repaired.repaired_), dtype=np.int64),
        asked=np.array([place[id(model)] for model in repaired.repaired_.values()], dtype=np.int64),
    )
    return fields_to_node(repaired, without=("estimator",)) | {
        "estimator": inner.to_node(repaired.estimator_, writer.under("estimator")),
        "models": [sep_state.write(model, writer.under(f"models/{i}"), inner) for i, model in enumerate(models)],
        "changes": [record_to_node(change, writer) for change in repaired.changes_],
        "lost_promise": repaired.lost_promise_,
    }


def read(reader: Reader, inner: InnerModels) -> RepairedClassifier:
    """Read a repaired classifier."""
    estimator = inner.from_node(reader.part("estimator"))
    if not isinstance(estimator, HasRegions):
        raise reader.wrong("repairs something that has no regions")
    models = [_fitting(sep_state.read(part, inner), estimator, part) for part in reader.parts("models")]
    regions = reader.ints("regions", None, low=-1, below=len(partition_of(estimator).regions_))
    asked = reader.ints("asked", len(regions), below=len(models))
    if (np.diff(regions) <= 0).any() or list(dict.fromkeys(asked.tolist())) != list(range(len(models))):
        raise reader.wrong("has repeated regions, or models that no region uses")
    changes = tuple(record_from(Change, part) for part in reader.parts("changes"))
    model_of = {int(region): models[i] for region, i in zip(regions, asked, strict=True)}
    lost_promise = reader.value("lost_promise", bool)
    repaired = restore_fields(RepairedClassifier.of(estimator, model_of, changes, lost_promise), reader)
    if repaired.n_features_in_ != estimator.n_features_in_:
        raise reader.wrong("differs from its estimator in the number of features")
    return repaired


def _fitting(model: SEPClassifier, estimator: HasRegions, reader: Reader) -> SEPClassifier:
    """Return a region's model if it takes the columns of the partition and has labels of the estimator, else raise."""
    known, labels = estimator.classes_, model.classes_
    same_labels = labels.dtype.kind == known.dtype.kind and are_among(labels, known)
    if not same_labels or _columns(model) != _columns(partition_of(estimator)):
        raise reader.wrong("differs in features or labels from the classifier it repairs")
    return model


def _columns(classifier: SEPClassifier) -> Any:
    """The columns a classifier takes and how they become features, as comparable values."""
    names, preparation = getattr(classifier, "feature_names_in_", None), classifier.encoding_
    named = classifier.n_features_in_, None if names is None else list(names)
    if preparation is None:
        return named
    return (
        *named,
        preparation.columns,
        preparation.feature_names,
        {name: each.values for name, each in preparation.categories.items()},
    )
