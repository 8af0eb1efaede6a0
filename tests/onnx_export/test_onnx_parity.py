"""What ONNX Runtime says of a file is what the model in Python says."""

import json
import warnings

import cases
import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.frozen import FrozenEstimator

from sepc import Costs, SelectiveClassifier, SEPClassifier
from sepc.decisions.kinds import Cause, Rule
from sepc.errors import FlatSetWarning, NotConvergedWarning
from sepc.onnx import export
from sepc.onnx.weights import _groups

ort = package_or_skip("onnxruntime")

NAMES = ("label", "probabilities", "trust", "region", "cause", "accepted")


def session_of(model, folder):
    export(model, folder / "model.onnx")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])


def run(session, rows):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.ascontiguousarray(rows, dtype=np.float64)}), strict=True))


def rows_around(X, n, farthest=1e9):
    """Training rows as they are, moved a little, moved a lot, and far away."""
    rng = np.random.default_rng(0)
    steps = rng.choice([0.0, 0.01, 0.1, 0.5, 3.0, 100.0, farthest], size=(n, 1))
    return X[rng.integers(len(X), size=n)] + steps * rng.standard_normal((n, X.shape[1])) * (X.std(axis=0) + 1e-3)


def assert_same(model, session, rows):
    """All outputs are equal; rows on a boundary may differ in principle, but none of these do."""
    said, decided = run(session, rows), model.decide(rows)
    inner = decided if getattr(decided, "inner", None) is None else decided.inner
    assert tuple(said) == NAMES
    for name in said:
        wanted = getattr(decided, name) if hasattr(decided, name) else getattr(inner, name)
        if name in ("probabilities", "trust"):
            np.testing.assert_allclose(said[name], wanted, atol=1e-9, rtol=0.0, err_msg=name)
        else:
            np.testing.assert_array_equal(said[name], wanted, err_msg=name)
    return decided


def two_classes(draw, seed, n=150, d=3):
    rng = np.random.default_rng(seed)
    X = draw(rng, n, d)
    y = np.arange(n) % 2
    X[y == 1] += 0.8 * X.std(axis=0)
    return X, y


@pytest.mark.quick_cases(
    "{}-*_*",
    "*False}-in_ball",
)
@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("options", [{}, {"standardize": False}], ids=str)
def test_rows_of_every_awkward_kind(kind, options, tmp_path):
    X, y = two_classes(cases.KINDS[kind], seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        warnings.simplefilter("ignore", NotConvergedWarning)
        model = SEPClassifier(**options).fit(X, y)
    assert_same(model, session_of(model, tmp_path), rows_around(X, 1500))


def test_every_rule_and_cause(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = SEPClassifier(min_trust=0.8, random_state=0).fit(X[:, :6], y)
    decided = assert_same(model, session_of(model, tmp_path), rows_around(X[:, :6], 3000))
    assert set(decided.rule) >= {Rule.SINGLE, Rule.SHARED, Rule.NEAREST}
    assert set(decided.cause) == set(Cause) - {Cause.DRIFTED, Cause.UNEXPLAINED, Cause.MISSING}


@pytest.mark.slow
def test_more_ellipsoids_than_a_word_has_bits_and_sets_never_seen(tmp_path):
    X, y = make_moons(1000, noise=0.35, random_state=0)
    model = SEPClassifier(0, max_ellipsoids=500).fit(X, y)
    assert model.model_.n_ellipsoids > 52
    decided = assert_same(model, session_of(model, tmp_path), rows_around(X, 5000))
    assert np.sum(decided.region == -1) > 20
    assert set(decided.rule[decided.region == -1]) >= {Rule.SHARED, Rule.UNION}


def test_flat_ellipsoids(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    X[:, 3] = X[:, 0] - X[:, 1]
    with pytest.warns(FlatSetWarning):
        model = SEPClassifier().fit(X, X[:, 2] > 0.3)
    assert len(model.model_.stack.rough)
    assert_same(model, session_of(model, tmp_path), np.vstack([X, rows_around(X, 1000)]))


def test_isolated_rows_only(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 5)), np.arange(8) % 2
    model = SEPClassifier().fit(X, y)
    assert model.model_.n_ellipsoids == 0
    assert_same(model, session_of(model, tmp_path), np.vstack([X, rows_around(X, 1000)]))


@pytest.mark.parametrize("d", [1, 2])
def test_one_class(d, tmp_path):
    X = np.random.default_rng(0).standard_normal((60, d))
    model = SEPClassifier().fit(X, np.zeros(60, dtype=int))
    assert_same(model, session_of(model, tmp_path), rows_around(X, 1000))


def test_one_feature_of_tiny_numbers(tmp_path):
    X = 1e-9 * (1.0 + np.random.default_rng(0).random((80, 1)))
    model = SEPClassifier().fit(X, X[:, 0] > 1.5e-9)
    assert_same(model, session_of(model, tmp_path), np.linspace(0.0, 4e-9, 500)[:, None])


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_as_likely_as_others(n_classes, tmp_path):
    X = np.tile(np.random.default_rng(0).standard_normal((60, 2)), (n_classes, 1))
    model = SEPClassifier().fit(X, np.repeat(np.arange(n_classes), 60))
    decided = assert_same(model, session_of(model, tmp_path), np.vstack([X, rows_around(X, 1000)]))
    np.testing.assert_allclose(decided.trust, 1.0 / n_classes, atol=1e-9)
    assert (decided.label == 0).all()


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


def test_rows_too_far_away_for_squares(tmp_path):
    X, y = load_iris(return_X_y=True)
    for model in (SEPClassifier().fit(X, y), SEPClassifier().fit(X[::40], y[::40])):
        far = X[:5] * 10.0 ** np.array([20, 90, 150, 300, 306])[:, None]
        said = run(session_of(model, tmp_path), far)
        assert np.isfinite(said["probabilities"]).all()
        assert (said["cause"] == Cause.UNSEEN).all()


@pytest.mark.quick_cases("nan", "inf")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_numbers_are_never_accepted_and_spoil_no_others(value, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier(min_trust=0.0).fit(X, y)
    session, spoilt = session_of(model, tmp_path), X.copy()
    spoilt[::7, 1] = value
    whole, said = run(session, X), run(session, spoilt)
    bad = np.arange(len(X)) % 7 == 0
    assert np.isnan(said["trust"][bad]).all()
    assert np.isnan(said["probabilities"][bad]).all()
    assert not said["accepted"][bad].any()
    assert (said["cause"][bad] == (Cause.MISSING if np.isnan(value) else Cause.UNSEEN)).all()
    assert (said["label"][bad] == model.classes_[model.model_.class_counts.argmax()]).all()
    for name, values in whole.items():
        np.testing.assert_array_equal(said[name][~bad], values[~bad])


@pytest.mark.parametrize("names", [["no", "perhaps", "yes ü"], [-5, 0, 2**40], [1.0, 2.0, 3.0]], ids=str)
def test_labels_keep_their_type(names, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X, np.array(names)[y])
    said = run(session_of(model, tmp_path), X)["label"].tolist()
    assert said == model.decide(X).label.tolist()
    assert type(said[0]) is type(names[0])


def test_labels_that_are_booleans(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X, y == 1)
    said = run(session_of(model, tmp_path), X)
    assert said["label"].dtype == bool
    np.testing.assert_array_equal(said["label"], model.predict(X))


@pytest.mark.slow_cases("load_digits")
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_many_features_many_classes_and_isolated_rows_beside_ellipsoids(load, tmp_path):
    X, y = load(return_X_y=True)
    X = X[:, 2::4]
    model = SEPClassifier(min_trust=0.9).fit(X, y)
    assert min(len(model.model_.isolated), model.model_.n_ellipsoids) > 0
    decided = assert_same(model, session_of(model, tmp_path), rows_around(X, 2000))
    assert set(decided.cause) == set(Cause) - {Cause.DRIFTED, Cause.UNEXPLAINED, Cause.MISSING}


def test_fewer_rows_than_features(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 60))
    model = SEPClassifier(min_trust=0.6).fit(X, X[:, 0] > 0.0)
    assert model.model_.n_ellipsoids == 0
    assert_same(model, session_of(model, tmp_path), np.vstack([X, rows_around(X, 1000, 1e4)]))


def test_isolated_rows_that_are_the_same(tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((15, 8)), 3, axis=0)
    model = SEPClassifier().fit(X, np.arange(len(X)) % 2)
    assert len(np.unique(model.model_.isolated, axis=0)) < len(model.model_.isolated)
    assert_same(model, session_of(model, tmp_path), np.vstack([X, rows_around(X, 1000, 1e4)]))


def test_rows_on_knots_and_one_step_beside_them(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(1e3, 1.0, 400), rng.integers(0, 2, 400), rng.exponential(1e-6, 400), np.ones(400)])
    with pytest.warns(FlatSetWarning):
        model = SEPClassifier().fit(X, X[:, 0] + X[:, 1] > 1e3 + rng.standard_normal(400))
    assert model.model_.weights.n_knots[[0, 2]].tolist() == [20, 20]
    beside = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    assert_same(model, session_of(model, tmp_path), beside)


@pytest.mark.parametrize("scale", [1.0 + 1e-10, 1.0 + 3e-4])
def test_a_single_feature_whose_deviation_is_nearly_one(scale, tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 1))
    X = (X - X.mean()) / X.std() * scale + 1e-7
    model = SEPClassifier().fit(X, X[:, 0] > np.random.default_rng(1).standard_normal(200))
    beside = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    assert_same(model, session_of(model, tmp_path), beside)


def test_few_knots_and_many_are_compared_apart():
    assert [group.tolist() for group in _groups(np.array([20, 1, 0, 1, 1, 15, 1]))] == [[1, 3, 4, 6], [0, 5]]
    assert [group.tolist() for group in _groups(np.array([20, 13, 0, 20]))] == [[0, 1, 3]]
    assert _groups(np.zeros(2, dtype=np.int64)) == []


@pytest.mark.quick_cases("max_risk1", "1e-06")
@pytest.mark.parametrize("max_risk", [0.2, {0: 0.3, 1: 0.2}, {1: 0.2}, 1e-6, Costs(np.ones((2, 2)) - np.eye(2), 0.3)])
def test_promise_about_a_classifier(max_risk, tmp_path):
    X, y = make_moons(500, noise=0.3, random_state=0)
    model = SelectiveClassifier(SEPClassifier(), max_risk, random_state=0).fit(X, y)
    decided = assert_same(model, session_of(model, tmp_path), rows_around(X, 2000))
    assert decided.accepted.any() == (max_risk != 1e-6)


def test_promise_about_a_frozen_classifier(tmp_path):
    X, y = make_moons(500, noise=0.3, random_state=0)
    frozen = FrozenEstimator(SEPClassifier().fit(X[:250], y[:250]))
    model = SelectiveClassifier(frozen, 0.2).fit(X[250:], y[250:])
    assert_same(model, session_of(model, tmp_path), rows_around(X, 1000))


@pytest.mark.parametrize("max_risk", [0.3, {0: 0.3, 2: 0.3}])
def test_promise_about_labels_the_classifier_does_not_know(max_risk, tmp_path):
    X, y = make_moons(800, noise=0.3, random_state=0)
    frozen = FrozenEstimator(SEPClassifier().fit(X[:400], 2 * y[:400]))
    model = SelectiveClassifier(frozen, max_risk).fit(X[400:], np.where(np.arange(400) % 40, 2 * y[400:], 1))
    assert model.classes_.tolist() == [0, 1, 2]
    session = session_of(model, tmp_path)
    assert_same(model, session, rows_around(X, 200))
    facts = {
        name: json.loads(fact)
        for name, fact in session.get_modelmeta().custom_metadata_map.items()
        if name != "sepc_version"
    }
    assert facts["classes"] == [0, 1, 2]
    assert facts["accepted_from_trust"][1] is None


def test_no_rows_and_one_row_at_a_time(tmp_path):
    X, y = load_iris(return_X_y=True)
    models = [SEPClassifier().fit(X, y), SEPClassifier().fit(X[::40], y[::40])]
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


def test_what_the_runtime_simplifies_changes_nothing(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X, y)
    simplified, rows = session_of(model, tmp_path), rows_around(X, 2000)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = ort.InferenceSession(tmp_path / "model.onnx", options, providers=["CPUExecutionProvider"])
    for name, values in run(plain, rows).items():
        np.testing.assert_allclose(run(simplified, rows)[name], values, atol=1e-14, err_msg=name)
