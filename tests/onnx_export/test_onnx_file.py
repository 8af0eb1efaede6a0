"""The file: its facts, its bytes, and what cannot be exported."""

import json
import sys

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.onnx import export
from sepc.onnx.graph import IR_VERSION, OPSET, Graph

onnx, ort = package_or_skip("onnx"), package_or_skip("onnxruntime")


def facts_of(path):
    return {entry.key: entry.value for entry in onnx.load(path).metadata_props}


def test_the_file_uses_standard_operators_only_and_has_the_same_bytes_again(tmp_path):
    X, y = load_iris(return_X_y=True)
    for name in ("one.onnx", "other.onnx"):
        export(SEPClassifier().fit(X, y), str(tmp_path / name))
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "other.onnx").read_bytes()
    model = onnx.load(tmp_path / "one.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [(one.domain, one.version) for one in model.opset_import] == [("", OPSET)]
    assert (model.ir_version, model.producer_name) == (IR_VERSION, "sepc")


def test_the_file_says_what_it_is_of(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = make_moons(1200, noise=0.3, random_state=0)
    frame = pandas.DataFrame(X, columns=["length", "width"])
    model = SelectiveClassifier(SEPClassifier(), {"left": 0.2}, random_state=0)
    export(model.fit(frame, np.array(["left", "right"])[y]), tmp_path / "model.onnx")
    facts = facts_of(tmp_path / "model.onnx")
    assert json.loads(facts["classes"]) == ["left", "right"]
    assert json.loads(facts["feature_names"]) == ["length", "width"]
    assert json.loads(facts["accepted_from_trust"]) == [model.threshold_["left"], None]
    assert json.loads(facts["causes"])["2"] == "UNSEEN"
    assert json.loads(facts["estimator"]) == "SelectiveClassifier"


def test_what_cannot_be_exported_is_refused(tmp_path):
    X, y = load_iris(return_X_y=True)
    for model in (SEPClassifier(), SelectiveClassifier(SEPClassifier())):
        with pytest.raises(NotFittedError):
            export(model, tmp_path / "model.onnx")
    for trust in ("counts", "published"):
        for terms in (False, True):
            with pytest.raises(TypeError, match="trust='"):
                export(SEPClassifier(trust=trust).fit(X, y), tmp_path / "model.onnx", terms=terms)
    large = np.array([1, 2, 2**63], dtype=np.uint64)
    with pytest.raises(TypeError, match=r"2\*\*63"):
        export(SEPClassifier(max_ellipsoids=2).fit(X, large[y]), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_models_that_are_not_ours_are_refused(tmp_path):
    X, y = make_moons(300, noise=0.2, random_state=0)
    pipeline, repaired = make_pipeline(StandardScaler(), SEPClassifier()), RoutedClassifier(SEPClassifier())
    refused = {
        "TrustedClassifier": TrustedClassifier(LogisticRegression()),
        "RoutedClassifier": RoutedClassifier(LogisticRegression(), by=[0]),
        "SelectiveClassifier around LogisticRegression": SelectiveClassifier(LogisticRegression()),
        "Pipeline": pipeline,
        "SelectiveClassifier around Pipeline": SelectiveClassifier(pipeline),
        "LogisticRegression": LogisticRegression(),
        "SelectiveClassifier around RoutedClassifier": SelectiveClassifier(repaired),
    }
    for told, model in refused.items():
        with pytest.raises(TypeError, match=f"^{told} cannot be exported"):
            export(model.fit(X, y), tmp_path / "model.onnx")


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X, y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"sepc\[onnx\]"):
        export(model, tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("operator", "constant"),
    [("Add", 1e-9), ("Sub", 1e-9), ("Mul", 1.0 + 1e-9), ("Div", 1.0 - 1e-9), ("Mul", 1.0), ("Add", 0.0)],
)
def test_the_runtime_keeps_constants_that_are_nearly_neutral(operator, constant, tmp_path):
    graph = Graph()
    made = graph(operator, graph("Sqrt", "X"), constant)
    info = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, ["n"]) for name in ("X", "Y")]
    proto = onnx.helper.make_model(
        graph.finished(info[:1], {"Y": (made, info[1])}),
        ir_version=IR_VERSION,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
    )
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.array([1.0, 4.0])
    wanted = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[operator](np.sqrt(x), constant)
    np.testing.assert_allclose(session.run(None, {"X": x})[0], wanted, rtol=1e-14)
