"""Weights by hand: nearness, depth, curves, fading, and terms that add up."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from weekly import weekly
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.model.membership import squared_radii
from sepc.model.weights import Weights, depth, fade, fading, isolated_nearness, nearness


def one_feature(**changes):
    """Two classes and a feature with a slope of 2 and a step of 1 at 0.5; no ellipsoid, no isolated row."""
    given = {
        "offsets": np.zeros(2),
        "lines": np.array([[0.0, 2.0]]),
        "n_knots": np.array([1]),
        "knots": np.array([0.5]),
        "levels": np.array([[0.0, 0.0], [0.0, 1.0]]),
        "near": np.empty((0, 2)),
        "deep": np.empty((0, 2)),
        "ellipsoid_means": np.empty((0, 2)),
        "isolated": np.empty((0, 2)),
        "isolated_mean": np.zeros(2),
        "width": 1.0,
        "category_features": np.empty(0, dtype=np.int64),
        "n_categories": np.empty(0, dtype=np.int64),
        "category_levels": np.empty((0, 2)),
    }
    return Weights(**given | changes)


def scores(weights, values, squares=None, isolated=None):
    n = len(values)
    squares = np.empty((0, n)) if squares is None else np.asarray(squares, float)
    return weights.scores(np.array([values], float), squares, np.empty((0, 1)) if isolated is None else isolated)


def test_nearness_is_one_inside_and_depth_grows_outwards():
    squared = np.array([0.0, 0.5, 1.0, 2.0, 1e3, np.inf])
    near, deep = nearness(squared), depth(squared)
    np.testing.assert_array_equal(near[:3], 1.0)
    assert near[3] == pytest.approx(np.exp(-0.75))
    assert near[-1] == 0.0
    assert (np.diff(deep) > 0).all()
    assert np.isfinite(deep).all()
    assert deep[0] == pytest.approx(np.log(0.3))


def test_scores_are_lines_and_steps_and_what_is_near_by_hand():
    found = scores(one_feature(), [0.0, 0.49, 0.5, 1.0, 8.0, 1e300, -8.0, -1e300])[1]
    np.testing.assert_allclose(found, [0.0, 0.98, 2.0, 3.0, 17.0, 17.0, -16.0, -16.0])
    weights = one_feature(
        near=np.array([[0.0, 3.0]]), deep=np.array([[0.0, -1.0]]), ellipsoid_means=np.array([[0.0, 0.5]])
    )
    assert scores(weights, [0.0], [[0.25]])[1, 0] == pytest.approx(3.0 - np.log(0.55) - 0.5)
    weights = one_feature(isolated=np.array([[0.0, 4.0]]), width=2.0)
    score = scores(weights, [0.0, 2.0, 1e200], isolated=np.zeros((1, 1)))
    lines = scores(one_feature(), [0.0, 2.0, 1e200])
    np.testing.assert_allclose((score - lines)[1], [4.0, 4.0 * np.exp(-0.5), 0.0])
    assert isolated_nearness(np.array([[1e300]]), np.zeros((1, 1)), 1.0)[0, 0] == 0.0


def test_probabilities_fade_to_equal_ones_from_twice_the_size_on():
    np.testing.assert_allclose(fading(np.array([0.0, 1.0, 2.0, 4.0, np.inf])), [1.0, 1.0, 1.0, 1 / 16, 0.0])
    probabilities = fade(np.array([[1.0, 0.0, 0.0]] * 3), np.array([1.0, 4.0, np.inf]))
    np.testing.assert_allclose(probabilities, [[1, 0, 0], [1 / 16 + 5 / 16, 5 / 16, 5 / 16], [1 / 3, 1 / 3, 1 / 3]])


@fitted_once
def fitted(n):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 4)) + 1.2 * np.eye(3, 4)[y]
    X[:, 3] = rng.poisson(1.0, size=n)
    return SEPClassifier().fit(X, np.array(["a", "b", "c"])[y]), X


@pytest.fixture(params=[300, weekly(1_500)])
def three_classes(request):
    return fitted(request.param)


def test_decisions_are_the_faded_softmax_of_the_scores(three_classes):
    classifier, X = three_classes
    model = classifier.model_
    decisions = classifier.decide(X)
    Z = model.standardize(X)
    squares = squared_radii(Z, model.centers, model.roots)
    wanted = fade(softmax(model.weights.scores(Z.T, squares.T, model.isolated).T, axis=1), decisions.gauge)
    np.testing.assert_allclose(decisions.probabilities, wanted, atol=1e-12)
    np.testing.assert_array_equal(decisions.label, classifier.classes_[decisions.probabilities.argmax(axis=1)])
    np.testing.assert_array_equal(decisions.trust, decisions.probabilities.max(axis=1))


def test_terms_add_up_to_the_log_odds_on_many_rows(three_classes):
    classifier, X = three_classes
    model, rng = classifier.model_, np.random.default_rng(1)
    many = X[rng.integers(len(X), size=10_000)] + rng.normal(scale=0.5, size=(10_000, 4))
    decisions = classifier.decide(many)
    terms = decisions.terms()
    Z = model.standardize(many)
    squares = squared_radii(Z, model.centers, model.roots)
    scores = model.weights.scores(Z.T, squares.T, model.isolated).T
    each, label = np.arange(len(many)), np.searchsorted(model.classes, terms.label)
    runner_up = np.searchsorted(model.classes, terms.runner_up)
    wanted = scores[each, label] - scores[each, runner_up]
    np.testing.assert_allclose(terms.log_odds, wanted, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(terms.label, decisions.label)
    others = np.where(np.arange(3) == label[:, None], -np.inf, scores)
    np.testing.assert_array_equal(runner_up, others.argmax(axis=1))
    assert (terms.log_odds >= 0).all()


def test_terms_are_zero_on_average_over_the_rows_weighed(three_classes):
    classifier, X = three_classes
    model = classifier.model_
    Z = model.standardize(X)
    squares = squared_radii(Z, model.centers, model.roots).T
    for terms in (model.weights.feature_terms(Z.T), model.weights.ellipsoid_terms(squares)):
        np.testing.assert_allclose(terms.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(model.weights.isolated_terms(Z.T, model.isolated).mean(axis=0), 0.0, atol=1e-9)


def test_one_decision_names_its_terms(three_classes):
    classifier, X = three_classes
    decisions = classifier.decide(X)
    term = decisions[3].terms()
    named = dict(term.named())
    assert list(named)[:4] == ["x0", "x1", "x2", "x3"]
    assert sum(named.values()) == pytest.approx(term.log_odds, abs=1e-9)
    average = named.pop("an average case")
    assert term.largest(2)[0][1] == max(named.values(), key=abs)
    assert term.largest(2)[-1] == ("an average case", average)
    for n in range(len(named) + 2):
        assert sum(value for _, value in term.largest(n)) == pytest.approx(term.log_odds, abs=1e-9)
        assert len(term.largest(n)) == (len(named) + 1 if n >= len(named) - 1 else n + 2)
    frame = decisions.terms().to_frame()
    assert len(frame) == len(X)
    np.testing.assert_allclose(frame["log_odds"], decisions.terms().log_odds)


def test_a_row_outside_belongs_to_the_smallest_gauge(three_classes):
    classifier, X = three_classes
    model, rng = classifier.model_, np.random.default_rng(2)
    rows = X.mean(axis=0) + 4.0 * X.std(axis=0) * rng.normal(size=(500, 4))
    decisions = classifier.decide(rows)
    outside = decisions.place >= 0
    assert outside.sum() > 100
    Z = model.standardize(rows)
    gauges = np.sqrt(squared_radii(Z, model.centers, model.roots))
    to_isolated = 1.0 + np.sqrt(((Z[:, None] - model.isolated) ** 2).sum(axis=2) / 4)
    places = np.concatenate([gauges, to_isolated], axis=1)
    np.testing.assert_array_equal(decisions.place[outside], places.argmin(axis=1)[outside])
    np.testing.assert_allclose(decisions.gauge[outside], places.min(axis=1)[outside], rtol=1e-6)
    np.testing.assert_array_equal(decisions.region[outside], len(model.table.counts) + decisions.place[outside])


def test_without_weights_the_same_partition_decides_by_counts_and_a_reason_says_where_they_differ(three_classes):
    classifier, X = three_classes
    decisions, counted = classifier.decide(X), copy.copy(classifier)
    counted.model_ = replace(classifier.model_, weights=None, trust="counts")
    inside = decisions.place < 0
    np.testing.assert_array_equal(counted.decide(X).label[inside], decisions.counts_label[inside])
    with pytest.raises(ValueError, match="trust='weights'"):
        counted.decide(X[:5]).terms()
    differs = np.flatnonzero(decisions.label != decisions.counts_label)
    assert len(differs) > 0
    for i in differs[:20]:
        assert f"it would be {str(decisions.counts_label[i])!r}." in decisions.why(i)
    agrees = np.flatnonzero(decisions.label == decisions.counts_label)[0]
    assert "it would be" not in decisions[agrees].why()
