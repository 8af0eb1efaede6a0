"""The partition is the one that the paper's pseudo-code gives, written out in CVXPY."""

import numpy as np
import pytest
from sklearn.datasets import load_iris


@pytest.fixture
def reference():
    pytest.importorskip("cvxpy")
    return pytest.importorskip("sepc_benchmarks.reference")


@pytest.mark.slow_cases("0")
@pytest.mark.parametrize("n_impure", [10, 2, 0])
def test_overlapping_classes(reference, n_impure):
    check(reference, *reference.overlapping(60, 40, 2), n_impure=n_impure)


@pytest.mark.slow_cases("2")
@pytest.mark.parametrize("label", [0, 1, 2])
def test_iris_one_class_against_the_rest(reference, label):
    rows, classes = load_iris(return_X_y=True)
    check(reference, rows[classes == label], rows[classes != label], 2)


def check(reference, pos, neg, n_impure):
    ellipsoids, isolated = reference.partition_by_cvxpy(pos, neg, n_impure)
    agreement = reference.compare(ellipsoids, isolated, reference.ours(pos, neg, n_impure, max_rounds=1_000))
    assert len(ellipsoids) > 1
    assert agreement.same
    assert agreement.log_volume_off < 1e-4
    assert agreement.center_off < 1e-4


def test_compare_sees_a_difference(reference):
    pos, neg = reference.overlapping(60, 40, 2)
    ellipsoids, isolated = reference.partition_by_cvxpy(pos, neg, 10)
    own = reference.ours(pos, neg, 10, max_rounds=1_000)
    assert not reference.compare(ellipsoids[::-1], isolated, own).same
    assert not reference.compare(ellipsoids, pos, own).same
    moved = [ellipsoids[0]._replace(center=ellipsoids[0].center + 1.0), *ellipsoids[1:]]
    assert reference.compare(moved, isolated, own).center_off == pytest.approx(1.0, abs=1e-3)
    assert np.isfinite(reference.compare(ellipsoids, isolated, own).log_volume_off)
