"""TrustedClassifier: labels are kept, trust is learnt on unseen rows, and it says why."""

import re
from dataclasses import replace

import numpy as np
import pytest
from mixed_tables import patients
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.decisions.decisions import positions_of, probability_of
from sepc.decisions.kinds import Cause
from sepc.errors import FlatSetWarning, LeftOutWarning
from sepc.estimators.trusted.estimator import splits_of
from sepc.estimators.trusted.trust_model import N_SIGNALS, signals
from sepc.metrics import aurc, ece


# On every change, SEPClassifier has all of these checks, and the other wrappers most of them.
@pytest.mark.slow_cases(
    "*check_classifier_data_not_an_array",
    "*check_classifiers_classes",
    "*check_classifiers_train*",
    "*check_dont_overwrite_parameters",
    "*check_dtype_object",
    "*check_estimators_dtypes",
    "*check_estimators_fit_returns_self",
    "*check_f_contiguous_array_estimator",
    "*check_fit2d_predict1d",
    "*check_fit_check_is_fitted",
    "*check_fit_idempotent",
    "*check_fit_score_takes_y",
    "*check_methods_subset_invariance",
    "*check_n_features_in",
    "*check_positive_only_tag_during_fit",
    "*check_readonly_memmap_input",
    "*check_supervised_y_2d",
)
@parametrize_with_checks([TrustedClassifier(LogisticRegression(), cv=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.where(y == 0, "malignant", "benign")
    base = RandomForestClassifier(30, random_state=0)
    return TrustedClassifier(base).fit(X[::2], labels[::2]), X[1::2], labels[1::2]


@pytest.mark.slow
def test_keeps_the_labels_and_probabilities(wdbc):
    trusted, X, _ = wdbc
    base = trusted.estimator_
    np.testing.assert_array_equal(trusted.decide(X).label, base.predict(X))
    np.testing.assert_array_equal(trusted.predict(X), base.predict(X))
    np.testing.assert_array_equal(trusted.predict_proba(X), base.predict_proba(X))
    np.testing.assert_allclose(trusted.decide(X).base_trust, base.predict_proba(X).max(axis=1))


def test_trust_is_a_probability_that_ranks_errors(wdbc):
    trusted, X, labels = wdbc
    decisions = trusted.decide(X)
    correct = decisions.label == labels
    assert aurc(correct, decisions.trust) < 0.5 * (1 - correct.mean())
    assert ece(correct, decisions.trust) < 0.06
    np.testing.assert_array_equal(decisions.accepted, decisions.trust >= 0.95)
    assert ((decisions.cause == Cause.ACCEPTED) == decisions.accepted).all()


def test_a_sure_model_is_not_trusted_where_it_has_seen_nothing():
    X, y = make_moons(600, noise=0.15, random_state=0)
    trusted = TrustedClassifier(LogisticRegression(C=1e4)).fit(X, y)
    far = trusted.decide(np.array([[0.5, -30.0]]))[0]
    assert far.base_trust > 0.999
    assert far.trust < 0.95
    assert far.cause is Cause.UNSEEN


def test_says_why(wdbc):
    trusted, X, _ = wdbc
    decisions = trusted.decide(X)
    least = decisions[int(decisions.trust.argmin())]
    why = least.why()
    assert re.match(rf"{str(least.label)!r} by RandomForestClassifier with trust 0\.\d+", why)
    assert len(why.split()) <= 80
    assert f"Not accepted ({least.cause.name})" in why
    assert "RandomForestClassifier gives no reasons; by the nearest cases" in why
    assert repr(least) == f"Decision({least.label!r}, trust {least.trust:.3f}, {least.cause.name})"
    most = decisions[int(decisions.trust.argmax())]
    assert "The nearest cases agree (" in most.why()
    assert "Not accepted" not in most.why()
    apart = decisions[int(np.flatnonzero(~decisions.agreement)[0])]
    assert f"The nearest cases suggest {str(apart.partition.label)!r} (" in apart.why()
    assert f" For {str(apart.partition.label)!r}: " in apart.why()
    assert " For it: " not in apart.why()
    assert any(name in decisions[0].why() for name in X.columns)


def test_a_decision_shows_what_the_partition_says(wdbc):
    trusted, X, _ = wdbc
    decisions, own = trusted.decide(X), trusted.partition_.decide(X)
    np.testing.assert_array_equal(decisions.agreement, own.label == decisions.label)
    np.testing.assert_array_equal(decisions.region, own.region)
    np.testing.assert_array_equal(decisions.gauge, own.gauge)
    column = np.searchsorted(trusted.classes_, decisions.label)
    np.testing.assert_array_equal(decisions.support, own.probabilities[np.arange(len(X)), column])
    some = decisions[decisions.agreement]
    assert len(some.partition) == len(some) == decisions.agreement.sum()


def test_causes_are_those_of_the_rows_that_this_trust_refuses(wdbc):
    trusted, X, _ = wdbc
    decisions, own = trusted.decide(X), trusted.partition_.decide(X)
    both = ~decisions.accepted & ~own.accepted
    assert both.any()
    np.testing.assert_array_equal(decisions.cause[both], own.cause[both])
    only_here = ~decisions.accepted & own.accepted
    assert (decisions.cause[only_here] != Cause.ACCEPTED).all()


@pytest.mark.slow_cases("base0")
@pytest.mark.parametrize("base", [HistGradientBoostingClassifier(random_state=0), LogisticRegression(C=1e4)])
def test_far_rows_are_not_accepted_whatever_the_classifier_says(base):
    X, y = make_moons(600, noise=0.15, random_state=0)
    trusted = TrustedClassifier(base, cv=2).fit(X, y)
    directions = np.random.default_rng(0).standard_normal((500, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    size = np.sqrt(np.sum(X.var(axis=0)))
    for n_deviations, most in ((5, 0.02), (10, 0.0), (1000, 0.0)):
        far = trusted.decide(X.mean(axis=0) + n_deviations * size * directions)
        assert far.accepted.mean() <= most
    assert far.trust.max() < 0.6
    assert (far.cause == Cause.UNSEEN).all()


def test_decisions_as_a_frame(wdbc):
    trusted, X, _ = wdbc
    frame = trusted.decide(X[:5]).to_frame()
    assert list(frame.columns[:4]) == ["label", "trust", "accepted", "cause"]
    assert len(frame) == 5


def test_a_frozen_pipeline_learns_trust_from_held_out_rows():
    X, y = load_iris(return_X_y=True)
    base = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2])
    trusted = TrustedClassifier(FrozenEstimator(base)).fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(trusted.predict(X), base.predict(X))
    assert "by LogisticRegression" in trusted.decide(X[:1])[0].why()


def test_a_frozen_model_may_know_labels_that_the_held_out_rows_lack():
    X, y = load_iris(return_X_y=True)
    base = LogisticRegression(max_iter=1000).fit(X, y)
    held_out = y != 1
    trusted = TrustedClassifier(FrozenEstimator(base)).fit(X[held_out], y[held_out])
    decisions = trusted.decide(X[y == 1])
    assert set(decisions.label[decisions.support == 0.0]) == {1}
    assert decisions.trust[decisions.support == 0.0].max() < trusted.decide(X[y == 0]).trust.min()
    assert "The nearest cases suggest 2 (" in decisions[int(decisions.support.argmin())].why()


@pytest.mark.slow
def test_a_classifier_without_probabilities():
    X, y = load_iris(return_X_y=True)
    trusted = TrustedClassifier(RidgeClassifier()).fit(X, y)
    decisions = trusted.decide(X)
    assert np.isnan(decisions.base_trust).all()
    assert not hasattr(trusted, "predict_proba")
    assert aurc(decisions.label == y, decisions.trust) < 0.5 * np.mean(decisions.label != y)
    assert "by RidgeClassifier with trust" in decisions[0].why()


@pytest.mark.slow
def test_classifier_and_partition_take_the_table_as_it_is():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(colour=np.where(y == 0, "blue", "red")).astype({"colour": "category"})
    base = HistGradientBoostingClassifier(max_iter=10, categorical_features="from_dtype")
    trusted = TrustedClassifier(base, cv=2).fit(X, y)
    assert trusted.partition_.n_features_in_ == trusted.n_features_in_ == 5
    assert "colour" in trusted.partition_.preparation_.categories
    assert len(trusted.decide(X)) == 150


@pytest.mark.slow_cases("None-array")
@pytest.mark.slow_cases("transformer1-frame", "transformer1-array")
@pytest.mark.parametrize("kind", ["frame", "array"])
@pytest.mark.parametrize("transformer", [None, SimpleImputer()])
def test_gaps_are_taken_by_the_partition_or_filled_by_a_transformer(transformer, kind):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    X = X if kind == "frame" else X.to_numpy()
    trusted = TrustedClassifier(HistGradientBoostingClassifier(max_iter=10), transformer=transformer, cv=2).fit(X, y)
    decisions = trusted.decide(X)
    assert np.mean(decisions.trust > 0.8) > 0.8
    gone = int(np.flatnonzero(np.isnan(np.asarray(X)).any(axis=1))[0])
    assert ("missing." in decisions.why(gone)) == (transformer is None)
    with pytest.raises(ValueError, match="infinity|infinite"):
        trusted.decide(X * np.inf)


@pytest.mark.slow
def test_columns_left_out_are_told_of_once_not_in_every_fold():
    table, y = patients()
    with pytest.warns(LeftOutWarning) as caught:
        TrustedClassifier(SEPClassifier(), cv=3).fit(table, y)
    assert len({str(warning.message) for warning in caught}) == 1
    assert len(caught) == 2


@pytest.mark.slow
def test_folds_may_keep_groups_together():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) % 5
    seen = []

    class Remembering(LogisticRegression):
        def fit(self, X, y):
            seen.append(len(y))
            return super().fit(X, y)

    trusted = TrustedClassifier(Remembering(max_iter=1000), cv=GroupKFold(5))
    trusted.fit(X, y, groups=groups)
    assert sorted(seen) == [120] * 5 + [150]


def test_a_number_of_folds_means_rows_drawn_at_random():
    labels = np.repeat(["a", "b"], [40, 20])
    first, again = (splits_of(4, labels, None, 0) for _ in range(2))
    for (_, test), (_, same) in zip(first, again, strict=True):
        np.testing.assert_array_equal(test, same)
        assert np.sum(labels[test] == "b") == 5
        assert np.max(np.diff(np.sort(test)[:10])) > 1
    assert len(splits_of(9, np.array(["a", "a", "b", "b", "b"]), None, 0)) == 2


@pytest.mark.slow
def test_a_class_of_one_row_is_never_left_out():
    X, y = load_iris(return_X_y=True)
    trusted = TrustedClassifier(LogisticRegression(max_iter=1000), random_state=0).fit(X[:101], y[:101])
    assert trusted.classes_.tolist() == [0, 1, 2]
    tested = np.concatenate([test for _, test in splits_of(5, y[:101], None, 0)])
    assert np.sort(tested).tolist() == list(range(100))
    with pytest.raises(ValueError, match="every class has a single row; give it at least 2 rows of some class"):
        TrustedClassifier(LogisticRegression()).fit(X[[0, 50, 100]], y[[0, 50, 100]])


@pytest.mark.slow
def test_a_partition_of_other_settings_stands_beside():
    X, y = load_iris(return_X_y=True)
    partition = SEPClassifier(trust="counts", max_ellipsoids=4)
    trusted = TrustedClassifier(LogisticRegression(max_iter=1000), partition=partition).fit(X, y)
    assert trusted.partition_.get_params() == partition.get_params()
    assert trusted.model_.partition is trusted.partition_.model_
    assert not hasattr(partition, "model_")
    with pytest.raises(TypeError, match="partition is LogisticRegression.*must be an SEPClassifier"):
        TrustedClassifier(LogisticRegression(), partition=LogisticRegression()).fit(X, y)


@pytest.mark.slow
def test_a_view_that_looks_at_labels_sees_none_of_the_rows_left_out():
    X, y = load_iris(return_X_y=True)
    seen = []

    class Remembering(SimpleImputer):
        def fit(self, X, y=None):
            seen.append(len(X))
            return super().fit(X, y)

    TrustedClassifier(LogisticRegression(max_iter=1000), transformer=Remembering(), cv=3).fit(X, y)
    assert sorted(seen) == [100, 100, 100, 150]


@pytest.mark.slow
def test_flat_rows_are_told_once():
    X, y = load_iris(return_X_y=True)
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(FlatSetWarning) as warned:
        TrustedClassifier(LogisticRegression(max_iter=1000)).fit(flat, y)
    assert len(warned) == 1


def test_a_promise_about_trusted_labels(wdbc):
    trusted, X, labels = wdbc
    selective = SelectiveClassifier(FrozenEstimator(trusted), max_risk=0.1).fit(X, labels)
    assert selective.coverage_ > 0.5
    assert "The nearest cases " in selective.decide(X)[0].inner.why()


@pytest.mark.slow
def test_the_number_of_jobs_changes_nothing():
    X, y = load_iris(return_X_y=True)
    alone = TrustedClassifier(LogisticRegression(max_iter=1000)).fit(X, y)
    in_parallel = clone(alone).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(alone.decide(X).trust, in_parallel.decide(X).trust)


def test_min_trust_is_checked():
    with pytest.raises(ValueError, match="min_trust is 2"):
        TrustedClassifier(LogisticRegression(), min_trust=2).fit([[0.0], [1.0]], [0, 1])


def test_signals_and_positions():
    classes = np.array(["a", "c"])
    given = positions_of(np.array(["c", "b", "a", "z"]), classes)
    assert given.tolist() == [1, -1, 0, -1]
    held = probability_of(np.array([[0.2, 0.8]] * 4), given)
    assert held.tolist() == [0.8, 0.0, 0.2, 0.0]


def test_signals_grow_with_what_speaks_for_a_label():
    X, y = load_iris(return_X_y=True)
    decided = SEPClassifier().fit(X, y).decide(X[:3])
    base = replace(decided, label=np.array([0, 1, 0]), trust=np.array([np.nan, 1.0, 0.9]))
    log_odds = signals(base, decided)
    assert log_odds.shape == (3, N_SIGNALS)
    np.testing.assert_allclose(log_odds[:, 0], [0.0, np.log(999), np.log(9)])
    assert (log_odds[:, 1] > 0).tolist() == [True, False, True]


@pytest.mark.slow
def test_polars_frames():
    polars = pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = polars.from_pandas(X)
    trusted = TrustedClassifier(LogisticRegression(max_iter=1000)).fit(X, y)
    assert len(trusted.decide(X)) == 150
