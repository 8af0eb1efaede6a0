"""Rows outside all ellipsoids belong to the nearest place, found without distances to all of them."""

import numpy as np
import pytest
from by_hand import deciding_by, model_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from sepc.geometry import Ellipsoid
from sepc.model.counts import SignatureTable

SEEDS = st.integers(0, 2**32 - 1)


def nearest_to(centers, roots, isolated=()):
    """A classifier whose decisions name the nearest place, with counts that tell which places are tied."""
    k, j = len(centers), len(isolated)
    sets = np.eye(k, dtype=bool)[::-1] if k else np.zeros((1, 0), dtype=bool)
    table = SignatureTable(sets, np.array([[10**i, 1] for i in reversed(range(max(k, 1)))]))
    return deciding_by(model_of(centers, roots, [0] * k, table, isolated, [1] * j))


def draw_ellipsoids(rng, k, d, shortest):
    roots = np.empty((k, d, d))
    for i in range(k):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        roots[i] = (turn / np.append(np.exp(rng.uniform(np.log(shortest), 0.0, size=d - 1)), 1.0)).T
    return 2.0 * rng.normal(size=(k, d)), roots


@given(
    SEEDS, st.integers(0, 9), st.integers(0, 9), st.integers(1, 8), st.sampled_from([0.5, 1e-2, 1e-6]), st.booleans()
)
def test_agrees_with_distances_to_all_places(seed, k, j, d, shortest, near):
    rng = np.random.default_rng(seed)
    centers, roots = draw_ellipsoids(rng, k, d, shortest)
    isolated = 2.0 * rng.normal(size=(j if k else j + 1, d))
    rows = 3.0 * rng.normal(size=(60, d))
    if near and k:
        rows = centers[rng.integers(k, size=60)] + 1e-3 * rng.normal(size=(60, d))
    decisions = nearest_to(centers, roots, isolated).decide(rows)
    outside = decisions.place >= 0
    ellipsoids = [Ellipsoid(center, root) for center, root in zip(centers, roots, strict=True)]
    inside = np.any([own.contains(rows) for own in ellipsoids], axis=0) if k else np.zeros(60, dtype=bool)
    np.testing.assert_array_equal(outside, ~inside)

    distances = np.column_stack([*(own.distance(rows) for own in ellipsoids), cdist(rows, isolated)])[outside]
    place, best, each = decisions.place[outside], distances.min(axis=1), np.arange(outside.sum())
    # A distance is a difference of lengths, so its rounding is small against the longest semi-axis, which is 1.
    assert (distances[each, place] <= best * (1.0 + 1e-9) + 1e-14).all()
    gauges = np.column_stack([own.gauge(rows) for own in ellipsoids] + [1.0 + cdist(rows, isolated)])[outside]
    np.testing.assert_allclose(decisions.gauge[outside], gauges[each, place], rtol=1e-6)


def test_mirror_images_and_copies_are_tied_and_counted_together():
    rng = np.random.default_rng(0)
    centers, roots = draw_ellipsoids(rng, 3, 5, 0.05)
    centers[:, 0] += 6.0
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0, 1.0])
    classifier = nearest_to(np.concatenate([centers, centers @ mirror]), np.concatenate([roots, roots @ mirror]))
    rows = rng.normal(size=(40, 5))
    rows[:30, 0] = 0.0
    decisions = classifier.decide(rows)
    weighed = 10**decisions.place
    weighed[:30] += 10 ** (decisions.place[:30] + 3)
    np.testing.assert_array_equal(decisions.counts[:, 0], weighed)
    # An isolated row as near as an ellipsoid, and copies of an isolated row.
    isolated = np.array([[2.0, 0.0], [9.0, 9.0], [9.0, 9.0], [9.0, 9.0]])
    classifier = nearest_to(np.array([[-3.0, 0.0]]), np.eye(2)[np.newaxis], isolated)
    decisions = classifier.decide(np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0], [9.0, 8.0]]))
    assert decisions.place.tolist() == [0, 1, 2, 2]
    assert decisions.counts.tolist() == [[1, 2], [0, 1], [0, 3], [0, 3]]


@pytest.mark.parametrize(("gap", "counts"), [(0.5e-9, [11, 2]), (3e-9, [10, 1])])
def test_ties_are_relative_to_the_distance(gap, counts):
    centers, roots = np.array([[-101.0, 0.0], [101.0 - 100.0 * gap, 0.0]]), np.array([np.eye(2), np.eye(2)])
    assert nearest_to(centers, roots).decide(np.zeros((1, 2))).counts.tolist() == [counts]


@pytest.mark.parametrize("shortest", [0.1, 1e-6])
def test_a_row_gets_the_same_answer_in_any_company(shortest):
    rng = np.random.default_rng(4)
    centers, roots = draw_ellipsoids(rng, 9, 6, shortest)
    classifier = nearest_to(centers, roots, rng.normal(size=(20, 6)))
    rows = np.concatenate([3.0 * rng.normal(size=(20_000, 6)), np.full((4, 6), 1e200), np.full((1, 6), 1e308)])
    together = classifier.decide(rows)
    assert np.isfinite(together.gauge[:20_000]).all()
    for i in (*range(0, 20_000, 1301), 20_000, 20_004):
        alone = classifier.decide(rows[i : i + 1])
        assert alone.place[0] == together.place[i]
        np.testing.assert_array_equal(alone.counts[0], together.counts[i])
    assert together.place[20_000:].tolist() == [0] * 5  # all places are as near to a row so far away
