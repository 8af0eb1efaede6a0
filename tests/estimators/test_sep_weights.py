"""Weights of rows and of classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

import sepc
from sepc import SEPClassifier, load, save
from sepc.estimators.sep.given_tables import Copies


def rare_rows(rng, n, n_rare):
    """Two normal classes in the plane, of which the second is rare and overlaps the first."""
    rows = np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(n_rare, 2)) + 1.5])
    return rows, np.repeat(["common", "rare"], [n, n_rare])


@pytest.mark.quick_cases("weights-load_iris", "counts-load_iris")
@pytest.mark.slow_cases("weights-load_breast_cancer")
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("trust", ["weights", "counts"])
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(load, trust):
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, len(y))
    copies = rng.permutation(np.repeat(np.arange(len(y)), weights))
    weighted = SEPClassifier(trust=trust).fit(X, y, sample_weight=weights).decide(X)
    repeated = SEPClassifier(trust=trust).fit(X[copies], y[copies]).decide(X)
    unweighted = SEPClassifier(trust=trust).fit(X, y).decide(X)
    np.testing.assert_allclose(weighted.trust, repeated.trust, atol=1e-6)
    np.testing.assert_array_equal(weighted.label, repeated.label)
    assert np.abs(weighted.trust - unweighted.trust).max() > 1e-3


def test_a_class_without_weight_is_no_class():
    X, y = load_iris(return_X_y=True)
    weighted = SEPClassifier().fit(X, y, sample_weight=y != 1)
    assert weighted.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(weighted.predict_proba(X), SEPClassifier().fit(X[y != 1], y[y != 1]).predict_proba(X))


@pytest.mark.slow
def test_categories_are_encoded_with_the_weights():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(list("abcdef"), 2_000), "size": rng.normal(size=2_000)})
    y = (X["kind"].isin(["a", "b"]) ^ (rng.random(2_000) < 0.2)).to_numpy()
    weights = rng.integers(0, 4, 2_000)
    copies = np.repeat(np.arange(2_000), weights)
    weighted = SEPClassifier().fit(X, y, sample_weight=weights)
    repeated = SEPClassifier().fit(X.iloc[copies].reset_index(drop=True), y[copies])
    np.testing.assert_allclose(weighted.decide(X).trust, repeated.decide(X).trust, atol=1e-6)


def test_weights_that_are_not_whole_count_in_proportion():
    X, y = make_moons(600, noise=0.3, random_state=0)
    weights = np.where(y == 1, 2.5, 1.0)
    halves = SEPClassifier(trust="counts").fit(X, y, sample_weight=weights)
    assert halves.model_.class_counts.tolist() == [300, 750]
    np.testing.assert_array_equal(halves.model_.table.counts.sum(axis=0), [300, 750])


def test_a_model_of_weights_that_are_not_whole_can_be_saved(tmp_path):
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, len(y))
    fitted = SEPClassifier().fit(X, y, sample_weight=weights)
    save(fitted, tmp_path / "weighted.sepc")
    np.testing.assert_array_equal(load(tmp_path / "weighted.sepc").predict_proba(X), fitted.predict_proba(X))


def test_copies_add_up_to_the_weights_of_any_run_of_rows():
    weights = np.random.default_rng(0).exponential(size=5_000)
    copies = Copies.of(weights)
    assert np.abs(np.cumsum(copies.counts) * copies.unit - np.cumsum(weights)).max() < 1.01 * copies.unit
    assert copies.counts.sum() <= 40_001


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(150), "negative"),
        (np.full(150, np.nan), "NaN"),
        (np.ones(149), r"expected \(150,\)"),
        (np.full(150, 1e-6), "less than one row"),
    ],
)
def test_odd_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        SEPClassifier().fit(*load_iris(return_X_y=True), sample_weight=weights)


def test_balanced_classes_find_rare_rows_with_honest_trust():
    rng = np.random.default_rng(0)
    rows, labels = rare_rows(rng, 5_000, 50)
    others, truth = rare_rows(rng, 2_000, 2_000)
    plain, balanced = (SEPClassifier(class_weight=own).fit(rows, labels).decide(others) for own in (None, "balanced"))
    is_rare = truth == "rare"
    assert (plain.label[is_rare] == "rare").mean() < 0.3
    assert (balanced.label[is_rare] == "rare").mean() >= 0.8
    assert (balanced.label[~is_rare] == "common").mean() >= 0.8
    # Where both classes are as frequent, as in these rows, trust is right as often as it says.
    assert (balanced.label == truth)[balanced.accepted].mean() > 0.93


@pytest.mark.parametrize("trust", ["weights", "counts"])
def test_class_weights_multiply_the_odds(trust):
    X, y = make_moons(600, noise=0.3, random_state=0)
    plain = SEPClassifier(trust=trust).fit(X, y).predict_proba(X)
    weighted = SEPClassifier(trust=trust, class_weight={1: 3.0}).fit(X, y).predict_proba(X)
    odds = [own[:, 1] / own[:, 0] for own in (plain, weighted)]
    if trust == "weights":
        np.testing.assert_allclose(odds[1], 3.0 * odds[0], rtol=1e-9)
    else:
        assert (odds[1] >= odds[0]).all()
        assert (odds[1] > 1.5 * odds[0]).mean() > 0.5


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "must be 'balanced'"),
        ({0: 0.0}, "above 0"),
        ({7: 1.0}, "the classes are 0, 1 and 2"),
    ],
)
def test_odd_class_weights_are_refused(class_weight, message):
    with pytest.raises(ValueError, match=message):
        SEPClassifier(class_weight=class_weight).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("class_weight", ["balanced", {"rare": 20.0}])
def test_class_weights_are_in_the_file(tmp_path, class_weight):
    rows, labels = rare_rows(np.random.default_rng(0), 500, 50)
    classifier = SEPClassifier(class_weight=class_weight).fit(rows, labels)
    sepc.save(classifier, tmp_path / "weighted.sepc")
    loaded = sepc.load(tmp_path / "weighted.sepc")
    assert loaded.class_weight == class_weight
    np.testing.assert_array_equal(loaded.decide(rows).trust, classifier.decide(rows).trust)
