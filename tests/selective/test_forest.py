"""The forest: the scikit-learn contract, what it gains over one partition, and its reasons."""

import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SEPClassifier, datasets
from sepc.metrics import aurc
from sepc.regions.kinds import Cause
from sepc.selective._forest_model import Platt
from sepc.selective._forest_model import causes as causes_of
from sepc.selective._members import Member, draw_projection, draw_rows, n_directions
from sepc.selective.forest import SEPForestClassifier

DATA = Path(__file__).parents[3] / "shared" / "data"
QUICK = ("wdbc", "vertebral_column_2c", "parkinsons", "ionosphere", "sonar")


@parametrize_with_checks([SEPForestClassifier(n_estimators=5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data_home(monkeypatch):
    home = os.environ.get(datasets.HOME_VARIABLE) or str(DATA)
    if not Path(home).is_dir():
        pytest.skip(f"no data sets in {home}")
    monkeypatch.setenv(datasets.HOME_VARIABLE, home)


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.where(y == 0, "malignant", "benign")
    return SEPForestClassifier(12, random_state=0).fit(X[::2], labels[::2]), X[1::2], labels[1::2]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return SEPForestClassifier(8, random_state=1).fit(X, y), X, y


def load(name):
    if name == "wdbc":
        return load_breast_cancer(return_X_y=True)
    data = datasets.load(name)
    return data.features.to_numpy(dtype=float), data.target


@pytest.mark.filterwarnings("ignore::sepc.errors.FlatSetWarning")
def test_ranks_errors_better_than_one_partition(data_home):
    n_better = 0
    for name in QUICK:
        X, X_test, y, y_test = train_test_split(*load(name), test_size=0.4, random_state=0)
        forest = SEPForestClassifier(20, random_state=0).fit(X, y).decide(X_test)
        single = SEPClassifier().fit(X, y).decide(X_test)
        n_better += aurc(forest.label == y_test, forest.trust) <= aurc(single.label == y_test, single.trust)
    assert n_better >= 4


def test_the_seed_decides_and_the_number_of_jobs_does_not(iris):
    forest, X, y = iris
    again = SEPForestClassifier(8, random_state=1, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    np.testing.assert_array_equal(again.oob_decision_function_, forest.oob_decision_function_)
    other = SEPForestClassifier(8, random_state=2).fit(X, y)
    assert (other.predict_proba(X) != forest.predict_proba(X)).any()
    restored = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(restored.predict_proba(X), forest.predict_proba(X))


def test_unseen_rows_are_scored_and_calibrated(iris):
    forest, X, y = iris
    out_of_bag = forest.oob_decision_function_
    assert out_of_bag.shape == (150, 3)
    voted = np.isfinite(out_of_bag).all(axis=1)
    assert voted.mean() > 0.9
    np.testing.assert_allclose(out_of_bag[voted].sum(axis=1), 1)
    assert forest.oob_score_ == np.mean(out_of_bag[voted].argmax(axis=1) == y[voted])
    assert forest.oob_score_ > 0.9


def test_rows_that_every_member_has_seen_have_no_out_of_bag_probability():
    X, y = load_iris(return_X_y=True)
    forest = SEPForestClassifier(1, random_state=0).fit(X, y)
    assert np.isnan(forest.oob_decision_function_).all(axis=1).mean() == pytest.approx(0.63, abs=0.1)


def test_decisions_index_and_filter(wdbc):
    forest, X, y = wdbc
    decisions = forest.decide(X)
    accepted = decisions[decisions.accepted]
    assert len(accepted) == decisions.accepted.sum() > 100
    assert (accepted.trust >= 0.95).all()
    assert (accepted.label == y[decisions.accepted]).mean() > 0.97
    assert [one.label for one in decisions[:3]] == decisions.label[:3].tolist()
    assert (decisions.cause == Cause.ACCEPTED).tolist() == decisions.accepted.tolist()
    np.testing.assert_array_equal(decisions.trust, forest.predict_proba(X).max(axis=1))
    np.testing.assert_array_equal(decisions.label, forest.predict(X))
    assert repr(decisions[0]).startswith("ForestDecision(")


def test_reasons_name_the_label_the_members_and_their_features(wdbc):
    forest, X, _ = wdbc
    decision = forest.decide(X)[3]
    why = decision.why()
    assert why.startswith(f"{str(decision.label)!r} with trust {decision.trust:.3f}: ")
    assert f"{round(12 * decision.agreement)} of 12 members agree" in why
    assert f"{round(12 * decision.outside)} of 12 have seen nothing near it" in why
    assert sum(repr(name) in why for name in forest.feature_names_in_) == 3
    named = re.search(r"ost for it: ellipsoid (\d+) of '(\w+)' in member (\d+), with (\d+) benign and (\d+) mal", why)
    k, owner, b, *counts = named.groups()
    member = forest.members_[int(b)].model
    assert member.classes[member.owners[int(k)]] == owner
    assert member.place_counts[int(k)].tolist() == [int(n) for n in counts]


def test_decisions_as_a_frame(wdbc):
    forest, X, _ = wdbc
    decisions = forest.decide(X)
    frame = decisions.to_frame()
    assert list(frame.columns) == [
        *("label", "trust", "accepted", "cause", "agreement", "outside"),
        *("p_benign", "p_malignant"),
    ]
    np.testing.assert_array_equal(frame["p_benign"], decisions.probabilities[:, 0])


def test_far_away_a_row_is_outside_every_member(wdbc):
    forest, X, _ = wdbc
    far = forest.decide(X[:2] + 1e5)
    assert (far.outside == 1).all()
    assert "12 of 12 have seen nothing near it;" in far[0].why()
    assert (far.cause == Cause.OUTSIDE).all()


def test_causes_follow_their_rule():
    accepted = np.array([True, False, False, False])
    agreement, outside = np.array([0.5, 1.0, 1.0, 0.6]), np.array([1.0, 0.6, 0.5, 0.5])
    causes = causes_of(accepted, agreement, outside, 0.95)
    assert causes.tolist() == [Cause.ACCEPTED, Cause.OUTSIDE, Cause.THIN, Cause.OVERLAP]


def test_members_see_as_many_directions_as_their_rows_allow(wdbc):
    assert [n_directions(30, 8, n) for n in (1, 12, 55, 56)] == [2, 3, 8, 8]
    assert n_directions(1, 8, 100) == 1
    assert n_directions(5, 1, 100) == 1
    forest, X, _ = wdbc
    for member in forest.members_:
        assert isinstance(member, Member)
        m = member.projection.shape[1]
        assert m == 8
        np.testing.assert_allclose(member.projection.T @ member.projection, np.eye(m), atol=1e-12)
    assert [len(member.features) for member in forest.members_[:2]] == [8, 16]


def test_constant_features_are_never_drawn():
    varying = np.array([True, False, True, True])
    for turned in (False, True):
        projection = draw_projection(varying, 2, turned, np.random.default_rng(0))
        assert not projection[1].any()


def test_every_member_has_rows_of_every_class():
    which = np.array([0] * 50 + [1])
    assert all(draw_rows(which, 2, 500, np.random.default_rng(seed))[-1] for seed in range(20))
    X = np.random.default_rng(0).normal(size=(51, 3))
    forest = SEPForestClassifier(3, random_state=0).fit(X, which)
    assert forest.predict_proba(X).shape == (51, 2)


def test_large_classes_are_thinned_out_and_small_ones_are_not():
    which = np.repeat([0, 1, 2], [8000, 1900, 100])
    drawn = draw_rows(which, 3, 1000, np.random.default_rng(0))
    sizes = np.bincount(which[drawn])
    assert sizes[:2].tolist() == [800, 190]
    assert 50 <= sizes[2] <= 60
    few = draw_rows(which[::50], 3, 1000, np.random.default_rng(0))
    assert 0.5 < few.mean() < 0.75


def test_calibration_recovers_the_rates_behind_overconfident_averages():
    rng = np.random.default_rng(0)
    rate = rng.uniform(0.3, 0.7, size=4000)
    which = (rng.uniform(size=4000) < rate).astype(int)
    shown = rate**3 / (rate**3 + (1 - rate) ** 3)
    calibrated = Platt.learnt(np.column_stack([1 - shown, shown]), which).apply(np.column_stack([1 - shown, shown]))
    np.testing.assert_allclose(calibrated[:, 1], rate, atol=0.05)


def test_ellipsoids_have_weights_unless_there_are_too_many(iris, monkeypatch):
    forest, X, y = iris
    for member, weights in zip(forest.members_, forest.model_.head.weights, strict=True):
        assert weights.shape == (member.model.n_ellipsoids, 3)
    monkeypatch.setattr("sepc.selective._forest_model.HEAD_ENTRIES", 100)
    without = SEPForestClassifier(8, random_state=1).fit(X, y)
    assert without.model_.head is None
    np.testing.assert_allclose(without.predict_proba(X).sum(axis=1), 1)
    assert without.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators is 0"),
        ({"max_features": 1.5}, "max_features is 1.5"),
        ({"n_impure": -1}, "n_impure is -1"),
        ({"n_impure": 1.5}, "as a float it is a share"),
        ({"min_trust": 2}, "min_trust is 2"),
    ],
)
def test_explains_wrong_parameters(parameters, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        SEPForestClassifier(**parameters).fit(X, y)
