"""Distances to an ellipsoid against certificates, closed forms and an interior-point solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optional import package_or_skip
from scipy import sparse

from sepc.shapes.ellipsoid import Ellipsoid, distances, map_rows, secular_root

clarabel = package_or_skip("clarabel")

SEEDS = st.integers(0, 2**32 - 1)


def turned(rng, lengths, center):
    turn = np.linalg.qr(rng.normal(size=(len(lengths), len(lengths))))[0]
    return Ellipsoid(center, (turn / lengths).T)


def nearest_points(ellipsoid, rows):
    """The point of an ellipsoid nearest to each row: the proof of its distance."""
    outside, nearest = ~ellipsoid.contains(rows), np.array(rows)
    coords = map_rows(rows[outside], ellipsoid.center, ellipsoid.axes)
    if len(coords):
        squares, multipliers = secular_root(ellipsoid.semi_axes, coords.T)
        nearest[outside] = ellipsoid.center + (coords * (squares / (squares + multipliers)).T) @ ellipsoid.axes
    return nearest


def lengths_down_to(rng, shortest, d):
    return np.append(np.exp(rng.uniform(np.log(shortest), 0.0, size=d - 1)), 1.0)


def interior_point_distance(semi_axes, row):
    """Minimise ``||row - semi_axes * u||`` over the unit ball, as a second-order cone program."""
    d = len(row)
    constraints = np.zeros((2 * d + 2, d + 1))
    constraints[0, 0] = -1.0
    constraints[1 : d + 1, 1:] = np.diag(semi_axes)
    constraints[d + 2 :, 1:] = -np.eye(d)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((d + 1, d + 1)),
        np.eye(d + 1)[0],
        sparse.csc_matrix(constraints),
        np.concatenate([[0.0], row, [1.0], np.zeros(d)]),
        [clarabel.SecondOrderConeT(d + 1), clarabel.SecondOrderConeT(d + 1)],
        settings,
    )
    return solver.solve().obj_val


@given(SEEDS, st.integers(1, 8), st.sampled_from([0.5, 1e-2, 1e-4, 1e-8]), st.floats(-3, 3))
def test_nearest_points_prove_the_distance(seed, d, shortest, exponent):
    rng = np.random.default_rng(seed)
    ellipsoid = turned(rng, lengths_down_to(rng, shortest, d), rng.normal(size=d))
    rows = ellipsoid.center + 10.0**exponent * rng.normal(size=(40, d))
    distance = ellipsoid.distance(rows)
    nearest = nearest_points(ellipsoid, rows)
    unit = 1.0 + 10.0**exponent

    # From above: the nearest point belongs to the ellipsoid and lies this far away.
    np.testing.assert_allclose(np.linalg.norm(rows - nearest, axis=1), distance, rtol=1e-12, atol=1e-14 * unit)
    assert (ellipsoid.gauge(nearest) <= 1.0 + 1e-14 * unit / shortest).all()

    # From below: the plane through the nearest point, square to the way there, has the ellipsoid on its far side.
    away = ~ellipsoid.contains(rows)
    normals = (rows - nearest)[away] / distance[away, np.newaxis]
    reach = normals @ ellipsoid.center + np.linalg.norm(normals @ ellipsoid.inverse_root, axis=1)
    np.testing.assert_allclose(np.einsum("ij,ij->i", normals, rows[away]) - reach, distance[away], atol=1e-11 * unit)


@pytest.mark.parametrize("shortest", [0.3, 1e-3, 1e-6])
def test_distances_match_an_interior_point_solver(shortest):
    rng = np.random.default_rng(0)
    for d in (2, 3, 5, 10):
        semi_axes = lengths_down_to(rng, shortest, d)
        rows = rng.normal(size=(4, d)) * np.array([[0.1], [1.0], [3.0], [30.0]])
        expected = [interior_point_distance(semi_axes, row) for row in rows]
        np.testing.assert_allclose(distances(semi_axes, rows), expected, rtol=1e-8, atol=1e-7)


@given(SEEDS, st.integers(1, 6), st.sampled_from([0.5, 1e-6, 1e-12]))
def test_rows_contained_are_at_distance_zero_and_their_own_nearest_points(seed, d, shortest):
    rng = np.random.default_rng(seed)
    ellipsoid = turned(rng, lengths_down_to(rng, shortest, d), rng.normal(size=d))
    sampled = ellipsoid.sample(30, rng)
    on_boundary = ellipsoid.center + (sampled - ellipsoid.center) / ellipsoid.gauge(sampled)[:, np.newaxis]
    rows = np.vstack([ellipsoid.center[np.newaxis], sampled, on_boundary])
    inside = ellipsoid.contains(rows)
    assert inside[0]
    assert (ellipsoid.distance(rows[inside]) == 0.0).all()
    assert np.array_equal(nearest_points(ellipsoid, rows[inside]), rows[inside])


@pytest.mark.parametrize("shortest", [1.0, 1e-6, 1e-12, 0.0])
@pytest.mark.parametrize("far", [1.5, 1e8, 1e150, 1e300])
def test_rows_on_an_axis_are_nearest_to_its_tip(shortest, far):
    semi_axes = np.array([1.0, 0.5, shortest])
    rows = np.vstack([far * np.eye(3), -far * np.eye(3)])
    np.testing.assert_allclose(distances(semi_axes, rows), np.tile(far - semi_axes, 2), rtol=1e-14)
    assert (distances(semi_axes, np.vstack([np.diag(semi_axes), np.zeros((1, 3))])) == 0.0).all()


def test_a_disc_without_thickness_is_measured_like_a_very_thin_one():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3)) * [1.0, 1.0, 0.1]
    disc = distances(np.array([1.0, 1.0, 0.0]), rows)
    radial = np.maximum(np.hypot(rows[:, 0], rows[:, 1]) - 1.0, 0.0)
    np.testing.assert_allclose(disc, np.hypot(radial, rows[:, 2]), rtol=1e-12)
    np.testing.assert_allclose(distances(np.array([1.0, 1.0, 1e-12]), rows), disc, rtol=1e-8)


def test_rows_far_beyond_the_root_of_the_largest_float_have_a_distance():
    semi_axes = np.array([1e10, 1.0])
    np.testing.assert_allclose(distances(semi_axes, np.array([[3e200, 4e200]])), 5e200, rtol=1e-14)
    ellipsoid = Ellipsoid(np.zeros(2), np.diag(1.0 / semi_axes))
    np.testing.assert_allclose(nearest_points(ellipsoid, np.array([[3e150, 0.0]])), [[1e10, 0.0]], rtol=1e-14)


@given(SEEDS, st.sampled_from([1, 2, 5, 9, 30]), st.integers(1, 1100), st.data())
def test_a_row_alone_has_bit_for_bit_the_distance_it_has_among_others(seed, d, n, data):
    rng = np.random.default_rng(seed)
    semi_axes = 10.0 ** rng.uniform(-8, 1, size=d)
    coords = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 3, size=(n, 1))
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start + 1, min(start + 3, n)))
    np.testing.assert_array_equal(distances(semi_axes, coords)[start:stop], distances(semi_axes, coords[start:stop]))
