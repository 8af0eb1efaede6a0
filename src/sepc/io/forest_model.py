"""`ForestModel` and `TrustModel` in a model file."""

from __future__ import annotations

import numpy as np

from sepc.estimator.standard import Standardization
from sepc.io.nodes import Node, Reader, Writer
from sepc.io.sep_model import calibration_from, calibration_to_node, model_from, model_to_node
from sepc.io.values import labels_from, labels_to_node
from sepc.selective._forest_model import ForestModel, Head, Platt
from sepc.selective._members import Member
from sepc.selective._trust_layer import TrustModel

# By the base model and by the forest.
N_TRUST_SIGNALS = 2

# Directions of a member are orthonormal up to rounding.
ROUNDING = 1e-8


def forest_to_node(forest: ForestModel, writer: Writer) -> Node:
    """Write a forest."""
    head = forest.head
    writer.put(
        shift=forest.standard.shift,
        scale=forest.standard.scale,
        platt_weights=forest.platt.weights,
        platt_offsets=forest.platt.offsets,
    )
    if head is not None:
        writer.put(head_offsets=head.offsets)
    return {
        "classes": labels_to_node(forest.classes),
        "feature_names": list(forest.feature_names),
        "has_head": head is not None,
        "members": [
            _member_to_node(member, None if head is None else head.weights[b], writer.under(f"members/{b}"))
            for b, member in enumerate(forest.members)
        ],
    }


def _member_to_node(member: Member, weights: object, writer: Writer) -> Node:
    writer.put(projection=member.projection)
    if weights is not None:
        writer.put(head_weights=np.asarray(weights))
    return {"model": model_to_node(member.model, writer.under("model"))}


def forest_from(reader: Reader) -> ForestModel:
    """Read a forest."""
    classes, names = labels_from(reader.part("classes")), reader.texts("feature_names")
    n_classes, d = len(classes), len(names)
    has_head = reader.value("has_head", bool)
    members, weights = [], []
    for part in reader.parts("members"):
        member = _member_from(part, d)
        if not np.array_equal(member.model.classes, classes):
            raise part.wrong("has other classes than the forest")
        members.append(member)
        if has_head:
            weights.append(part.floats("head_weights", member.model.n_ellipsoids, n_classes))
    if not members or (reader.floats("scale", d) <= 0.0).any():
        raise reader.wrong("has no members, or a scale that is not positive")
    return ForestModel(
        classes=classes,
        feature_names=names,
        standard=Standardization(reader.floats("shift", d), reader.floats("scale", d)),
        members=tuple(members),
        platt=Platt(reader.floats("platt_weights", n_classes, n_classes), reader.floats("platt_offsets", n_classes)),
        head=Head(tuple(weights), reader.floats("head_offsets", n_classes)) if has_head else None,
    )


def _member_from(reader: Reader, d: int) -> Member:
    model = model_from(reader.part("model"))
    m = len(model.feature_names)
    projection = reader.floats("projection", d, m)
    with np.errstate(over="ignore", invalid="ignore"):
        is_orthonormal = np.allclose(projection.T @ projection, np.eye(m), atol=ROUNDING)
    if m > d or not is_orthonormal:
        raise reader.wrong("has directions that are not orthonormal")
    return Member(model, projection)


def trust_to_node(trust: TrustModel, writer: Writer) -> Node:
    """Write what trust in another model's labels is made from, but the forest."""
    return {
        "base": trust.base,
        "calibration": calibration_to_node(trust.calibration, writer.under("calibration")),
    }


def trust_from(reader: Reader, forest: ForestModel) -> TrustModel:
    """Read it."""
    calibration = calibration_from(reader.part("calibration"), N_TRUST_SIGNALS)
    return TrustModel(forest, calibration, reader.text("base"))
