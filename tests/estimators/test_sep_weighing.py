"""Weights as `fit` finds them: any order of rows, few rows, one class, odd columns, rows far away."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier
from sepc.estimators.sep.weighed_columns import knots_of


def noisy(n, seed, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 0.8).astype(int)


def test_the_order_of_rows_moves_no_probability():
    X, y = noisy(1_500, 0)
    order = np.random.default_rng(1).permutation(len(X))
    straight, shuffled = SEPClassifier().fit(X, y), SEPClassifier().fit(X[order], y[order])
    new, _ = noisy(2_000, 2)
    np.testing.assert_allclose(straight.predict_proba(new), shuffled.predict_proba(new), rtol=0, atol=1e-8)


@pytest.mark.slow
def test_more_rows_are_better_and_accepted_rows_are_right():
    new, wanted = noisy(20_000, 3)
    accuracy = []
    for n in (500, 5_000, 50_000):
        decisions = SEPClassifier().fit(*noisy(n, 4)).decide(new)
        right = decisions.label == wanted
        accuracy.append(right.mean())
        assert right[decisions.accepted].mean() > 0.95
        assert decisions.accepted.mean() > 0.3
    assert accuracy[0] < accuracy[1] < accuracy[2]
    assert accuracy[2] > 0.925  # the best possible is 0.932


@pytest.mark.slow
def test_a_fit_is_the_same_twice_also_of_a_sample():
    X, y = noisy(50_000, 5, d=3)
    first, second = (SEPClassifier().fit(X, y).model_ for _ in range(2))
    np.testing.assert_array_equal(first.weights.levels, second.weights.levels)
    np.testing.assert_array_equal(first.roots, second.roots)


@pytest.mark.quick_cases("3", "10", "1000")
@pytest.mark.parametrize("spread", [3, 5, 10, 50, 1000])
def test_far_rows_are_not_accepted(spread):
    X, y = load_breast_cancer(return_X_y=True)
    classifier, rng = SEPClassifier().fit(X, y), np.random.default_rng(0)
    direction = rng.normal(size=(500, X.shape[1]))
    direction /= np.sqrt((direction**2).mean(axis=1, keepdims=True))
    far = X.mean(axis=0) + spread * X.std(axis=0) * direction
    assert classifier.decide(far).accepted.mean() <= (0.05 if spread == 3 else 0.02)


@pytest.mark.slow
def test_copies_of_rows_keep_their_share_in_the_sample():
    rng = np.random.default_rng(6)
    X = rng.poisson([1.0, 2.0, 3.0], size=(300_000, 3)).astype(float)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(2.5 - X @ [1.0, -0.5, 0.7]))).astype(int)
    sampled = SEPClassifier().fit(X, y)
    plain = SEPClassifier().fit(X[:40_000], y[:40_000])
    new = rng.poisson([1.0, 2.0, 3.0], size=(20_000, 3)).astype(float)
    truth = 1 / (1 + np.exp(2.5 - new @ [1.0, -0.5, 0.7]))
    errors = [np.abs(classifier.predict_proba(new)[:, 1] - truth).mean() for classifier in (sampled, plain)]
    assert errors[0] < errors[1] + 0.01


def test_one_class_is_certain_near_its_rows_and_fades_far_away():
    X = np.random.default_rng(7).normal(size=(60, 2))
    decisions = SEPClassifier().fit(X, np.zeros(60)).decide(np.array([[0.0, 0.0], [1e3, 0.0]]))
    np.testing.assert_allclose(decisions.probabilities, 1.0)
    assert decisions.accepted.tolist() == [True, False]
    assert decisions.trust[1] == pytest.approx(0.5)


def test_rows_that_are_all_the_same_are_enough_to_fit():
    X, y = np.zeros((3, 8)), [0, 1, 1]
    decisions = SEPClassifier().fit(X, y).decide(X[:1])
    assert np.isfinite(decisions.probabilities).all()


def test_knots_of_a_continuous_column_are_quantiles():
    values = np.random.default_rng(8).normal(size=10_000)
    knots = knots_of(values, 20)
    assert len(knots) == 20
    np.testing.assert_allclose(np.searchsorted(np.sort(values), knots) / len(values), np.arange(1, 21) / 20, atol=2e-3)


def test_knots_of_a_column_that_is_mostly_zero_show_the_rest():
    values = np.concatenate([np.zeros(950), np.random.default_rng(9).exponential(size=50)])
    knots = knots_of(values, 20)
    assert len(knots) == 20
    assert (knots > 0).all()
    assert np.isin(knots, values).all()


@pytest.mark.parametrize("values", [np.zeros(50), np.repeat([1.0, 2.0], 25)])
def test_knots_of_few_values_stand_at_them(values):
    np.testing.assert_array_equal(knots_of(values, 20), np.unique(values)[1:])


def test_a_constant_column_and_a_copy_change_nothing():
    X, y = noisy(800, 10, d=3)
    odd = np.column_stack([X, np.full(len(X), 7.0)])
    with pytest.warns(UserWarning, match="constant"):
        classifier = SEPClassifier().fit(odd, y)
    assert classifier.score(odd, y) > 0.85
    terms = classifier.decide(odd).terms()
    np.testing.assert_array_equal(terms.features[:, 3], 0.0)


@pytest.mark.parametrize("n_rare", [1, 2])
def test_one_row_of_a_class_is_enough_to_fit(n_rare):
    X, _ = noisy(200, 11, d=3)
    y = np.zeros(200, dtype=int)
    y[:n_rare] = 1
    X[:n_rare] += 6.0
    decisions = SEPClassifier().fit(X, y).decide(X)
    assert np.isfinite(decisions.probabilities).all()
    assert (decisions.label[n_rare:] == 0).all()


def test_of_many_isolated_rows_some_of_every_class_have_a_weight(monkeypatch):
    monkeypatch.setattr("sepc.estimators.sep.weighing.MOST_ISOLATED", 12)
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    model = SEPClassifier().fit(rng.normal(size=(200, 6)) + 0.8 * np.eye(3, 6)[y], y).model_
    is_weighed = model.weights.isolated.any(axis=1)
    assert (len(model.isolated), is_weighed.sum()) == (57, 12)
    assert np.bincount(model.isolated_owners[is_weighed]).tolist() == [3, 4, 5]
