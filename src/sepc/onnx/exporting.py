"""Export a fitted estimator as an ONNX file, with its inputs, labels and metadata."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sepc.decisions.kinds import Cause
from sepc.estimators.exported import Exported, type_of_labels
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.io.atomic_files import write_whole
from sepc.model.sep_model import SEPModel
from sepc.model.weights import FADING_BEGINS
from sepc.onnx.graph import IR_VERSION, OPSET, Graph, Value, onnx_package
from sepc.onnx.stages import (
    TARGET,
    TEXT_DOMAIN,
    TEXT_OPSET,
    ColumnInput,
    Geometry,
    decide_by_weights,
    guard_of,
    infos_of,
    inputs_of,
    rows_of,
    squared_distances,
)
from sepc.wording import version_of

if TYPE_CHECKING:
    from onnx import ModelProto


# The outputs after the label, in order, and their types.
KINDS = {"probabilities": "DOUBLE", "trust": "DOUBLE", "region": "INT64", "cause": "INT64", "accepted": "BOOL"}

LABEL_KINDS = {str: ("STRING", object), bool: ("BOOL", np.bool_), int: ("INT64", np.int64), float: ("DOUBLE", float)}


def facts(exported: Exported, inputs: tuple[ColumnInput, ...]) -> dict[str, str]:
    """The metadata of the file: the version of sepc, and everything else as JSON."""
    least = dict(zip(exported.decider.classes_.tolist(), exported.thresholds.tolist(), strict=True))
    accepted_from = [least.get(label, math.inf) for label in exported.classes.tolist()]
    own = {
        "estimator": exported.name,
        "decider": type(exported.decider).__name__,
        "classes": exported.classes.tolist(),
        "feature_names": list(exported.decider.model_.feature_names),
        "accepted_from_trust": [trust if math.isfinite(trust) else None for trust in accepted_from],
        **({"inputs": [given.facts() for given in inputs]} if inputs else {}),
        **({"remarks": list(exported.remarks)} if exported.remarks else {}),
        "causes": {str(int(cause)): cause.name for cause in Cause if cause is not Cause.DRIFTED},
    }
    return {"sepc_version": version_of("sepc")} | {name: json.dumps(fact) for name, fact in own.items()}


def label_constant(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The labels as an ONNX constant, and its type; raises TypeError if ONNX has no type for them."""
    kind, dtype = LABEL_KINDS[type_of_labels(classes, TARGET)]
    return classes.astype(dtype), kind


INPUT = "X"


def export(model: SEPClassifier | SelectiveClassifier, path: str | os.PathLike[str], *, terms: bool = False) -> None:
    """Write a fitted model as an ONNX file.

    The input `X` is a tensor of doubles of shape (n, d), in the user's own features. A model of a table with categories
    or dates has one input for each column instead, of shape (n,) and with the name of the column: doubles for numbers,
    strings for categories, and days since 1970 as doubles for dates. If numbers, dates or durations were text in
    training, the input is the number, not the text, and the metadata of the file says so. The outputs are those of
    `decide`: `label`, `probabilities`, `trust`, `region`, `cause` (as an integer, see `Cause`) and `accepted`. The file
    includes `min_trust`, or the thresholds of a `SelectiveClassifier`.

    Parameters
    ----------
    model : SEPClassifier or SelectiveClassifier
        Fitted with ``trust="weights"``, the default. A `SelectiveClassifier` must wrap an `SEPClassifier`, which may be
        in a `FrozenEstimator`.
    path : str or path
        The file to write. The same model always gives the same bytes. An existing file is replaced in one step.
    terms : bool, default=False
        Also output `runner_up` and `terms`, of shape (n, d + 2): what each feature adds to the log-odds of the label
        against the runner-up, in the order of ``feature_names`` in the metadata, then what the position relative to
        ellipsoids and isolated rows adds, and the log-odds of an average row. They add up to the log-odds; see `Terms`.

    Raises
    ------
    TypeError
        If ONNX cannot express the model, its labels or its categories.
    ImportError
        If the package onnx is not installed.

    Notes
    -----
    An ONNX graph does not impute missing values, and cannot raise errors. For rows with NaN or infinity, `trust` and
    `probabilities` are NaN, `accepted` is false, `cause` is MISSING or, for infinity, UNSEEN, `region` is -1, and
    `label` is the most common label of training, which says nothing about the row. A missing category
    is an empty string.

    Examples
    --------
    >>> import numpy as np, onnxruntime, sepc, sepc.onnx  # doctest: +SKIP
    >>> sepc.onnx.export(sepc.SEPClassifier().fit(X, y), "model.onnx")  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("model.onnx")  # doctest: +SKIP
    >>> label, trust = session.run(["label", "trust"], {"X": np.asarray(X, dtype=np.float64)})  # doctest: +SKIP
    """
    write_whole(path, as_proto(model, terms).SerializeToString(deterministic=True))


def as_proto(model: Any, terms: bool = False) -> ModelProto:
    """The model as a checked ONNX `ModelProto`."""
    onnx = onnx_package()
    exported = Exported.of(model, TARGET)
    labels, label_kind = label_constant(exported.decider.classes_)
    n_classes, kinds = len(exported.classes), {"label": label_kind, **KINDS}
    kinds |= {"runner_up": label_kind, "terms": "DOUBLE"} if terms else {}
    preparation = exported.decider.encoding_
    inputs = () if preparation is None else inputs_of(preparation, tuple(kinds))
    graph = Graph(taken=[*kinds, *(own.name for own in inputs)])
    values = _decided(graph, exported, inputs)
    for name in ("label", "runner_up") if terms else ("label",):
        values[name] = graph("Gather", labels, values[name])
    if n_classes > len(labels):
        columns = exported.decider.classes_[:, None] == exported.classes
        values["probabilities"] = graph("MatMul", values["probabilities"], columns.astype(np.float64))

    widths = {"probabilities": [n_classes], "terms": [len(exported.model.feature_names) + 2]}
    shapes = {name: ["n", *widths.get(name, [])] for name in kinds}
    matrix = onnx.helper.make_tensor_value_info(INPUT, onnx.TensorProto.DOUBLE, ["n", exported.decider.n_features_in_])
    given = infos_of(inputs) if inputs else [matrix]
    opsets = {"": OPSET} | ({TEXT_DOMAIN: TEXT_OPSET} if any(own.gap is not None for own in inputs) else {})
    outputs = {
        name: (values[name], onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shapes[name]))
        for name, kind in kinds.items()
    }
    proto: ModelProto = onnx.helper.make_model(
        graph.finished(given, outputs),
        producer_name="sepc",
        producer_version=version_of("sepc"),
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid(domain, number) for domain, number in opsets.items()],
        doc_string="Decisions of a model of the Python package sepc.",
    )
    onnx.helper.set_model_props(proto, facts(exported, inputs))
    onnx.checker.check_model(proto)
    return proto


def _decided(graph: Graph, exported: Exported, inputs: Collection[ColumnInput]) -> dict[str, Value]:
    """All outputs, with labels as positions. Rows with NaN or infinity are replaced by zeros, and marked afterwards."""
    model, min_trust = exported.model, float(exported.decider.min_trust)
    preparation = exported.decider.encoding_
    rows, codes = (INPUT, None) if preparation is None else rows_of(graph, preparation, inputs)
    rows, codes = _with_typical(graph, model, rows, codes)
    is_bad = graph("IsNaN", graph.total(graph("Mul", rows, 0.0), 1))
    bad_rows = graph("Unsqueeze", is_bad, [1])
    geometry = Geometry.of(graph, model, graph("Where", bad_rows, np.zeros(len(model.shift)), rows))
    values, inside = decide_by_weights(graph, model, exported.weights, geometry, codes)
    accepted = graph("GreaterOrEqual", values["trust"], min_trust)
    values["cause"] = _causes(graph, model, geometry, inside, accepted, min_trust)
    values["terms"] = graph("Where", bad_rows, np.nan, values["terms"])
    values["label"] = graph("Where", is_bad, np.int64(model.class_counts.argmax()), values["label"])
    values["region"] = graph("Where", is_bad, np.int64(-1), values["region"])
    values["probabilities"] = graph("Where", bad_rows, np.nan, values["probabilities"])
    values["trust"] = graph("Where", is_bad, np.nan, values["trust"])
    values |= _accepted(graph, exported, values)
    n_gaps = graph.total(graph.cast(graph("IsNaN", rows), "FLOAT"), 1)
    has_gaps = graph("Greater", n_gaps, np.float32(0.0))
    why = graph("Where", has_gaps, np.int64(Cause.MISSING), np.int64(Cause.UNSEEN))
    values["cause"] = graph("Where", is_bad, why, values["cause"])
    return values


def _with_typical(graph: Graph, model: SEPModel, rows: Value, codes: Value | None) -> tuple[Value, Value | None]:
    """The rows and codes with the typical values of columns that an edit dropped."""
    edits, d = model.edits, len(model.shift)
    if edits is None or len(edits.fixed) == 0:
        return rows, codes
    is_fixed, values = np.zeros(d + model.n_codes, dtype=bool), np.zeros(d + model.n_codes)
    is_fixed[edits.fixed], values[edits.fixed] = True, edits.typical
    rows = graph("Where", is_fixed[:d], values[:d], rows)
    if codes is None or not is_fixed[d:].any():
        return rows, codes
    return rows, graph("Where", is_fixed[d:, np.newaxis], values[d:, np.newaxis].astype(np.int64), codes)


def _accepted(graph: Graph, exported: Exported, values: dict[str, Value]) -> dict[str, Value]:
    """Compare trust with the thresholds; those of a `SelectiveClassifier` may reject labels that the model accepts."""
    accepted = graph("GreaterOrEqual", values["trust"], graph("Gather", exported.thresholds, values["label"]))
    if not exported.is_promised:
        return {"accepted": accepted}
    own = graph("Equal", values["cause"], np.int64(Cause.ACCEPTED))
    refused = graph("Where", own, np.int64(Cause.THIN), values["cause"])
    return {"accepted": accepted, "cause": graph("Where", accepted, np.int64(Cause.ACCEPTED), refused)}


def _causes(
    graph: Graph, model: SEPModel, geometry: Geometry, inside: Value, accepted: Value, min_trust: float
) -> Value:
    """Causes, of shape (n,), from the training rows within reach of each row."""
    near = _rows_within_reach(graph, model, geometry)
    n_near = graph.total(near, 0)
    is_outside = graph("And", graph("Equal", n_near, 0.0), graph("Not", inside))
    guard = guard_of(graph, model, geometry)
    if guard is not None:
        is_outside = graph("Or", is_outside, graph("Greater", guard, FADING_BEGINS))
    is_thin = graph("GreaterOrEqual", graph("ReduceMax", near, [0], keepdims=0), graph("Mul", n_near, min_trust))
    why = graph("Where", is_thin, np.int64(Cause.THIN), np.int64(Cause.OVERLAP))
    refused = graph("Where", is_outside, np.int64(Cause.UNSEEN), why)
    return graph("Where", accepted, np.int64(Cause.ACCEPTED), refused)


def _rows_within_reach(graph: Graph, model: SEPModel, geometry: Geometry) -> Value:
    """Training rows of each class whose ellipsoids are all within reach, plus isolated rows within reach; (C, n)."""
    parts = []
    if geometry.squared is not None:
        seen = model.table.memberships.any(axis=1)
        beyond = graph.cast(graph("Not", _within_reach(graph, model, geometry.columns, geometry.squared)), "FLOAT")
        n_beyond = graph("MatMul", model.table.memberships[seen].astype(np.float32), beyond)
        near = graph.cast(graph("Equal", n_beyond, np.float32(0.0)), "DOUBLE")
        parts.append(graph("MatMul", model.table.counts[seen].T.astype(np.float64), near))
    if geometry.apart is not None:
        near = graph.cast(graph("LessOrEqual", geometry.apart, model.reach**2), "DOUBLE")
        owners = model.counts_at(np.arange(model.n_ellipsoids, model.n_places))
        parts.append(graph("MatMul", owners.T.astype(np.float64), near))
    return graph("Add", *parts) if len(parts) == 2 else parts[0]


def _within_reach(graph: Graph, model: SEPModel, columns: Value, squared: Value) -> Value:
    """Whether each ellipsoid is within reach along the line to its center."""
    outer_part = graph("Sub", 1.0, graph("Reciprocal", graph("Sqrt", graph("Max", squared, 1.0))))
    to_centers = graph("Sqrt", graph("Max", squared_distances(graph, columns, model.centers), 0.0))
    return graph("LessOrEqual", graph("Mul", to_centers, outer_part), model.reach)
