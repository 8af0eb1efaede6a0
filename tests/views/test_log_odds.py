"""What counts: curves and ellipsoids are the terms of decisions, whatever the features are."""

import numpy as np
import pytest
from mixed_tables import patients
from sklearn.datasets import load_breast_cancer, load_iris

from sepc import SEPClassifier
from sepc.views.log_odds import categories_by_feature, contrast_of, curves_of, spreads_of


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True)
    return X, SEPClassifier().fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, SEPClassifier().fit(X, np.array(["setosa", "versicolor", "virginica"])[y])


def signed_terms(classifier, rows, part):
    """Terms of the second of two classes against the first, as decisions tell them."""
    decisions = classifier.decide(rows)
    sign = np.where(decisions.label == classifier.classes_[1], 1.0, -1.0)
    return sign[:, None] * getattr(decisions.terms(), part)


def read_off(curve, values):
    """The curve at these values, as an eye reads it: at a step, what is after it."""
    after = np.searchsorted(curve.x, values, side="right")
    left, right = np.clip(after - 1, 0, None), np.clip(after, None, len(curve.x) - 1)
    share = (values - curve.x[left]) / np.where(right > left, curve.x[right] - curve.x[left], 1.0)
    return curve.term[left] + share * (curve.term[right] - curve.term[left])


def test_curves_are_the_terms_of_decisions(wdbc):
    X, classifier = wdbc
    model = classifier.model_
    curves = curves_of(model, contrast_of(model), X, most=30)
    terms = signed_terms(classifier, X, "features")
    for curve in curves:
        values = X[:, curve.feature]
        at_knot = np.isclose(values[:, None], curve.knots, rtol=1e-12).any(axis=1)
        drawn = (values > curve.x[0]) & (values < curve.x[-1]) & ~at_knot
        assert drawn.mean() > 0.6
        np.testing.assert_allclose(read_off(curve, values[drawn]), terms[drawn, curve.feature], atol=1e-9)
        np.testing.assert_allclose(curve.spread, terms[:, curve.feature].std())
        assert curve.n_rows.sum() == ((values >= curve.edges[0]) & (values <= curve.edges[-1])).sum() >= 0.98 * len(X)
    spreads = [curve.spread for curve in curves]
    assert spreads == sorted(spreads, reverse=True)


def test_a_step_is_taken_at_the_knot_itself(wdbc):
    X, classifier = wdbc
    model = classifier.model_
    (curve,) = curves_of(model, contrast_of(model), None, [3])
    near = np.isclose(X[::2, 3, None], curve.knots, rtol=1e-12)
    rows, knots = np.nonzero(near)
    terms = signed_terms(classifier, X[::2][rows], "features")[:, 3]
    after = dict(zip(curve.x.tolist(), curve.term, strict=True))
    np.testing.assert_allclose([after[curve.knots[k]] for k in knots], terms, atol=1e-9)
    assert set(knots) == set(range(len(curve.knots)))
    assert len(curve.n_rows) == 0


def test_few_values_have_a_term_each():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, 400), rng.normal(size=(400, 2))]).astype(float)
    y = (X[:, 0] + X[:, 1] > 2).astype(int)
    classifier = SEPClassifier().fit(X, y)
    (curve,) = curves_of(classifier.model_, contrast_of(classifier.model_), X, [0])
    assert curve.is_discrete
    assert curve.x.tolist() == [0, 1, 2, 3, 4]
    assert curve.n_rows.tolist() == np.bincount(X[:, 0].astype(int)).tolist()
    terms = signed_terms(classifier, X, "features")[:, 0]
    for value, term in zip(curve.x, curve.term, strict=True):
        np.testing.assert_allclose(terms[X[:, 0] == value], term, atol=1e-9)


def test_a_feature_that_is_nearly_always_the_same_is_drawn_as_far_as_it_goes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 2))
    X[:, 1] = np.where(np.arange(10_000) < 30, X[:, 1], 0.0)
    classifier = SEPClassifier(max_ellipsoids=2).fit(X, (X[:, 0] > 0).astype(int))
    (curve,) = curves_of(classifier.model_, contrast_of(classifier.model_), X, [1])
    assert curve.x[[0, -1]].tolist() == pytest.approx([X[:, 1].min(), X[:, 1].max()])
    assert curve.n_rows.sum() == 10_000


def test_one_of_two_classes_is_the_other_upside_down(wdbc):
    X, classifier = wdbc
    model = classifier.model_
    first, second = (curves_of(model, contrast_of(model, label), X)[0] for label in (0, 1))
    assert first.name == second.name
    np.testing.assert_allclose(first.term, -second.term)
    assert contrast_of(model).label == 1
    assert contrast_of(model).against == 0


def test_one_of_many_classes_is_against_the_average_of_the_others(iris):
    X, classifier = iris
    model = classifier.model_
    contrast = contrast_of(model, "versicolor")
    np.testing.assert_allclose(contrast.coefficients, [-0.5, 1.0, -0.5])
    assert contrast.against is None
    assert contrast_of(model).label == 0
    terms = model.weights.feature_terms(model.standardize(X).T)
    spreads = spreads_of(model, contrast.coefficients[:, None], X)[:, 0]
    np.testing.assert_allclose(spreads, (terms[..., 1] - 0.5 * (terms[..., 0] + terms[..., 2])).std(axis=0))


def test_what_has_no_weights_is_refused(iris):
    X, classifier = iris
    with pytest.raises(ValueError, match="'rosa'"):
        contrast_of(classifier.model_, "rosa")
    counted = SEPClassifier(trust="counts").fit(X, np.arange(150) % 2)
    with pytest.raises(ValueError, match="weights"):
        curves_of(counted.model_, contrast_of(counted.model_), X)


def test_bars_of_categories_are_the_terms_of_decisions():
    table, y = patients(gaps=False, key=False)
    classifier = SEPClassifier().fit(table, y)
    model, known = classifier.model_, categories_by_feature(classifier.preparation_)
    odd = table.assign(ward=table["ward"].where(table["age"] < 70, "south"))
    rows = classifier.decide(odd).rows
    curves = {curve.name: curve for curve in curves_of(model, contrast_of(model), rows, most=9, categories=known)}
    terms = signed_terms(classifier, odd, "features")
    names = odd["ward"].replace({"south": "not seen in training"}).to_numpy()
    bars = curves["ward"]
    assert set(bars.categories) == {"east", "north", "west ü", "not seen in training"}
    assert bars.is_discrete
    for category, term, n_rows in zip(bars.categories, bars.term, bars.n_rows, strict=True):
        np.testing.assert_allclose(terms[names == category, bars.feature], term, atol=1e-9)
        assert n_rows == (names == category).sum()
    np.testing.assert_allclose(bars.spread, terms[:, bars.feature].std())
    alone = {curve.name: curve for curve in curves_of(model, contrast_of(model), most=9, categories=known)}
    at = dict(zip(alone["ward"].categories, alone["ward"].term, strict=True))
    assert at["east"] == dict(zip(bars.categories, bars.term, strict=True))["east"]
    assert set(at) == {"east", "north", "west ü"}
