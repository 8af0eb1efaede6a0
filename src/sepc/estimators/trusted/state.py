"""`TrustedClassifier` in a model file."""

from __future__ import annotations

from sklearn.base import clone

from sepc.estimators.sep import state as sep_state
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted.calibration import Calibration
from sepc.estimators.trusted.estimator import TrustedClassifier
from sepc.estimators.trusted.trust_model import N_SIGNALS, TrustModel
from sepc.io.estimator_fields import check_inner, fields_to_node, restore_fields
from sepc.io.fingerprint import fingerprint_of, reattach
from sepc.io.inner_models import InnerModels
from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.values import are_text, labels_from, labels_to_node
from sepc.io.writer import Node, Writer
from sepc.model.sep_model import SEPModel


def write(trusted: TrustedClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier with its partition and trust model."""
    return fields_to_node(trusted, without=("estimator", "partition", "transformer")) | {
        "classes": labels_to_node(trusted.classes_),
        "estimator": inner.to_node(trusted.estimator_, writer.under("estimator")),
        "transformer": fingerprint_of(trusted.transformer_) if hasattr(trusted, "transformer_") else None,
        "partition": sep_state.write(trusted.partition_, writer.under("partition"), inner),
        "own_partition": trusted.partition is not None,
        "trust": _trust_to_node(trusted.model_, writer.under("trust")),
    }


def read(reader: Reader, inner: InnerModels) -> TrustedClassifier:
    """Read a classifier with its partition and trust model."""
    estimator = inner.from_node(reader.part("estimator"))
    trusted = restore_fields(TrustedClassifier(estimator), reader)
    trusted.estimator_, trusted.classes_ = estimator, labels_from(reader.part("classes"))
    if reader.has("transformer"):
        trusted.transformer = trusted.transformer_ = reattach(
            inner.transformer, reader.part("transformer"), "transformer"
        )
    check_inner(estimator, reader, trusted.n_features_in_, trusted.classes_, all_classes=True)
    trusted.partition_ = sep_state.read(reader.part("partition"), inner)
    if are_text(trusted.partition_.classes_) is not are_text(trusted.classes_):
        raise reader.wrong("has a partition with labels of another type")
    if trusted.transformer is None and not _sees(trusted.partition_, trusted):
        raise reader.wrong("has a partition with other features")
    if reader.value("own_partition", bool):
        trusted.partition = clone(trusted.partition_)
    trusted.model_ = _trust_from(reader.part("trust"), trusted.partition_.model_)
    return trusted


def _sees(partition: SEPClassifier, trusted: TrustedClassifier) -> bool:
    """Whether the features of the partition are among those of the classifier."""
    seen, every = (getattr(estimator, "feature_names_in_", None) for estimator in (partition, trusted))
    if seen is None or every is None:
        return seen is every and partition.n_features_in_ <= trusted.n_features_in_
    return set(seen) <= set(every)


def _trust_to_node(trust: TrustModel, writer: Writer) -> Node:
    return {"base": trust.base, **record_to_node(trust.calibration, writer)}


def _trust_from(reader: Reader, partition: SEPModel) -> TrustModel:
    return TrustModel(partition, record_from(Calibration, reader, {"s": N_SIGNALS}), reader.text("base"))
