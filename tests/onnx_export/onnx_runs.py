"""Exported models in ONNX Runtime, compared with Python."""

import json

import numpy as np
from optional import package_or_skip

from sepc.onnx import export

onnx, ort, pd = package_or_skip("onnx"), package_or_skip("onnxruntime"), package_or_skip("pandas")

NAMES = ("label", "probabilities", "trust", "region", "cause", "accepted")


def session_of(model, folder, **options):
    export(model, folder / "model.onnx", **options)
    onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = 1
    return ort.InferenceSession(folder / "model.onnx", settings, providers=["CPUExecutionProvider"])


def facts_of(session):
    """What the file says of its model."""
    held = session.get_modelmeta().custom_metadata_map
    return {name: json.loads(fact) for name, fact in held.items() if name != "sepc_version"}


def feeds(session, rows):
    """An array, or the columns of a table as the page on ONNX tells users to give them."""
    if not hasattr(rows, "columns"):
        return {"X": np.ascontiguousarray(rows, dtype=np.float64)}
    given = {}
    for fact in facts_of(session)["inputs"]:
        column = rows[fact["column"]]
        if "gap" in fact:
            texts = column.astype(object)
            given[fact["input"]] = texts.where(texts.notna(), fact["gap"]).astype(str).to_numpy(dtype=object)
        elif fact["kind"] == "date":
            given[fact["input"]] = ((column - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy()
        else:
            given[fact["input"]] = column.to_numpy(dtype=np.float64)
    return given


def run(session, rows):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds(session, rows)), strict=True))


def assert_same(model, session, rows):
    """All outputs are equal; rows on a boundary may differ in principle, but none of these do."""
    said, decided = run(session, rows), model.decide(rows)
    inner = getattr(decided, "inner", None)
    assert tuple(said) == NAMES
    for name, values in said.items():
        wanted = getattr(decided if hasattr(decided, name) else inner, name)
        if name in ("probabilities", "trust"):
            np.testing.assert_allclose(values, wanted, atol=1e-9, rtol=0.0, err_msg=name)
        else:
            np.testing.assert_array_equal(values, wanted, err_msg=name)
    return decided
