"""Weights of rows and of classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons

from sepc import SEPClassifier, load, save
from sepc.estimators.sep.given_tables import Copies


def rare_rows(rng, n, n_rare):
    """Two normal classes in the plane, of which the second is rare and overlaps the first."""
    rows = np.concatenate([rng.normal(size=(n, 2)), rng.normal(size=(n_rare, 2)) + 1.5])
    return rows, np.repeat(["common", "rare"], [n, n_rare])


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(list("abcdef"), 400), "size": rng.normal(size=400)})
    return X, (X["kind"].isin(["a", "b"]) ^ (rng.random(400) < 0.2)).to_numpy()


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
@pytest.mark.slow_cases("*cancer*")
@pytest.mark.parametrize("trust", ["weights", "counts"])
@pytest.mark.parametrize("rows", [load_breast_cancer, load_iris, table], ids=["cancer", "iris", "table"])
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(rows, trust, tmp_path):
    X, y = rows() if rows is table else rows(return_X_y=True, as_frame=True)
    y, rng = np.asarray(y), np.random.default_rng(0)
    weights = rng.integers(0, 4, len(y))
    weights[y == 2] *= trust == "weights"  # a class without weight is no class
    copies = rng.permutation(np.repeat(np.arange(len(y)), weights))
    fitted = SEPClassifier(trust=trust).fit(X, y, sample_weight=weights)
    weighted, repeated, unweighted = (
        own.decide(X)
        for own in (
            fitted,
            SEPClassifier(trust=trust).fit(X.iloc[copies].reset_index(drop=True), y[copies]),
            SEPClassifier(trust=trust).fit(X, y),
        )
    )
    assert fitted.classes_.tolist() == np.unique(y[weights > 0]).tolist()
    np.testing.assert_allclose(weighted.trust, repeated.trust, atol=1e-6)
    np.testing.assert_array_equal(weighted.label, repeated.label)
    assert np.abs(weighted.trust - unweighted.trust).max() > 1e-3
    if rows is not table:
        return
    halves = SEPClassifier(trust=trust, class_weight="balanced").fit(X, y, sample_weight=weights + 0.3)
    save(halves, tmp_path / "weighted.sepc")
    loaded = load(tmp_path / "weighted.sepc")
    assert loaded.class_weight == "balanced"
    np.testing.assert_array_equal(loaded.predict_proba(X), halves.predict_proba(X))


def test_weights_that_are_not_whole_count_in_proportion():
    X, y = make_moons(600, noise=0.3, random_state=0)
    weights = np.where(y == 1, 2.5, 1.0)
    halves = SEPClassifier(trust="counts").fit(X, y, sample_weight=weights)
    assert halves.model_.class_counts.tolist() == [300, 750]
    np.testing.assert_array_equal(halves.model_.table.counts.sum(axis=0), [300, 750])


def test_copies_add_up_to_the_weights_of_any_run_of_rows():
    weights = np.random.default_rng(0).exponential(size=5_000)
    copies = Copies.of(weights)
    assert np.abs(np.cumsum(copies.counts) * copies.unit - np.cumsum(weights)).max() < 1.01 * copies.unit
    assert 30_000 < copies.counts.sum() <= 40_001


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({}, -np.ones(150), "negative"),
        ({}, np.full(150, np.nan), "NaN"),
        ({}, np.ones(149), r"\(150,\)"),
        ({}, np.full(150, 1e-6), "less than one row"),
        ({"class_weight": "even"}, None, "'balanced'"),
        ({"class_weight": {0: 0.0}}, None, "above 0"),
        ({"class_weight": {7: 1.0}}, None, "0, 1 and 2"),
    ],
)
def test_odd_weights_are_refused(options, weights, message):
    with pytest.raises(ValueError, match=message):
        SEPClassifier(**options).fit(*load_iris(return_X_y=True), sample_weight=weights)


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
