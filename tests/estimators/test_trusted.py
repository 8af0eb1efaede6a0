"""TrustedClassifier: labels are kept, trust is learnt on unseen rows, and it says why."""

import numpy as np
import pytest
from mixed_tables import patients
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from sepc import Cause, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import FlatSetWarning, LeftOutWarning
from sepc.estimators.trusted_decisions import Calibration
from sepc.metrics import aurc, ece


# On every change, SEPClassifier has all of these checks, and the other wrappers most of them.
@pytest.mark.quick_cases("*check_estimators_pickle*", "*nan_inf*", "*one_label*", "*dict_unchanged*", "*nonsquare*")
@parametrize_with_checks([TrustedClassifier(LogisticRegression(), cv=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.where(y == 0, "malignant", "benign")
    base = RandomForestClassifier(30, random_state=0)
    return TrustedClassifier(base).fit(X[::2], labels[::2]), X[1::2], labels[1::2]


def test_labels_stay_and_trust_is_a_probability_that_ranks_errors(wdbc):
    trusted, X, labels = wdbc
    decisions, own, base = trusted.decide(X), trusted.partition_.decide(X), trusted.estimator_
    np.testing.assert_array_equal(decisions.label, base.predict(X))
    np.testing.assert_array_equal(trusted.predict(X), base.predict(X))
    np.testing.assert_array_equal(trusted.predict_proba(X), base.predict_proba(X))
    np.testing.assert_allclose(decisions.base_trust, base.predict_proba(X).max(axis=1))
    correct = decisions.label == labels
    assert aurc(correct, decisions.trust) < 0.5 * (1 - correct.mean())
    assert ece(correct, decisions.trust) < 0.06
    np.testing.assert_array_equal(decisions.accepted, decisions.trust >= 0.95)
    np.testing.assert_array_equal(decisions.agreement, own.label == decisions.label)
    np.testing.assert_array_equal(decisions.region, own.region)
    np.testing.assert_array_equal(decisions.gauge, own.gauge)
    column = np.searchsorted(trusted.classes_, decisions.label)
    np.testing.assert_array_equal(decisions.support, own.probabilities[np.arange(len(X)), column])
    some = decisions[decisions.agreement]
    assert len(some.partition) == len(some) == decisions.agreement.sum()
    both, only_here = ~decisions.accepted & ~own.accepted, ~decisions.accepted & own.accepted
    assert both.any()
    np.testing.assert_array_equal(decisions.cause[both], own.cause[both])
    assert (decisions.cause[only_here] != Cause.ACCEPTED).all()
    selective = SelectiveClassifier(FrozenEstimator(trusted), max_risk=0.1).fit(X, labels)
    assert selective.coverage_ > 0.5


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


def test_a_frozen_model_may_know_labels_that_the_held_out_rows_lack():
    X, y = load_iris(return_X_y=True)
    base = LogisticRegression(max_iter=1000).fit(X, y)
    held_out = y != 1
    assert TrustedClassifier(FrozenEstimator(base)).fit(X[::2], y[::2]).predict(X).tolist() == base.predict(X).tolist()
    trusted = TrustedClassifier(FrozenEstimator(base)).fit(X[held_out], y[held_out])
    decisions = trusted.decide(X[y == 1])
    assert set(decisions.label[decisions.support == 0.0]) == {1}
    assert decisions.trust[decisions.support == 0.0].max() < trusted.decide(X[y == 0]).trust.min()
    assert "suggest 2" in decisions[int(decisions.support.argmin())].why()


@pytest.mark.slow
def test_a_classifier_without_probabilities():
    X, y = load_iris(return_X_y=True)
    trusted = TrustedClassifier(RidgeClassifier()).fit(X, y)
    decisions = trusted.decide(X)
    assert np.isnan(decisions.base_trust).all()
    assert not hasattr(trusted, "predict_proba")
    assert aurc(decisions.label == y, decisions.trust) < 0.5 * np.mean(decisions.label != y)
    assert "RidgeClassifier" in decisions[0].why()


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
def test_columns_left_out_and_flat_rows_are_told_of_once_not_in_every_fold():
    table, y = patients()
    with pytest.warns(LeftOutWarning) as caught:
        TrustedClassifier(SEPClassifier(), cv=3).fit(table, y)
    assert len({str(warning.message) for warning in caught}) == 1
    assert len(caught) == 2
    X, y = load_iris(return_X_y=True)
    with pytest.warns(FlatSetWarning) as caught:
        TrustedClassifier(LogisticRegression(max_iter=1000)).fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y)
    assert len(caught) == 1


class Remembering(ClassifierMixin, BaseEstimator):
    """Says the most frequent label, and remembers the rows of every fit."""

    seen: list[np.ndarray] = []

    def fit(self, X, y):
        self.seen.append(np.asarray(X)[:, -1].astype(int))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.most_)


class Watching(SimpleImputer):
    """Remembers how many rows it saw."""

    seen: list[int] = []

    def fit(self, X, y=None):
        self.seen.append(len(X))
        return super().fit(X, y)


def left_out(y, cv, groups=None, **options):
    """The rows that each fold leaves out."""
    X = np.column_stack([np.random.default_rng(0).normal(size=(len(y), 2)), np.arange(len(y))])
    Remembering.seen.clear()
    quick = SEPClassifier(trust="counts", max_ellipsoids=2)
    TrustedClassifier(Remembering(), partition=quick, cv=cv, random_state=0, **options).fit(X, y, groups=groups)
    return [np.setdiff1d(np.arange(len(y)), rows) for rows in Remembering.seen if len(rows) < len(y)]


def test_a_number_of_folds_means_rows_drawn_at_random():
    labels = np.repeat(["a", "b"], [40, 20])
    first, again = left_out(labels, 4), left_out(labels, 4)
    assert len(first) == 4
    for rows, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(rows, same)
        assert np.sum(labels[rows] == "b") == 5
        assert np.max(np.diff(rows[:10])) > 1
    assert len(left_out(np.repeat(["a", "b"], [20, 2]), 9)) == 2
    groups = np.arange(60) % 5
    Watching.seen.clear()
    for rows in left_out(labels, GroupKFold(5), groups, transformer=Watching()):
        assert len(np.unique(groups[rows])) == 1
    assert sorted(Watching.seen) == [48] * 5 + [60]
    single = left_out(np.repeat(["a", "b", "c"], [20, 20, 1]), 5)
    assert np.sort(np.concatenate(single)).tolist() == list(range(40))  # the only row of a class is never left out
    with pytest.raises(ValueError, match="single row"):
        left_out(np.array(["a", "b", "c"]), 5)


def signals_drawn(n, coefficients, seed=0):
    rng = np.random.default_rng(seed)
    given = rng.standard_normal((n, len(coefficients)))
    return given, rng.random(n) < expit(given @ coefficients + 1.0)


def test_calibration_finds_coefficients_none_below_zero_and_promises_nothing_for_certain():
    freely = {"towards": 0.0, "penalty": 1.0}
    found = Calibration.fit(*signals_drawn(20_000, [1.5, 0.0, -1.0]), **freely).coefficients
    assert found == pytest.approx([1.3, 0.0, 0.0], abs=0.25)
    assert found[1] < 0.05
    assert found[2] == 0.0
    given, correct = signals_drawn(4000, [1.0, 0.5], seed=1)
    calibration = Calibration.fit(given[:2000], correct[:2000], **freely)
    assert ece(correct[2000:], calibration.apply(given[2000:])) < 0.05
    for outcome, low, high in ((True, 0.9, 1.0), (False, 0.0, 0.1)):
        chance = Calibration.fit(given[:50], np.full(50, outcome), **freely).apply(given[:50])
        assert ((low < chance) & (chance < high)).all()
    towards = np.array([0.5, 0.25])
    kept = Calibration.fit(given[:8], correct[:8], towards=towards, penalty=1e6)
    np.testing.assert_allclose(kept.coefficients, towards, atol=1e-3)
