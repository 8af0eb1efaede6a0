"""A fit does not depend on how and in which order rows are stored; its weights come from rows not drawn around."""

from types import SimpleNamespace

import numpy as np
import pytest
from same_model import fitted_on_blocks
from sklearn.datasets import load_breast_cancer, load_iris, make_classification

from sepc import SEPClassifier, enclose
from sepc.estimators.sep.crossing import (
    LARGEST_LEFT_OUT,
    N_FOLDS,
    Recoder,
    classes_outside,
    folds_by_hash,
    folds_of_rows,
    left_out_radii,
)
from sepc.metrics import ece
from sepc.partition.sequence import NOT_COUNTED, FoundEllipsoid


def test_blocks_give_the_model_of_the_array():
    X, y = load_iris(return_X_y=True)
    X, y = X[np.lexsort(X.T)], y[np.lexsort(X.T)]
    array = SEPClassifier(n_impure=2, fit_rows=None).fit(X, y).model_
    cuts = [0, 7, 60, 130]
    blocks = fitted_on_blocks(SEPClassifier(n_impure=2, fit_rows=None), np.split(X, cuts), np.split(y, cuts)).model_
    np.testing.assert_array_equal(blocks.owners, array.owners)
    np.testing.assert_allclose(blocks.centers, array.centers, atol=1e-6)
    np.testing.assert_array_equal(blocks.table.memberships, array.table.memberships)
    np.testing.assert_array_equal(blocks.table.counts, array.table.counts)
    np.testing.assert_allclose(blocks.isolated, array.isolated, atol=1e-12)
    for name in ("lines", "levels", "near", "deep", "offsets"):
        np.testing.assert_allclose(getattr(blocks.weights, name), getattr(array.weights, name), atol=1e-6)


def test_a_sample_of_the_rows_is_the_same_in_any_order_and_in_parallel():
    X, y = make_classification(3000, n_features=4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
    order = np.random.default_rng(0).permutation(len(X))
    first = SEPClassifier(fit_rows=400).fit(X, y).model_
    other = SEPClassifier(fit_rows=400, n_jobs=2).fit(X[order], y[order]).model_
    np.testing.assert_allclose(other.centers, first.centers, atol=1e-9)
    np.testing.assert_array_equal(other.table.counts.sum(axis=0), first.table.counts.sum(axis=0))
    np.testing.assert_allclose(other.weights.levels, first.weights.levels, atol=1e-9)


def test_a_rare_class_keeps_more_than_its_share():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    for n_rare, n_partitioned in ((5, 1005), (300, 1285)):
        y = np.arange(20_000) < n_rare
        fitted = SEPClassifier(trust="counts", fit_rows=1000, max_ellipsoids=1).fit(X + 9.0 * y[:, None], y)
        assert fitted.rows_used_.n_partitioned == pytest.approx(n_partitioned, abs=60)


def test_the_model_holds_no_training_rows_but_the_isolated():
    X, y = make_classification(20_000, n_features=5, n_informative=4, n_redundant=0, random_state=0)
    classifier = SEPClassifier(0.05, max_ellipsoids=20).fit(X, y)
    assert classifier.model_.n_bytes < 0.1 * X.nbytes
    rows = {row.tobytes() for row in classifier.model_.standardize(X)}
    arrays = [value for value in vars(classifier.model_).values() if isinstance(value, np.ndarray) and value.ndim == 2]
    held = {row.tobytes() for array in arrays for row in array.astype(np.float64) if array.shape[1] == X.shape[1]}
    isolated = {row.tobytes() for row in classifier.model_.isolated}
    assert held & rows == isolated & rows
    assert len(isolated) == len(classifier.model_.isolated)


@pytest.mark.parametrize(("n_impure", "is_one_sided"), [(2, True), (0.2, False)])
def test_pieces_of_the_others_are_not_cut_where_that_does_not_pay(n_impure, is_one_sided):
    history = SEPClassifier(n_impure, trust="counts").fit(*load_iris(return_X_y=True)).history_
    others_left = [{n_other for _, n_other in own.rows_left[:-1]} for own in history]
    assert all(left <= {100} for left in others_left) == is_one_sided


def pieces_around(rows):
    return SimpleNamespace(ellipsoids=[FoundEllipsoid(enclose(rows, tol=1e-10), True, len(rows), NOT_COUNTED, (), 1)])


def test_equal_rows_have_one_fold_and_classes_their_share_of_each():
    rng = np.random.default_rng(0)
    X = rng.integers(6, size=(600, 3)).astype(float)
    y = np.sort(rng.integers(3, size=600))
    folds = folds_by_hash(X, y)
    by_row = {}
    for row, fold in zip(X.tolist(), folds.tolist(), strict=True):
        assert by_row.setdefault(tuple(row), fold) == fold
    distinct = folds_by_hash(rng.normal(size=(600, 3)), y)
    for k in range(3):
        counts = np.bincount(distinct[y == k], minlength=N_FOLDS)
        assert counts.max() - counts.min() <= 1
    order = rng.permutation(600)
    np.testing.assert_array_equal(folds[order], folds_by_hash(X[order], y[order]))


def test_no_partition_has_seen_the_rows_it_is_shown():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(90, 2)), np.repeat([0, 1, 2], 30)
    recoder = Recoder(X, y)
    folds = folds_of_rows(recoder, np.array)
    for fold in range(N_FOLDS):
        is_left_out = folds == fold
        rows = np.concatenate([own.rows for own in classes_outside(recoder, recoder.without(is_left_out), is_left_out)])
        shown = {tuple(row) for row in X[is_left_out].tolist()}
        assert not shown & {tuple(row) for row in rows.tolist()}
        assert len(shown) + len(rows) == 90


def test_a_row_left_out_has_the_gauge_of_the_moments_without_it():
    rows = np.random.default_rng(3).normal(size=(60, 3))
    pieces = pieces_around(rows)
    enclosure = pieces.ellipsoids[0].enclosure
    squared = left_out_radii(rows, pieces)[:, 0]
    is_support = (rows[:, None] == enclosure.support).all(axis=2).any(axis=1)
    np.testing.assert_allclose(squared[~is_support], enclosure.ellipsoid.squared_radius(rows[~is_support]))
    for i, row in enumerate(enclosure.support):
        weights = np.delete(enclosure.weights, i)
        others, weights = np.delete(enclosure.support, i, axis=0), weights / weights.sum()
        moved = others - weights @ others
        shape = 3 * (moved * weights[:, None]).T @ moved
        off = row - weights @ others
        wanted = min(off @ np.linalg.solve(shape, off), LARGEST_LEFT_OUT)
        assert squared[(rows == row).all(axis=1)] == pytest.approx(wanted, rel=1e-4)
        assert wanted > 1.0
    twice = left_out_radii(np.concatenate([rows, rows]), pieces)[:, 0]  # copies are left out together
    np.testing.assert_array_equal(twice, np.tile(twice[:60], 2))
    assert (twice > 1.5).any()


def wide(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] + 0.7 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.slow
def test_trust_holds_on_a_wide_noisy_table():
    classifier = SEPClassifier().fit(*wide(2_000, 40, 0))
    new, wanted = wide(20_000, 40, 1)
    decisions = classifier.decide(new)
    right = decisions.label == wanted
    assert right[decisions.accepted].mean() >= 0.97
    assert 0.3 <= decisions.accepted.mean() <= 0.5
    assert right.mean() >= 0.84
    assert ece(right, decisions.trust) <= 0.03


@pytest.mark.slow
def test_labels_by_chance_are_not_trusted():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(1_500, 12)), rng.integers(2, size=1_500)
    assert not SEPClassifier().fit(X, y).decide(rng.normal(size=(5_000, 12))).accepted.any()


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


def test_odd_columns_and_few_rows_of_a_class_are_enough_to_fit():
    X, y = noisy(800, 10, d=3)
    odd = np.column_stack([X, np.full(len(X), 7.0)])
    with pytest.warns(UserWarning, match="constant"):
        classifier = SEPClassifier().fit(odd, y)
    assert classifier.score(odd, y) > 0.85
    np.testing.assert_array_equal(classifier.decide(odd).terms().features[:, 3], 0.0)
    one_class = SEPClassifier().fit(X[:60], np.zeros(60)).decide(np.array([[0.0, 0.0, 0.0], [1e3, 0.0, 0.0]]))
    np.testing.assert_allclose(one_class.probabilities, 1.0)
    assert one_class.accepted.tolist() == [True, False]
    assert one_class.trust[1] == pytest.approx(0.5)
    assert np.isfinite(SEPClassifier().fit(np.zeros((3, 8)), [0, 1, 1]).predict_proba(np.zeros((1, 8)))).all()
    for n_rare in (1, 2):
        is_rare = np.arange(200) < n_rare
        rows = X[:200] + 6.0 * is_rare[:, None]
        decisions = SEPClassifier().fit(rows, is_rare).decide(rows)
        assert np.isfinite(decisions.probabilities).all()
        assert not decisions.label[n_rare:].any()


@pytest.mark.parametrize("seed", [0, 12])
def test_a_model_does_not_depend_on_the_units_of_columns(seed):
    """Where the order of the rows, which is that of hashes of given values, once chose the number of ellipsoids."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(100, 700)), int(rng.integers(2, 7))
    X, y = make_classification(
        n, d, n_informative=3, n_redundant=0, n_clusters_per_class=1, class_sep=0.8, random_state=seed
    )
    usual = SEPClassifier().fit(X, y)
    for unit in (1e9, 1e-9):
        other = SEPClassifier().fit(unit * X, y)
        assert other.model_.n_ellipsoids == usual.model_.n_ellipsoids
        np.testing.assert_allclose(other.predict_proba(unit * X), usual.predict_proba(X), rtol=0.0, atol=1e-8)
