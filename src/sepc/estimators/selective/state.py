"""`SelectiveClassifier` in a model file."""

from __future__ import annotations

from sepc.estimators.selective._made_for import MadeFor
from sepc.estimators.selective.estimator import SelectiveClassifier, with_promise
from sepc.estimators.selective.promise import Promise
from sepc.io.codec import Node, Reader, Writer, labels_from, labels_to_node, record_from, record_to_node
from sepc.io.estimator_fields import InnerModels, check_inner, fields_to_node, restore_fields


def write(selective: SelectiveClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier and its promise, which a reader finds lost if the model has other edits than then."""
    selective.made_for_.check()
    promise = selective.lost_promise_ or selective.promise_
    return fields_to_node(selective, without=("estimator", "max_risk", "by", "parents")) | {
        "classes": labels_to_node(selective.classes_),
        "estimator": inner.to_node(selective.estimator_, writer.under("estimator")),
        "promise": record_to_node(promise, writer.under("promise")),
        "is_lost": selective.lost_promise_ is not None,
    }


def read(reader: Reader, inner: InnerModels) -> SelectiveClassifier:
    """Read a classifier and its promise."""
    estimator, classes = inner.from_node(reader.part("estimator")), labels_from(reader.part("classes"))
    promise = record_from(Promise, reader.part("promise"), {"C": len(classes)})
    by = None if promise.groups is None else list(promise.groups.by)
    selective = restore_fields(SelectiveClassifier(estimator, by=by[0] if by and len(by) == 1 else by), reader)
    if promise.groups is not None:
        if promise.groups.one_threshold is not selective.one_threshold:
            raise reader.wrong("has promises that do not match its groups")
        selective.parents = dict(promise.groups.parents) or None
    selective.max_risk = promise.max_risk
    selective.estimator_, selective.classes_, selective.made_for_ = estimator, classes, MadeFor(estimator)
    check_inner(estimator, reader, selective.n_features_in_, classes, all_classes=False)
    if promise.groups is None and not set(promise.controls) <= {None, *classes.tolist()}:
        raise reader.wrong("has promises that do not match its max_risk")
    selective = with_promise(selective, promise)
    if reader.value("is_lost", bool) is (selective.lost_promise_ is None):
        raise reader.wrong("has a promise that was lost by edits that the model does not have, or kept despite some")
    return selective
