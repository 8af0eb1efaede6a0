"""Terms in the graph are those of Python."""

import numpy as np
import pytest
from mixed_tables import complete, patients
from optional import package_or_skip
from sklearn.datasets import load_iris
from test_onnx_parity import rows_around
from test_onnx_tables import feeds

from sepc import SEPClassifier
from sepc.onnx import export

ort, pd = package_or_skip("onnxruntime"), package_or_skip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")


def said(model, given, folder):
    """The outputs for what `given` makes of a session."""
    export(model, folder / "model.onnx", terms=True)
    session = ort.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, given(session)), strict=True))


def assert_same(outputs, decisions):
    terms = decisions.terms()
    np.testing.assert_array_equal(outputs["runner_up"], terms.runner_up)
    place = terms.ellipsoids.sum(axis=1) + terms.isolated
    wanted = np.column_stack([terms.features, place, terms.offset])
    np.testing.assert_allclose(outputs["terms"], wanted, atol=1e-9, rtol=0.0)
    np.testing.assert_allclose(outputs["terms"].sum(axis=1), terms.log_odds, atol=1e-9, rtol=0.0)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_numbers(n_classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X[y < n_classes], y[y < n_classes])
    rows = rows_around(X, 300)
    assert_same(said(model, lambda _: {"X": rows}, tmp_path), model.decide(rows))


def test_a_table_with_categories_and_dates(tmp_path):
    table, y = patients(400)
    X = complete(table)
    model = SEPClassifier().fit(table, y)
    assert_same(said(model, lambda session: feeds(session, X), tmp_path), model.decide(X))


def test_gaps_have_no_terms(tmp_path):
    X, y = load_iris(return_X_y=True)
    rows = np.array([[np.nan, 3.0, 4.0, 1.0], X[0]])
    outputs = said(SEPClassifier().fit(X, y), lambda _: {"X": rows}, tmp_path)
    assert np.isnan(outputs["terms"]).all(axis=1).tolist() == [True, False]
