"""Out-of-fold probabilities: what a model says of training rows that it has not seen."""

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris

import sepc
from sepc import SEPClassifier
from sepc.metrics import auroc


def line(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=n) > 0).astype(int)


def fitted(X, y, **options):
    return SEPClassifier(out_of_fold=True, **options).fit(X, y)


@pytest.mark.quick_cases("400-20-None", "900-4-200")
@pytest.mark.parametrize(("n", "d", "fit_rows"), [(400, 20, None), (900, 4, 200), (300, 60, None)])
def test_of_random_labels_they_know_nothing(n, d, fit_rows):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.integers(2, size=n)
    model = fitted(X, y, fit_rows=fit_rows)
    has = ~np.isnan(model.out_of_fold_[:, 0])
    share = auroc(y[has] == 1, model.out_of_fold_[has, 1])
    assert abs(share - 0.5) < 4.0 / np.sqrt(12 * has.sum() / 4)
    # What the rows say that were fitted to is another matter.
    assert auroc(y == 1, model.predict_proba(X)[:, 1]) > share


def with_categories(seed):
    pd = package_or_skip("pandas")
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=400), "c": [f"code {i}" for i in rng.integers(40, size=400)]})
    return table, rng.integers(2, size=400)


def with_gaps(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 4))
    X[rng.random(X.shape) < 0.5] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    return X, rng.integers(2, size=len(X))


# Where encodings knew the labels of all rows, the mean was 0.58; where gaps were filled in by these, 0.59.
@pytest.mark.slow
@pytest.mark.parametrize("draw", [with_categories, with_gaps])
def test_labels_do_not_leak_through_encodings_or_gaps(draw):
    found = []
    for seed in range(3):
        X, y = draw(seed)
        model = fitted(X, y)
        assert not np.isnan(model.out_of_fold_).any()
        found.append(auroc(y == 1, model.out_of_fold_[:, 1]))
    assert np.mean(found) < 0.55


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_equal_rows_and_single_rows_of_a_class_are_left_out_together():
    X, y = line(200, 3, 0)
    X, y = np.concatenate([X, X[:50]]), np.concatenate([y, 1 - y[:50]])  # equal rows with other labels
    found = fitted(X, y).out_of_fold_
    assert not np.isnan(found).any()
    np.testing.assert_array_equal(found[:50], found[200:])
    X, y = load_iris(return_X_y=True)
    found = fitted(X, np.where(np.arange(150) == 7, "odd", y.astype(str))).out_of_fold_
    assert found[7, 3] == 0.0
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    pd = package_or_skip("pandas")
    member = pd.array(np.resize([True, True, False, False, None], 100), dtype="boolean")
    few = fitted(pd.DataFrame({"member": member}), np.where(member.fillna(True), "p", "q"))
    assert few.out_of_fold_.shape == (100, 2)


def test_rows_that_were_partitioned_have_none():
    X, y = line(1000, 3, 0)
    model = fitted(X, y, fit_rows=300)
    has = ~np.isnan(model.out_of_fold_)
    assert (has.all(axis=1) | ~has.any(axis=1)).all()
    assert has[:, 0].sum() == 1000 - model.rows_used_.n_partitioned
    order = np.random.default_rng(0).permutation(len(X))
    again = fitted(X[order], y[order], fit_rows=300)
    np.testing.assert_allclose(again.out_of_fold_, model.out_of_fold_[order], atol=1e-6)


def test_weights_of_rows_and_classes():
    X, y = line(200, 3, 0)
    weights = np.ones(200)
    weights[:20], weights[20:40] = 0.0, 2.0
    model = fitted(X, y)
    weighted = SEPClassifier(out_of_fold=True).fit(X, y, sample_weight=weights)
    assert np.isnan(weighted.out_of_fold_[:20]).all()
    assert not np.isnan(weighted.out_of_fold_[20:]).any()
    leaning = fitted(X, y, class_weight={1: 3.0})
    p = model.out_of_fold_[:, 1]
    np.testing.assert_allclose(leaning.out_of_fold_[:, 1], 3 * p / (3 * p + 1 - p))


def test_they_are_for_trust_by_weights_and_rows_in_memory(tmp_path):
    X, y = line(100, 2, 0)
    with pytest.raises(ValueError, match="weights"):
        fitted(X, y, trust="counts")
    with pytest.raises(TypeError, match="in memory"):
        fitted(str(tmp_path), "y")
    model = fitted(X, y)
    sepc.save(model, tmp_path / "model.sepc")
    loaded = sepc.load(tmp_path / "model.sepc")
    assert loaded.out_of_fold
    assert not hasattr(loaded, "out_of_fold_")
    assert not hasattr(model.set_params(out_of_fold=False).fit(X, y), "out_of_fold_")
