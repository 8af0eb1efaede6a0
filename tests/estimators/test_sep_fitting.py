"""The model does not depend on how the rows are stored, and keeps none of them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

from sepc import SEPClassifier
from sepc.estimators.sep.fitting import _samples, fit_model
from sepc.estimators.sep.standardization import Extent, Standardization
from sepc.estimators.sep.training_set import GivenColumns, TrainingSet
from sepc.estimators.sep.weighing import Weighing
from sepc.points.in_memory import ArrayPoints, BlockPoints


def fitted(classes, d, local_rows=200_000, **options):
    chosen = {"standardize": False, "max_ellipsoids": 1000, "fit_rows": None} | options
    settings = replace(SEPClassifier(2, **chosen)._settings(), local_rows=local_rows)
    rows = np.concatenate([own.gather(100_000) for own in classes])
    # In one order, so that their deviations are the same to the last bit.
    every = ArrayPoints(rows[np.lexsort(rows.T)])
    return fit_model(TrainingSet(every, classes, np.arange(len(classes)), GivenColumns(d)), settings).model


@pytest.mark.parametrize("local_rows", [200_000, 60])
def test_blocks_give_the_model_of_the_array(local_rows):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    array = fitted([ArrayPoints(X[y == k]) for k in range(3)], 4)
    blocks = fitted([BlockPoints(np.array_split(X[y == k], [0, 3, 20])) for k in range(3)], 4, local_rows)
    np.testing.assert_array_equal(blocks.owners, array.owners)
    np.testing.assert_allclose(blocks.centers, array.centers, atol=1e-6)
    np.testing.assert_array_equal(blocks.table.memberships, array.table.memberships)
    np.testing.assert_array_equal(blocks.table.counts, array.table.counts)
    np.testing.assert_array_equal(blocks.isolated, array.isolated)
    for name in ("lines", "levels", "near", "deep", "offsets"):
        np.testing.assert_allclose(getattr(blocks.weights, name), getattr(array.weights, name), atol=1e-6)


def test_a_sample_of_the_rows_is_the_same_whatever_holds_them():
    X, y = make_classification(3000, n_features=4, n_informative=3, n_redundant=0, random_state=0)
    array = fitted([ArrayPoints(X[y == k]) for k in range(2)], 4, fit_rows=400)
    blocks = fitted([BlockPoints(np.array_split(X[y == k], 5)) for k in range(2)], 4, fit_rows=400)
    shuffled = fitted([ArrayPoints(np.random.default_rng(0).permutation(X[y == k])) for k in range(2)], 4, fit_rows=400)
    for other in (blocks, shuffled):
        np.testing.assert_array_equal(other.centers, array.centers)
        np.testing.assert_array_equal(other.table.counts, array.table.counts)
        np.testing.assert_array_equal(other.weights.levels, array.weights.levels)


def test_a_rare_class_keeps_more_than_its_share():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    sizes = []
    for n_rare in (5, 300):
        classes = [ArrayPoints(X[:n_rare]), ArrayPoints(X[n_rare:] + 9.0)]
        sizes.append([len(sample.rows) for sample in _samples(classes, 1000, seed=0)])
    assert sizes == [[5, 1000], [300, 985]]


def test_classes_in_parallel_give_the_same_model():
    X, y = load_iris(return_X_y=True)
    alone, in_parallel = (SEPClassifier(n_jobs=n).fit(X, y).model_ for n in (1, 2))
    np.testing.assert_array_equal(alone.roots, in_parallel.roots)
    np.testing.assert_array_equal(alone.table.counts, in_parallel.table.counts)


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


def test_standardization_survives_constants_and_extremes():
    rows = np.column_stack([np.full(5, 3.0), np.arange(5) * 1e300, np.arange(5) * 1e-300, np.arange(5) + 1e9])
    standard = Standardization.of(Extent.of(ArrayPoints(rows)))
    done = standard.apply(rows)
    np.testing.assert_array_equal(done[:, 0], 0)
    np.testing.assert_allclose(done[:, 1:].std(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(done[:, 1:].mean(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize("fit_rows", [None, 200, 1_500, 60_000])
def test_weights_never_see_more_than_their_share_of_rows(monkeypatch, fit_rows):
    seen = []
    monkeypatch.setattr("sepc.estimators.sep.fitting.WEIGHED_ROWS", 500)
    weighing_of = Weighing.of
    monkeypatch.setattr(
        Weighing, "of", lambda model, samples, *rest: seen.append(samples) or weighing_of(model, samples, *rest)
    )
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    classes = [ArrayPoints(X[:1_500]), ArrayPoints(X[1_500:] + 3.0)]
    fitted(classes, 2, fit_rows=fit_rows)
    (samples,) = seen
    assert [len(sample.rows) for sample in samples] == [250, 250]
    for sample in samples:
        assert len(sample.rows) * sample.weight == pytest.approx(1_500)


@pytest.mark.parametrize(("n_impure", "is_one_sided"), [(2, True), (0.2, False)])
def test_pieces_of_the_others_are_not_cut_where_that_does_not_pay(n_impure, is_one_sided):
    X, y = load_iris(return_X_y=True)
    history = SEPClassifier(n_impure, trust="counts").fit(X, y).history_
    others_left = [{n_other for _, n_other in own.rows_left[:-1]} for own in history]
    assert all(left <= {100} for left in others_left) == is_one_sided
