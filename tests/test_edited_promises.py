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
import sepc.lifecycle
import sepc.onnx
import sepc.sql
from sepc import Edit, SelectiveClassifier, SEPClassifier
from sepc.cli.entry import main
from sepc.estimators.selective.promise import LOST
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
def test_every_kind_of_promise_is_lost_and_back_when_the_edit_is_taken_off(kind, tmp_path):
    model, before, X = edited(kind), promised(kind), rows()[0]
    assert model.summary() == str(model) == LOST
    promise = model.promise_
    assert (promise.controls, promise.groups, promise.shift, promise.coverage) == ({}, None, None, 0.0)
    assert (promise.threshold, promise.risk_bound, str(promise)) == (np.inf, None, "")
    assert before.lost_promise_ is None
    assert before.summary() != LOST
    decided = model.decide(X[:50])
    assert not decided.accepted.any()
    for why in decided.why():
        assert "No promise" in why
        assert "edited" in why
        assert_no_promise(why, says_lost=False)
    groups = {"groups": np.where(X[:50, 1] > 0, "up", "down")} if kind == "groups" else {}
    assert before.decide(X[:50], **groups).accepted.any()
    sepc.save(model, tmp_path / "model.sepc")
    loaded = sepc.load(tmp_path / "model.sepc")
    assert loaded.summary() == LOST
    assert to_bytes(loaded) == to_bytes(model)
    assert not loaded.decide(X).accepted.any()
    for again in (model.without_edits(), loaded.without_edits()):
        assert to_bytes(again) == to_bytes(before)
        assert again.summary() == before.summary()
        assert again.lost_promise_ is None
    contents = sepc.inspect(tmp_path / "model.sepc")
    for text in (str(contents), repr(contents), json.dumps(contents.model)):
        assert_no_promise(text)
        assert "controls" not in text
    assert WHAT in str(contents)
    assert "A. Wu, 2026-05-04: too few patients" in str(contents)


def test_cards_and_reports():
    X, y = rows()
    for model in (edited(), make_pipeline(StandardScaler(), edited())):
        card = sepc.lifecycle.model_card(model)
        assert_no_promise(card)
        assert "| edit 0 |" in card
    assert WHAT in sepc.lifecycle.model_card(edited(), X, y)
    assert "edited" in repr(edited().estimator_.model_)
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
    scored, page = str(tmp_path / "scored.csv"), str(tmp_path / "r.html")
    commands = {
        "inspect": [model],
        "score": [model, str(table), *columns, "--output", scored],
        "report": [str(table), "--model", model, *columns, "--target", "y", "--text", "--output", page],
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
    onnx = package_or_skip("onnx")
    facts = []
    for model in (edited(), promised()):
        sepc.onnx.export(model, tmp_path / "model.onnx")
        facts.append({own.key: own.value for own in onnx.load(tmp_path / "model.onnx").metadata_props})
    assert json.loads(facts[0]["accepted_from_trust"]) == [None, None]
    assert_no_promise(facts[0]["remarks"])
    assert WHAT in facts[0]["remarks"]
    assert "remarks" not in facts[1]


def test_on_fresh_rows_a_new_promise_holds_until_the_edits_change():
    X, y = make_moons(1000, noise=0.2, random_state=1)
    again = SelectiveClassifier(FrozenEstimator(edited().estimator_), max_risk=0.1).fit(X, y)
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
    frozen = from_bytes(to_bytes(edited("frozen"))).fit(X, y)
    assert frozen.lost_promise_ is None
    assert frozen.summary().startswith("At most 10 %")
    assert frozen.edits_ == edited("frozen").edits_
    unfrozen = edited().without_edits().edited(Edit.drop_ellipsoid(0), **SIGNED).fit(*rows())
    assert unfrozen.edits_ == ()
    assert unfrozen.summary() == promised().summary()
