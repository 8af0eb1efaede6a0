"""A promise made before an edit is never shown after it: a test for each way in which one is shown."""

import json
import sqlite3

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from zoo import fitted_once

import sepc
import sepc.sql
from sepc import Edit, SelectiveClassifier, SEPClassifier
from sepc.cli.entry import main
from sepc.estimators.selective.lost_promise import LOST
from sepc.model_files import from_bytes, to_bytes

SIGNED = {"author": "A. Wu", "reason": "too few patients", "date": "2026-05-04"}
# What only a sentence of a promise says.
PROMISED = ("At most", "with 95 % confidence", "calibration rows", "accepts trust")
WHAT = "shift x0 from 0.5 up by +0.75 for 1"


@fitted_once
def rows():
    X, y = make_moons(1200, noise=0.2, random_state=0)
    return X, y


@fitted_once
def promised(kind="risk"):
    X, y = rows()
    options = {
        "risk": {"max_risk": 0.1},
        "labels": {"max_risk": {0: 0.1, 1: 0.1}},
        "costs": {"max_risk": sepc.Costs([[0.0, 1.0], [5.0, 0.0]], review=0.5)},
        "groups": {"max_risk": 0.2, "by": "side"},
        "target": {"max_risk": 0.2},
        "frozen": {"max_risk": 0.1},
    }[kind]
    if kind == "frozen":
        inner = FrozenEstimator(SEPClassifier().fit(X[:600], y[:600]))
        return SelectiveClassifier(inner, **options).fit(X[600:], y[600:])
    given = {"groups": {"groups": np.where(X[:, 1] > 0, "up", "down")}, "target": {"X_target": X[:300] + 0.01}}
    return SelectiveClassifier(SEPClassifier(), random_state=0, **options).fit(X, y, **given.get(kind, {}))


@fitted_once
def edited(kind="risk"):
    return promised(kind).edited(Edit.shift("x0", 0.5, by=0.75), **SIGNED)


KINDS = ["risk", "labels", "costs", "groups", "target", "frozen"]


def assert_no_promise(text, *, says_lost=True):
    text = " ".join(text.split())
    assert not [words for words in PROMISED if words in text]
    if says_lost:
        assert "no promise" in text


def test_these_words_are_those_of_a_promise():
    assert all(words in promised().summary() for words in PROMISED)


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    def test_words_and_attributes(self, kind):
        model, before = edited(kind), promised(kind)
        assert model.summary() == str(model) == LOST
        assert (model.controls_, model.groups_, model.shift_, model.coverage_) == ({}, None, None, 0.0)
        assert not hasattr(model, "risk_bound_")
        assert not hasattr(model, "mean_cost_")
        assert before.lost_promise_ is None
        assert before.summary() != LOST

    def test_nothing_is_accepted_and_reasons_say_why(self, kind):
        decided = edited(kind).decide(rows()[0][:50])
        assert not decided.accepted.any()
        for why in decided.why():
            assert "No promise covers it." in why
            assert "edited" in why
            assert_no_promise(why, says_lost=False)
        assert promised(kind).decide(rows()[0][:50], **groups_of(kind)).accepted.any()

    def test_taken_off_the_promise_is_back(self, kind):
        for model in (edited(kind), from_bytes(to_bytes(edited(kind)))):
            again = model.without_edits()
            assert to_bytes(again) == to_bytes(promised(kind))
            assert again.summary() == promised(kind).summary()
            assert again.lost_promise_ is None

    def test_file(self, kind, tmp_path):
        sepc.save(edited(kind), tmp_path / "model.sepc")
        loaded = sepc.load(tmp_path / "model.sepc")
        assert loaded.summary() == LOST
        assert to_bytes(loaded) == to_bytes(edited(kind))
        assert not loaded.decide(rows()[0]).accepted.any()
        contents = sepc.inspect(tmp_path / "model.sepc")
        for text in (str(contents), repr(contents), json.dumps(contents.model)):
            assert_no_promise(text)
            assert "controls" not in text
        assert WHAT in str(contents)
        assert "A. Wu, 2026-05-04: too few patients" in str(contents)


def groups_of(kind):
    return {"groups": np.where(rows()[0][:50, 1] > 0, "up", "down")} if kind == "groups" else {}


def test_card():
    X, y = rows()
    for model in (edited(), make_pipeline(StandardScaler(), edited())):
        card = sepc.model_card(model)
        assert_no_promise(card)
        assert "| edit 0 |" in card
    assert WHAT in sepc.model_card(edited(), X, y)
    assert "edited" in repr(edited().estimator_.model_)


def test_report():
    X, y = rows()
    report = sepc.report(edited(), X[:200], y[:200])
    for text in (str(report), report.to_html(), json.dumps(report.to_dict())):
        assert_no_promise(text)
        assert WHAT in text


@pytest.mark.parametrize("as_json", [False, True])
def test_commands(tmp_path, capsys, as_json):
    X, y = rows()
    table = tmp_path / "rows.csv"
    lines = [f"{a!r},{b!r},{label}" for (a, b), label in zip(X[:100].tolist(), y[:100].tolist(), strict=True)]
    table.write_text("x0,x1,y\n" + "\n".join(lines), encoding="utf-8")
    sepc.save(edited(), tmp_path / "model.sepc")
    model, options = str(tmp_path / "model.sepc"), ["--json"] if as_json else []
    columns = ["--features", "x0,x1"]
    commands = {
        "inspect": [model],
        "score": [model, str(table), *columns, "--output", str(tmp_path / "scored.csv")],
        "report": [
            str(table),
            "--model",
            model,
            *columns,
            "--target",
            "y",
            "--text",
            "--output",
            str(tmp_path / "r.html"),
        ],
        "explain": [model, str(table), *columns, "--row", "1"],
    }
    for command, arguments in commands.items():
        assert main([command, *arguments, *options]) in (0, None), command
        said = capsys.readouterr().out
        assert_no_promise(said, says_lost=command != "explain")
        assert "edit" in said.lower(), command
    assert_no_promise((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert ",true," not in (tmp_path / "scored.csv").read_text(encoding="utf-8").lower()


def test_sql():
    for dialect in ("duckdb", "postgres", "sqlite", "spark"):
        statement = sepc.sql.export(edited(), dialect, "t")
        assert_no_promise(statement)
        assert f"-- Edited: {WHAT}" in statement
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x0 DOUBLE, x1 DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", rows()[0][:50].tolist())
    try:
        answers = connection.execute(f"SELECT sepc_accepted FROM ({sepc.sql.export(edited(), 'sqlite', 't')}\n)")
    except sqlite3.OperationalError:
        pytest.skip("this SQLite has no mathematical functions")
    assert not any(accepted for (accepted,) in answers)


def test_onnx(tmp_path):
    package_or_skip("onnx")
    from sepc.onnx.exporting import as_proto

    facts = {own.key: own.value for own in as_proto(edited()).metadata_props}
    assert json.loads(facts["accepted_from_trust"]) == [None, None]
    assert_no_promise(facts["remarks"])
    assert WHAT in facts["remarks"]
    assert "remarks" not in {own.key for own in as_proto(promised()).metadata_props}


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_mlflow(tmp_path, monkeypatch):
    mlflow, door = package_or_skip("mlflow"), package_or_skip("sepc.mlflow")
    X, y = rows()
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    with mlflow.start_run() as run:
        info = door.log_model(edited(), X=X[:100], y=y[:100])
    card = mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/{door.CARD_FILE}")
    assert_no_promise(card)
    assert door.load_model(info.model_uri).summary() == LOST
    table = package_or_skip("pandas").DataFrame(X[:100], columns=["x0", "x1"])
    assert not mlflow.pyfunc.load_model(info.model_uri).predict(table)["accepted"].any()


class TestANewPromise:
    def test_on_fresh_rows_it_holds_until_the_edits_change(self):
        X, y = make_moons(2000, noise=0.2, random_state=1)
        again = SelectiveClassifier(FrozenEstimator(edited().estimator_), max_risk=0.1).fit(X[:1000], y[:1000])
        assert again.summary().startswith("At most 10 %")
        assert again.edits_ == edited().edits_
        loaded = from_bytes(to_bytes(again))
        assert loaded.summary() == again.summary()
        for model in (again, loaded):
            without = model.without_edits()
            assert without.summary() == LOST
            assert not without.decide(X).accepted.any()
            assert without.with_edits(model.edits_).summary() == again.summary()
            more = model.edited(Edit.drop_ellipsoid(0), **SIGNED)
            assert more.summary() == LOST
            assert to_bytes(more.without_edits(-1)) == to_bytes(model)

    def test_fit_makes_one_for_an_edited_model_that_is_frozen(self):
        X, y = make_moons(1000, noise=0.2, random_state=2)
        model = edited("frozen")
        model = from_bytes(to_bytes(model)).fit(X, y)
        assert model.lost_promise_ is None
        assert model.summary().startswith("At most 10 %")
        assert model.edits_ == edited("frozen").edits_

    def test_fit_of_one_that_is_not_frozen_starts_without_edits(self):
        model = edited().without_edits().edited(Edit.drop_ellipsoid(0), **SIGNED).fit(*rows())
        assert model.edits_ == ()
        assert model.summary() == promised().summary()
