"""`StratifiedClassifier` in a model file."""

from __future__ import annotations

import numpy as np

from sepc.estimators.stratified.estimator import StratifiedClassifier
from sepc.estimators.stratified.strata import Strata
from sepc.io.estimator_fields import check_inner, fields_to_node, restore_fields
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.writer import Node, Writer


def write(stratified: StratifiedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write strata and their models, which must be estimators of this library; the pooled model may be any."""
    models = {}
    for s, model in stratified.estimators_.items():
        models[str(s)] = inner.write(model, writer.under(f"models/{s}"))
        if models[str(s)] is None:
            kind = type(model).__name__
            raise TypeError(
                f"A model of a stratum is a {kind}, which is not an estimator of sepc, so it cannot be saved."
            )
    writer.put(by=stratified.by_)
    return fields_to_node(stratified, without=("estimator", "by", "pooled")) | {
        **record_to_node(stratified.strata_, writer),
        "sees_all": stratified.sees_all_,
        "pooled": inner.to_node(stratified.pooled_, writer.under("pooled")),
        "models": models,
    }


def read(reader: Reader, inner: InnerModels) -> StratifiedClassifier:
    """Read strata and their models."""
    strata, models = record_from(Strata, reader), reader.value("models", dict)
    by, classes = reader.ints("by", len(strata.by)), strata.classes
    if set(models) != {str(s) for s in np.flatnonzero(strata.fitted)}:
        raise reader.wrong("has strata whose models are missing")
    estimators = {int(s): inner.read(reader.under(f"models/{s}", node)) for s, node in models.items()}
    pooled = inner.from_node(reader.part("pooled"))
    stratified = restore_fields(StratifiedClassifier(next(iter(estimators.values()), pooled), by.tolist()), reader)
    if (by >= stratified.n_features_in_).any() or len(set(by.tolist())) < len(by):
        raise reader.wrong("names columns that it does not have, or the same column twice")
    stratified.sees_all_ = reader.value("sees_all", bool)
    stratified.pooled = pooled if stratified.sees_all_ else None
    n_features = stratified.n_features_in_ - len(by)
    for model in estimators.values():
        check_inner(model, reader, n_features, classes, all_classes=False)
    n_pooled = n_features if stratified.pooled is None else stratified.n_features_in_
    check_inner(pooled, reader, n_pooled, classes, all_classes=False)
    stratified.classes_, stratified.strata_, stratified.by_ = classes, strata, by
    stratified.pooled_, stratified.estimators_ = pooled, dict(sorted(estimators.items()))
    return stratified
