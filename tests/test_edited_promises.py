"""A promise is about one model: it refuses edits, and one around an edited model says what was edited."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from zoo import fitted_once

import sepc
import sepc.lifecycle
import sepc.sql
from sepc import Edit, SelectiveClassifier, SEPClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.model_files import from_bytes, to_bytes

SIGNED = {"author": "A. Wu", "reason": "too few patients", "date": "2026-05-04"}
EDIT, WHAT = Edit.shift("x0", 0.5, by=0.75), "shift x0 from 0.5 up by +0.75 for 1"
X, Y = make_moons(1200, noise=0.2, random_state=0)
GIVEN = {
    "risk": ({"max_risk": 0.1}, {}),
    "labels": ({"max_risk": {0: 0.1, 1: 0.1}}, {}),
    "costs": ({"max_risk": sepc.Costs([[0.0, 1.0], [5.0, 0.0]], review=0.5)}, {}),
    "groups": ({"max_risk": 0.2, "by": "side"}, {"groups": np.where(X[600:, 1] > 0, "up", "down")}),
    "target": ({"max_risk": 0.2}, {"X_target": X[:300] + 0.01}),
}


@fitted_once
def promised(kind="risk", edited=False):
    inner = SEPClassifier().fit(X[:600], Y[:600])
    inner = inner.edited(EDIT, **SIGNED) if edited else inner
    options, given = GIVEN[kind]
    return SelectiveClassifier(FrozenEstimator(inner), random_state=0, **options).fit(X[600:], Y[600:], **given)


@pytest.mark.parametrize("kind", GIVEN)
def test_every_kind_of_promise_refuses_edits_and_stays(kind):
    model = promised(kind)
    before = to_bytes(model)
    for ask in (lambda: model.edited(EDIT, **SIGNED), model.without_edits):
        with pytest.raises(TypeError, match="Edit that model, and make a promise on rows that neither"):
            ask()
    assert to_bytes(model) == before == to_bytes(from_bytes(before))


def test_a_promise_about_an_edited_model_holds_and_says_what_was_edited(tmp_path):
    model, plain = promised(edited=True), promised()
    assert model.summary().startswith("At most 10 %")
    assert model.edits_ == model.promise_.edits != plain.edits_ == ()
    sepc.save(model, tmp_path / "model.sepc")
    loaded = sepc.load(tmp_path / "model.sepc")
    assert loaded.summary() == model.summary()
    assert (loaded.decide(X).accepted == model.decide(X).accepted).all()
    assert model.decide(X).accepted.any()
    report = sepc.report(model, X[:200], Y[:200])
    for text in (
        str(sepc.inspect(tmp_path / "model.sepc")),
        sepc.lifecycle.model_card(model),
        str(report),
        report.to_html(),
        json.dumps(report.to_dict()),
        sepc.sql.export(model, "duckdb", "t"),
    ):
        assert WHAT in text
    assert "edited" in model.decide(X).why(0)


def test_a_file_whose_promise_names_other_edits_is_refused():
    arrays, content = decode(to_bytes(promised()))
    content["model"]["promise"]["edits"] = decode(to_bytes(promised(edited=True)))[1]["model"]["promise"]["edits"]
    with pytest.raises(FormatError, match="other edits"):
        from_bytes(encode(dict(arrays), content))
