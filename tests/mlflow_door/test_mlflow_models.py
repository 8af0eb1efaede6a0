"""MLflow for real: logged, loaded and served on loopback, with wrong inputs answered as such."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import Any

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.decisions.kinds import Cause

mlflow, pd = package_or_skip("mlflow"), package_or_skip("pandas")
door = package_or_skip("sepc.mlflow")

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]  # MLflow's own warnings


@pytest.fixture(scope="module")
def rows():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :4], np.where(y == 0, "malignant", "benign")


@pytest.fixture(scope="module")
def classifier(rows):
    X, y = rows
    return SEPClassifier().fit(X[::2], y[::2])


@pytest.mark.slow
def test_logged_and_loaded(rows, classifier, tmp_path, monkeypatch):
    X, y = rows
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    with mlflow.start_run() as run:
        info = door.log_model(classifier, X=X[1::2], y=y[1::2])
    answered = mlflow.pyfunc.load_model(info.model_uri).predict(X[1::2])
    decisions = classifier.decide(X[1::2])
    assert list(answered.columns) == ["label", "trust", "accepted", "cause"]
    np.testing.assert_array_equal(answered["label"], decisions.label)
    np.testing.assert_array_equal(answered["trust"], decisions.trust)
    assert [one["name"] for one in info.signature.inputs.to_dict()] == list(X.columns)
    assert isinstance(door.load_model(info.model_uri), SEPClassifier)
    assert "malignant" in mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/{door.CARD_FILE}")


@pytest.mark.slow_cases("trusted", "selective")
@pytest.mark.parametrize("kind", ["trusted", "selective", "array"])
def test_every_model_of_ours_is_saved(kind, rows, classifier, tmp_path):
    X, y = rows
    model: Any = {
        "trusted": lambda: TrustedClassifier(SEPClassifier(), cv=2).fit(X, y),
        "selective": lambda: SelectiveClassifier(FrozenEstimator(classifier), 0.2).fit(X[1::2], y[1::2]),
        "array": lambda: SEPClassifier().fit(X.to_numpy(), y),
    }[kind]()
    given = X.to_numpy() if kind == "array" else X
    door.save_model(model, tmp_path / "model", X=given)
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    rows_given = X.set_axis([f"x{j}" for j in range(4)], axis=1) if kind == "array" else X
    answered = loaded.predict(rows_given)
    np.testing.assert_array_equal(answered["trust"], model.decide(given).trust)
    assert not list((tmp_path / "model").rglob("*.pkl"))


@pytest.mark.quick_cases("classifier", "stratified")
@pytest.mark.parametrize("kind", ["classifier", "selective", "stratified"])
def test_tables_are_served_with_their_own_columns(kind, tmp_path):
    (table, y), (fresh, _) = patients(), patients(100, seed=5)
    table, fresh = (X.astype({"stage": "float64"}).assign(visits=np.arange(len(X)) % 3) for X in (table, fresh))
    model: Any = {
        "classifier": lambda: SEPClassifier(categorical_features=["stage"]).fit(table, y),
        "selective": lambda: SelectiveClassifier(SEPClassifier(), 0.1, random_state=0).fit(table, y),
        "stratified": lambda: RoutedClassifier(SEPClassifier(), by=["ward"], min_rows=50).fit(table, y),
    }[kind]()
    door.save_model(model, tmp_path / "model", X=table)
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert [(one.name, one.type.name, one.required) for one in loaded.metadata.get_input_schema()] == [
        *(("age", "double", False), ("dose", "double", False), ("ward", "string", False), ("stage", "double", False)),
        *(("since", "datetime", False), ("key", "string", False), ("visits", "long", True)),
    ]
    decided = model.decide(fresh)
    assert fresh.isna().any(axis=1).sum() > 10
    for given in (fresh, fresh.drop(columns="key")):
        answered = loaded.predict(given)
        np.testing.assert_array_equal(answered["label"], decided.label)
        np.testing.assert_array_equal(answered["trust"], decided.trust)
        assert answered["cause"].tolist() == [Cause(cause).name for cause in decided.cause]
    undated = loaded.predict(fresh.drop(columns="since"))
    np.testing.assert_array_equal(undated["trust"], model.decide(fresh.assign(since=pd.NaT)).trust)
    for wrong in (fresh.assign(age="old"), fresh.drop(columns="visits")):
        with pytest.raises(mlflow.exceptions.MlflowException):
            loaded.predict(wrong)


def test_models_of_others_are_refused(rows, tmp_path):
    X, y = rows
    base = RandomForestClassifier(3, random_state=0).fit(X, y)
    selective = SelectiveClassifier(FrozenEstimator(base), 0.2).fit(X, y)
    with pytest.raises(TypeError, match="other libraries"):
        door.save_model(selective, tmp_path / "model", X=X)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/invocations", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def answers_ping(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def port(rows, classifier, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "model"
    door.save_model(classifier, folder, X=rows[0])
    number = free_port()
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", str(folder), "-p", str(number)]
    environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}
    server = subprocess.Popen([*command, "-h", "127.0.0.1", "--env-manager", "local"], env=environment)
    try:
        deadline = time.monotonic() + 180
        while not answers_ping(number):
            assert server.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server did not start in three minutes"
            time.sleep(0.5)
        yield number
    finally:
        server.terminate()
        server.wait(30)


def as_body(X):
    return {"dataframe_split": {"columns": list(X.columns), "data": X.to_numpy().tolist()}}


def test_served_decisions_are_those_of_the_model(port, rows, classifier):
    X = rows[0][:20]
    status, answered = ask(port, as_body(X))
    assert status == 200
    decisions = classifier.decide(X)
    assert [one["label"] for one in answered["predictions"]] == decisions.label.tolist()
    np.testing.assert_allclose([one["trust"] for one in answered["predictions"]], decisions.trust, rtol=1e-15)
    gaps = X.assign(**{"mean area": np.nan})
    status, answered = ask(port, as_body(gaps.astype(object).where(gaps.notna(), None)))
    assert status == 200
    trust = [one["trust"] for one in answered["predictions"]]
    np.testing.assert_allclose(trust, classifier.decide(gaps).trust, rtol=1e-15)


@pytest.mark.slow
def test_wrong_inputs_are_the_callers_fault(port, rows):
    X = rows[0][:2]
    split = as_body(X)["dataframe_split"]
    wrong = [
        {},
        {"dataframe_split": {"columns": split["columns"][:3], "data": [row[:3] for row in split["data"]]}},
        {"dataframe_split": {"columns": split["columns"], "data": [["a", "b", "c", "d"]]}},
        {"dataframe_split": {"columns": split["columns"], "data": [[1.0, 2.0]]}},
        {"dataframe_split": {"columns": split["columns"], "data": [[None, 1.0, 1.0, "none"]]}},
        {"dataframe_split": {"columns": ["other", *split["columns"][1:]], "data": split["data"]}},
        {"dataframe_split": {"columns": split["columns"], "data": []}},
        {"inputs": "nonsense"},
    ]
    for body in wrong:
        status, message = ask(port, body)
        assert 400 <= status < 500, (body, message)
    assert ask(port, as_body(X))[0] == 200
