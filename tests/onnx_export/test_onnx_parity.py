"""What ONNX Runtime says of a file is what the model in Python says."""

import numpy as np
import pytest
from export_cases import KINDS, MADE, PROMISES, made, of_kind, rows_around, with_labels, with_promise
from onnx_runs import assert_same, facts_of, ort, run, session_of
from sklearn.datasets import load_breast_cancer, load_iris

from sepc import SEPClassifier
from sepc.decisions.kinds import Cause


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, SEPClassifier().fit(X, y), SEPClassifier().fit(X[::40], y[::40])


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_awkward_kind(kind, tmp_path):
    model, rows = of_kind(kind)
    assert_same(model, session_of(model, tmp_path), rows)


@pytest.mark.slow_cases("sets never seen", "many classes")
@pytest.mark.parametrize("name", MADE)
def test_models_of_every_awkward_kind(name, tmp_path):
    model, rows = made(name)
    assert_same(model, session_of(model, tmp_path), rows)


@pytest.mark.slow_cases("all rows", "a label", "each label, one unknown")
@pytest.mark.parametrize("kind", [*PROMISES, "cost", "frozen", "one unknown", "each label, one unknown"])
def test_promises(kind, tmp_path):
    model, rows = with_promise(kind)
    session = session_of(model, tmp_path)
    assert_same(model, session, rows)
    if "unknown" in kind:
        assert facts_of(session)["classes"] == [0, 1, 2]
        assert facts_of(session)["accepted_from_trust"][1] is None


def test_far_away_only_the_nearest_region_may_differ(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, ::3]
    model = SEPClassifier().fit(X, y)
    session, ways = session_of(model, tmp_path), np.random.default_rng(0).standard_normal((200, X.shape[1]))
    for distance in (1e4, 1e8, 1e16, 1e150, 1e300):
        said, decided = run(session, distance * ways), model.decide(distance * ways)
        for name in ("label", "probabilities", "trust", "cause", "accepted", *(["region"] if distance < 1e9 else [])):
            if name in ("probabilities", "trust"):
                np.testing.assert_allclose(said[name], getattr(decided, name), atol=1e-12, err_msg=name)
            else:
                np.testing.assert_array_equal(said[name], getattr(decided, name), err_msg=name)
        assert (said["cause"] == Cause.UNSEEN).all()


def test_rows_too_far_away_for_squares(iris, tmp_path):
    X, *models = iris
    for model in models:
        far = X[:5] * 10.0 ** np.array([20, 90, 150, 300, 306])[:, None]
        said = run(session_of(model, tmp_path), far)
        assert np.isfinite(said["probabilities"]).all()
        assert (said["cause"] == Cause.UNSEEN).all()


def test_rows_that_are_not_numbers_are_never_accepted_and_spoil_no_others(iris, tmp_path):
    X, model = iris[0], SEPClassifier(min_trust=0.0).fit(iris[0], iris[1].predict(iris[0]))
    session = session_of(model, tmp_path)
    whole, bad = run(session, X), np.arange(len(X)) % 7 == 0
    for value in (np.nan, np.inf, -np.inf):
        spoilt = X.copy()
        spoilt[bad, 1] = value
        said = run(session, spoilt)
        assert np.isnan(said["trust"][bad]).all()
        assert np.isnan(said["probabilities"][bad]).all()
        assert not said["accepted"][bad].any()
        assert (said["cause"][bad] == (Cause.MISSING if np.isnan(value) else Cause.UNSEEN)).all()
        assert (said["label"][bad] == model.classes_[model.model_.class_counts.argmax()]).all()
        for name, values in whole.items():
            np.testing.assert_array_equal(said[name][~bad], values[~bad])


@pytest.mark.parametrize("names", [("no", "perhaps", "yes ü"), (-5, 0, 2**40), (1.0, 2.0, 3.0), (False, True)], ids=str)
def test_labels_keep_their_type(names, tmp_path):
    model, X = with_labels(*names)
    said = run(session_of(model, tmp_path), X)["label"].tolist()
    assert said == model.predict(X).tolist()
    assert type(said[0]) is type(names[0])


def test_no_rows_and_one_row_at_a_time(iris, tmp_path):
    X, *models = iris
    for model in models:
        session, rows = session_of(model, tmp_path), rows_around(X, 60)
        none, whole = run(session, rows[:0]), run(session, rows)
        assert all(len(values) == 0 for values in none.values())
        assert none["probabilities"].shape == (0, 3)
        for i in range(len(rows)):
            alone = run(session, rows[i : i + 1])
            for name, values in whole.items():
                if name in ("trust", "probabilities"):
                    np.testing.assert_allclose(alone[name][0], values[i], atol=1e-12, err_msg=name)
                else:
                    assert alone[name][0] == values[i], name


def test_what_the_runtime_simplifies_changes_nothing(iris, tmp_path):
    X, model, _ = iris
    simplified, rows = session_of(model, tmp_path), rows_around(X, 2000)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = ort.InferenceSession(tmp_path / "model.onnx", options, providers=["CPUExecutionProvider"])
    for name, values in run(plain, rows).items():
        np.testing.assert_allclose(run(simplified, rows)[name], values, atol=1e-14, err_msg=name)
