"""Weights learned from rows that the ellipsoids were not drawn around."""

import numpy as np
import pytest

from sepc import SEPClassifier, enclose
from sepc.estimators.sep.crossing import (
    LARGEST_LEFT_OUT,
    N_FOLDS,
    Recoder,
    cross,
    cross_unseen,
    folds_by_hash,
    left_out_radii,
)
from sepc.estimators.sep.multiclass import Pieces
from sepc.metrics import ece
from sepc.partition.sequence import NOT_COUNTED, FoundEllipsoid
from sepc.points.proportional_sample import ClassSample


def samples_of(X, y):
    return [ClassSample(X[y == k], 1.0) for k in np.unique(y)]


def pieces_around(rows):
    found = FoundEllipsoid(enclose(rows, tol=1e-10), True, len(rows), NOT_COUNTED, (), 1)
    none = np.empty((0, rows.shape[1]))
    return Pieces((), (found,), np.zeros(1, dtype=int), none, np.empty(0, dtype=int))


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


def test_folds_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 2)), np.repeat([0, 1], 50)
    order = rng.permutation(100)
    np.testing.assert_array_equal(folds_by_hash(X, y)[order], folds_by_hash(X[order], y[order]))


def test_no_partition_has_seen_the_rows_it_is_shown():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(90, 2)), np.repeat([0, 1, 2], 30)
    seen = []
    crossing = cross(Recoder(X, y), np.array, lambda points: seen.append(np.concatenate([own.rows for own in points])))
    for fold, rows in enumerate(seen):
        shown = {tuple(row) for row in X[crossing.folds == fold].tolist()}
        assert not shown & {tuple(row) for row in rows.tolist()}
        assert len(shown) + len(rows) == 90


def test_rows_that_were_partitioned_are_not_used_and_copies_are_not_either():
    X, y = np.array([[0.0], [1.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 0, 1, 1])
    crossing = cross_unseen(Recoder(X, y), samples_of(X[[1, 4]], y[[1, 4]]), None)
    np.testing.assert_array_equal(crossing.folds, [0, -1, -1, 0, -1])


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


def test_copies_of_a_supporting_row_are_left_out_together():
    rows = np.random.default_rng(4).normal(size=(30, 2))
    pieces = pieces_around(rows)
    twice = np.concatenate([rows, rows])
    squared = left_out_radii(twice, pieces)
    np.testing.assert_array_equal(squared[:30], squared[30:])
    assert (squared > 1.5).any()


def test_weights_are_fitted_as_if_each_row_had_been_left_out(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "sepc.estimators.sep.weighing.left_out_radii",
        lambda rows, pieces: asked.append(left_out_radii(rows, pieces)) or asked[-1],
    )
    X, y = wide(300, 6, 0)
    SEPClassifier().fit(X, y)
    (squared,) = asked
    # Rows that hold an ellipsoid up lie on it, and outside of it without them.
    assert squared.shape[0] == 300
    assert (squared > 1.1).any(axis=1).sum() > 30


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
