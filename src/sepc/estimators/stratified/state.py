"""`StratifiedClassifier` in a model file."""

from __future__ import annotations

import numpy as np

from sepc.estimators.stratified.estimator import StratifiedClassifier
from sepc.estimators.stratified.strata import Strata
from sepc.io.estimator_fields import check_inner, fields_to_node, restore_fields
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.values import labels_from, labels_to_node, read_simple_value, simple_value
from sepc.io.writer import Node, Writer


def write(stratified: StratifiedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write strata and their models, which must be estimators of this library; the pooled model may be any."""
    strata = stratified.strata_
    models = {}
    for s, model in stratified.estimators_.items():
        models[str(s)] = inner.write(model, writer.under(f"models/{s}"))
        if models[str(s)] is None:
            kind = type(model).__name__
            raise TypeError(
                f"A model of a stratum is a {kind}, which is not an estimator of sepc, so it cannot be saved."
            )
    writer.put(by=stratified.by_, counts=strata.counts, fitted=strata.fitted)
    return fields_to_node(stratified, without=("estimator", "by", "pooled")) | {
        "classes": labels_to_node(stratified.classes_),
        "by_names": list(strata.by),
        "values": [[simple_value(value) for value in row] for row in strata.values],
        "sees_all": stratified.pooled is not None,
        "pooled": inner.to_node(stratified.pooled_, writer.under("pooled")),
        "models": models,
    }


def read(reader: Reader, inner: InnerModels) -> StratifiedClassifier:
    """Read strata and their models."""
    by, names = reader.ints("by", None), reader.texts("by_names")
    classes = labels_from(reader.part("classes"))
    counts = reader.counts("counts", None, len(classes))
    rows = reader.value("values", list)
    if len(rows) != len(counts) or not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        raise reader.wrong("has strata without categories")
    values = np.empty((len(counts), len(names)), dtype=object)
    for i, row in enumerate(rows):
        values[i] = [read_simple_value(value, reader) for value in row]
    strata = Strata(names, values, classes, counts, reader.bools("fitted", len(counts)))
    models = reader.value("models", dict)
    if set(models) != {str(s) for s in np.flatnonzero(strata.fitted)}:
        raise reader.wrong("has strata whose models are missing")
    estimators = {int(s): inner.read(reader.under(f"models/{s}", node)) for s, node in models.items()}
    pooled = inner.from_node(reader.part("pooled"))
    stratified = restore_fields(StratifiedClassifier(next(iter(estimators.values()), pooled), by.tolist()), reader)
    if len(by) != len(names) or (len(by) and by.max() >= stratified.n_features_in_) or len(set(by.tolist())) < len(by):
        raise reader.wrong("names columns that it does not have")
    stratified.pooled = pooled if reader.value("sees_all", bool) else None
    n_features = stratified.n_features_in_ - len(by)
    for model in estimators.values():
        check_inner(model, reader, n_features, classes, all_classes=False)
    n_pooled = n_features if stratified.pooled is None else stratified.n_features_in_
    check_inner(pooled, reader, n_pooled, classes, all_classes=False)
    stratified.classes_, stratified.strata_, stratified.by_ = classes, strata, by
    stratified.pooled_, stratified.estimators_ = pooled, dict(sorted(estimators.items()))
    return stratified
