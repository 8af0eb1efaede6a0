"""Export a fitted estimator as an ONNX file."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.decisions.kinds import Cause
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.io.atomic_files import write_whole
from sepc.model.sep_model import SEPModel
from sepc.onnx.causes import causes
from sepc.onnx.exported import Exported, label_constant
from sepc.onnx.graph import IR_VERSION, OPSET, Graph, Value, onnx_package
from sepc.onnx.locating import Lying
from sepc.onnx.rules import judged
from sepc.onnx.weights import weighed

if TYPE_CHECKING:
    from onnx import ModelProto

INPUT = "X"

# The outputs after the label, in order, and their types.
KINDS = {"probabilities": "DOUBLE", "trust": "DOUBLE", "region": "INT64", "cause": "INT64", "accepted": "BOOL"}


def export(model: SEPClassifier | SelectiveClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted model as an ONNX file.

    The input `X` is a tensor of doubles of shape (n, d), in the user's own features. The outputs are those of `decide`:
    `label`, `probabilities`, `trust`, `region`, `cause` (as an integer, see `Cause`) and `accepted`. The file includes
    `min_trust`, or the thresholds of a `SelectiveClassifier`.

    Parameters
    ----------
    model : SEPClassifier or SelectiveClassifier
        Fitted; a `SelectiveClassifier` must wrap an `SEPClassifier`, which may be in a `FrozenEstimator`.
    path : str or path
        The file to write. The same model always gives the same bytes. An existing file is replaced in one step.

    Notes
    -----
    An ONNX graph cannot raise errors. For rows with NaN or infinity, `trust` and `probabilities` are NaN, `accepted` is
    false, `cause` is UNSEEN, `region` is -1, and `label` is meaningless.

    Examples
    --------
    >>> import numpy as np, onnxruntime, sepc, sepc.onnx  # doctest: +SKIP
    >>> sepc.onnx.export(sepc.SEPClassifier().fit(X, y), "model.onnx")  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession("model.onnx")  # doctest: +SKIP
    >>> label, trust = session.run(["label", "trust"], {"X": np.asarray(X, dtype=np.float64)})  # doctest: +SKIP
    """
    write_whole(path, as_proto(model).SerializeToString(deterministic=True))


def as_proto(model: Any) -> ModelProto:
    """The model as a checked ONNX `ModelProto`."""
    onnx = onnx_package()
    exported = Exported.of(model)
    labels, label_kind = label_constant(exported.decider.classes_)
    graph = Graph()
    values = _decided(graph, exported)
    values["label"] = graph("Gather", labels, values["label"])
    n_classes, kinds = len(exported.classes), {"label": label_kind, **KINDS}
    if n_classes > len(labels):
        columns = exported.decider.classes_[:, None] == exported.classes
        values["probabilities"] = graph("MatMul", values["probabilities"], columns.astype(np.float64))

    shapes = {name: ["n", n_classes] if name == "probabilities" else ["n"] for name in kinds}
    given = onnx.helper.make_tensor_value_info(INPUT, onnx.TensorProto.DOUBLE, ["n", exported.decider.n_features_in_])
    outputs = {
        name: (values[name], onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shapes[name]))
        for name, kind in kinds.items()
    }
    proto: ModelProto = onnx.helper.make_model(
        graph.finished([given], outputs),
        producer_name="sepc",
        producer_version=version("sepc"),
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        doc_string="Decisions of a model of the Python package sepc.",
    )
    onnx.helper.set_model_props(proto, exported.facts())
    onnx.checker.check_model(proto)
    return proto


def _decided(graph: Graph, exported: Exported) -> dict[str, Value]:
    """All outputs, with labels as positions. Rows with NaN or infinity are replaced by zeros, and marked afterwards."""
    decider, min_trust = exported.decider, float(exported.decider.min_trust)
    is_bad = graph("IsNaN", graph.total(graph("Mul", INPUT, 0.0), 1))
    bad_rows = graph("Unsqueeze", is_bad, [1])
    given = graph("Where", bad_rows, np.zeros(decider.n_features_in_), INPUT)
    values = _decide(graph, decider.model_, given, min_trust)
    values["region"] = graph("Where", is_bad, np.int64(-1), values["region"])
    values["probabilities"] = graph("Where", bad_rows, np.nan, values["probabilities"])
    values["trust"] = graph("Where", is_bad, np.nan, values["trust"])
    values |= _accepted(graph, exported, values)
    values["cause"] = graph("Where", is_bad, np.int64(Cause.UNSEEN), values["cause"])
    return values


def _decide(graph: Graph, model: SEPModel, given: Value, min_trust: float) -> dict[str, Value]:
    lying, weights = Lying.of(graph, model, given), model.weights
    values, inside = judged(graph, model, lying) if weights is None else weighed(graph, model, weights, lying)
    accepted = graph("GreaterOrEqual", values["trust"], min_trust)
    return values | {"cause": causes(graph, model, lying, inside, accepted, min_trust)}


def _accepted(graph: Graph, exported: Exported, values: dict[str, Value]) -> dict[str, Value]:
    """Compare trust with the thresholds; those of a `SelectiveClassifier` may refuse what the model itself accepts."""
    accepted = graph("GreaterOrEqual", values["trust"], graph("Gather", exported.thresholds, values["label"]))
    if not exported.is_promised:
        return {"accepted": accepted}
    own = graph("Equal", values["cause"], np.int64(Cause.ACCEPTED))
    refused = graph("Where", own, np.int64(Cause.THIN), values["cause"])
    return {"accepted": accepted, "cause": graph("Where", accepted, np.int64(Cause.ACCEPTED), refused)}
