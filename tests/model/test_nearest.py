"""The nearest places against distances to all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from sepc.model import nearest
from sepc.model.membership import squared_radii
from sepc.model.nearest import TIE_TOLERANCE, nearest_of, nearest_places, prepare_places
from sepc.shapes.ellipsoid import Ellipsoid

SEEDS = st.integers(0, 2**32 - 1)


def draw_ellipsoids(rng, k, d, shortest):
    roots = np.empty((k, d, d))
    for i in range(k):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        roots[i] = (turn / np.append(np.exp(rng.uniform(np.log(shortest), 0.0, size=d - 1)), 1.0)).T
    return 2.0 * rng.normal(size=(k, d)), roots


def outside_rows(rng, n, centers, roots):
    rows = 3.0 * rng.normal(size=(n, centers.shape[1]))
    squares = squared_radii(rows, centers, roots)
    outside = (squares > 1.0 + 1e-9).all(axis=1)
    return rows[outside], squares[outside]


def all_distances(rows, centers, roots, isolated):
    columns = [Ellipsoid(center, root).distance(rows) for center, root in zip(centers, roots, strict=True)]
    return np.column_stack([*columns, cdist(rows, isolated)]) if len(isolated) else np.column_stack(columns)


def tied_pairs(nearest):
    return list(zip(nearest.tied_rows.tolist(), nearest.tied_places.tolist(), strict=True))


@given(
    SEEDS, st.integers(0, 9), st.integers(0, 9), st.integers(1, 8), st.sampled_from([0.5, 1e-2, 1e-6]), st.booleans()
)
def test_agrees_with_distances_to_all_places(seed, k, j, d, shortest, near):
    rng = np.random.default_rng(seed)
    j = j if k else j + 1
    centers, roots = draw_ellipsoids(rng, k, d, shortest)
    isolated = 2.0 * rng.normal(size=(j, d))
    rows, squares = outside_rows(rng, 60, centers, roots)
    if near and k:
        rows = centers[rng.integers(k, size=60)] + 1e-3 * rng.normal(size=(60, d))
        squares = squared_radii(rows, centers, roots)
        rows, squares = rows[(squares > 1.0 + 1e-9).all(axis=1)], squares[(squares > 1.0 + 1e-9).all(axis=1)]
    nearest = nearest_places(rows, squares, centers, roots, isolated)

    expected = all_distances(rows, centers, roots, isolated) if k else cdist(rows, isolated)
    best = expected.min(axis=1)
    # A distance is a difference of lengths, so its rounding is small against the longest semi-axis, which is 1.
    np.testing.assert_allclose(nearest.distance, best, rtol=1e-12, atol=1e-14)
    chosen = expected[np.arange(len(rows)), nearest.place]
    assert (chosen <= best * (1.0 + TIE_TOLERANCE) + 1e-14).all()
    assert nearest.place.shape == nearest.distance.shape == (len(rows),)


def test_mirror_images_are_tied():
    rng = np.random.default_rng(0)
    centers, roots = draw_ellipsoids(rng, 3, 5, 0.05)
    centers[:, 0] += 6.0
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0, 1.0])
    centers, roots = np.concatenate([centers, centers @ mirror]), np.concatenate([roots, roots @ mirror])
    isolated = np.array([[4.0, 9.0, 9.0, 9.0, 9.0], [-4.0, 9.0, 9.0, 9.0, 9.0], [0.0, -50.0, 0.0, 0.0, 0.0]])
    rows = rng.normal(size=(40, 5))
    rows[:30, 0] = 0.0
    rows[20:30] += [0.0, 9.0, 9.0, 9.0, 9.0]
    nearest = nearest_places(rows, squared_radii(rows, centers, roots), centers, roots, isolated)

    assert set(nearest.tied_rows.tolist()) == set(range(30))
    images = {0: 3, 1: 4, 2: 5, 6: 7}
    assert tied_pairs(nearest) == [(i, p) for i in range(30) for p in (nearest.place[i], images[nearest.place[i]])]
    assert set(nearest.place[20:30].tolist()) == {6}


def test_an_isolated_point_can_tie_with_an_ellipsoid_and_with_its_own_copies():
    centers, roots = np.array([[-3.0, 0.0]]), np.eye(2)[np.newaxis]
    isolated = np.array([[2.0, 0.0], [9.0, 9.0], [9.0, 9.0], [9.0, 9.0]])
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0], [9.0, 8.0]])
    nearest = nearest_places(rows, squared_radii(rows, centers, roots), centers, roots, isolated)
    assert nearest.place.tolist() == [0, 1, 2, 2]
    assert nearest.distance.tolist() == [2.0, 1.0, 0.0, 1.0]
    assert tied_pairs(nearest) == [(0, 0), (0, 1), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (3, 4)]


@pytest.mark.parametrize(("gap", "is_tied"), [(0.5 * TIE_TOLERANCE, True), (3.0 * TIE_TOLERANCE, False)])
def test_ties_are_relative_to_the_distance(gap, is_tied):
    centers, roots = np.array([[-101.0, 0.0], [101.0 - 100.0 * gap, 0.0]]), np.array([np.eye(2), np.eye(2)])
    rows = np.zeros((1, 2))
    nearest = nearest_places(rows, squared_radii(rows, centers, roots), centers, roots, np.empty((0, 2)))
    assert nearest.place.tolist() == [0 if is_tied else 1]
    assert tied_pairs(nearest) == ([(0, 0), (0, 1)] if is_tied else [])


@pytest.mark.parametrize("shortest", [0.1, 1e-6])
def test_a_row_gets_the_same_answer_in_any_company(monkeypatch, shortest):
    rng = np.random.default_rng(4)
    centers, roots = draw_ellipsoids(rng, 12, 6, shortest)
    places = prepare_places(centers, roots, rng.normal(size=(20, 6)))
    rows, squares = outside_rows(rng, 3000, centers, roots)
    together = nearest_of(places, rows, squares)
    monkeypatch.setattr(nearest, "BLOCK_ROWS", 97)
    apart = nearest_of(places, rows, squares)
    np.testing.assert_array_equal(apart.place, together.place)
    np.testing.assert_allclose(apart.distance, together.distance, rtol=1e-13)
    assert tied_pairs(apart) == tied_pairs(together)
    for i in range(0, len(rows), 301):
        alone = nearest_of(places, rows[i : i + 1], squares[i : i + 1])
        assert alone.place[0] == together.place[i]
        assert alone.distance[0] == pytest.approx(together.distance[i], rel=1e-13)


def test_ties_keep_their_rows_across_blocks(monkeypatch):
    monkeypatch.setattr(nearest, "BLOCK_ROWS", 2)
    centers, roots = np.array([[-3.0], [3.0]]), np.ones((2, 1, 1))
    rows = np.array([[0.0], [1.0], [-1.0], [0.0], [0.0]])
    places = nearest_places(rows, squared_radii(rows, centers, roots), centers, roots, np.empty((0, 1)))
    assert places.place.tolist() == [0, 1, 0, 0, 0]
    assert tied_pairs(places) == [(0, 0), (0, 1), (3, 0), (3, 1), (4, 0), (4, 1)]


@pytest.mark.parametrize(("k", "j"), [(0, 1), (0, 5), (4, 0), (1, 1)])
def test_no_rows_and_few_places(k, j):
    rng = np.random.default_rng(6)
    centers, roots = draw_ellipsoids(rng, k, 3, 0.1)
    isolated = rng.normal(size=(j, 3))
    none = nearest_places(np.empty((0, 3)), np.empty((0, k)), centers, roots, isolated)
    assert none.place.shape == none.distance.shape == none.tied_rows.shape == none.tied_places.shape == (0,)
    rows, squares = outside_rows(rng, 50, centers, roots)
    assert nearest_places(rows, squares, centers, roots, isolated).place.max() < k + j


def test_no_places_are_refused():
    with pytest.raises(ValueError, match="so there is no nearest place"):
        prepare_places(np.empty((0, 2)), np.empty((0, 2, 2)), np.empty((0, 2)))


@pytest.mark.parametrize("size", [1e100, 1e200, 1e308, np.inf])
@pytest.mark.parametrize(("k", "j"), [(0, 2), (3, 0), (3, 2)])
def test_all_places_are_as_near_to_a_row_beyond_the_range_of_floats(size, k, j):
    rng = np.random.default_rng(7)
    centers, roots = draw_ellipsoids(rng, k, 3, 1e-6)
    rows = np.array([[size, -size, 1.0], [0.0, 0.0, size]])
    nearest = nearest_places(rows, squared_radii(rows, centers, roots), centers, roots, rng.normal(size=(j, 3)))
    assert nearest.place.tolist() == [0, 0]
    assert tied_pairs(nearest) == [(row, place) for row in range(2) for place in range(k + j)]
    assert np.isfinite(nearest.distance).all()


def test_bounds_spare_most_solves(monkeypatch):
    rng = np.random.default_rng(8)
    centers, roots = draw_ellipsoids(rng, 40, 10, 0.1)
    rows, squares = outside_rows(rng, 2000, centers, roots)
    solved = []
    solve = nearest.distances
    monkeypatch.setattr(nearest, "distances", lambda axes, coords: solved.append(len(coords)) or solve(axes, coords))
    nearest_places(rows, squares, centers, roots, np.empty((0, 10)))
    assert sum(solved) < 0.1 * squares.size
