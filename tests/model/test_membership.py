"""Squared radii of many rows in many ellipsoids, against one ellipsoid at a time and against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sepc.geometry import Ellipsoid
from sepc.model import membership
from sepc.model.membership import (
    BOUNDARY_MARGIN,
    MAX_TILE_SLABS,
    POLYNOMIAL_ERROR,
    SLAB_ROWS,
    squared_radii,
    stack_ellipsoids,
    tiles_of_squared_radii,
)
from sepc.shapes.ellipsoid import BOUNDARY_SLACK

TILE_ROWS = MAX_TILE_SLABS * SLAB_ROWS
SEEDS = st.integers(0, 2**32 - 1)
SHORTEST = st.sampled_from([1.0, 0.1, 1e-2, 1e-4, 1e-6, 1e-9])


def draw_ellipsoids(rng, k, d, shortest, spread=1.0):
    """Turned ellipsoids with semi-axes from `shortest` to 1, and the rows on their boundaries."""
    centers = spread * rng.normal(size=(k, d))
    roots, boundary = np.empty((k, d, d)), np.empty((k, 30, d))
    for i in range(k):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        lengths = np.exp(rng.uniform(np.log(shortest), 0.0, size=d))
        lengths[0], lengths[-1] = shortest, 1.0
        roots[i] = (turn / lengths).T
        # Towards the long axes, the short ones, and in between: rounding differs.
        on_sphere = rng.normal(size=(30, d)) / lengths ** rng.random((30, 1))
        on_sphere /= np.linalg.norm(on_sphere, axis=1, keepdims=True)
        boundary[i] = centers[i] + on_sphere * lengths @ turn.T
    return centers, roots, boundary


def synchronized(rows, centers, roots):
    columns = [Ellipsoid(center, root).squared_radius(rows) for center, root in zip(centers, roots, strict=True)]
    return np.column_stack(columns)


def exact_squared_radius(row, center, root):
    """The squared radius in exact arithmetic."""
    shifted = [Fraction(x) - Fraction(c) for x, c in zip(row.tolist(), center.tolist(), strict=True)]
    images = [sum(Fraction(r) * y for r, y in zip(line, shifted, strict=True)) for line in root.tolist()]
    return float(sum(image**2 for image in images) - 1) + 1.0


@given(SEEDS, st.integers(1, 7), st.integers(1, 12), SHORTEST, st.sampled_from([0.0, 1.0, 1e3]))
def test_agrees_with_one_ellipsoid_at_a_time(seed, k, d, shortest, spread):
    rng = np.random.default_rng(seed)
    centers, roots, boundary = draw_ellipsoids(rng, k, d, shortest, spread)
    rows = np.concatenate([boundary.reshape(-1, d), rng.normal(size=(50, d)), centers])
    squares, expected = squared_radii(rows, centers, roots), synchronized(rows, centers, roots)
    assert squares.shape == (len(rows), k)
    assert squares.min() >= 0.0

    np.testing.assert_allclose(squares, expected, rtol=POLYNOMIAL_ERROR, atol=POLYNOMIAL_ERROR)
    at_boundary = abs(expected - 1.0) < 0.5 * BOUNDARY_MARGIN
    np.testing.assert_allclose(squares[at_boundary], expected[at_boundary], rtol=0.0, atol=1e-15 / shortest)
    # Only rows within rounding of the threshold itself may be told apart.
    in_doubt = abs(expected - 1.0 - BOUNDARY_SLACK) < 1e-15 / shortest
    assert (in_doubt | ((squares <= 1.0 + BOUNDARY_SLACK) == (expected <= 1.0 + BOUNDARY_SLACK))).all()


@pytest.mark.parametrize("shortest", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("spread", [1.0, 1e3])
def test_rows_on_the_boundary_are_measured_well_within_the_slack(shortest, spread):
    centers, roots, boundary = draw_ellipsoids(np.random.default_rng(5), 4, 10, shortest, spread)
    squares = squared_radii(boundary.reshape(-1, 10), centers, roots)
    for k in range(4):
        exact = [exact_squared_radius(row, centers[k], roots[k]) for row in boundary[k]]
        np.testing.assert_allclose(squares[30 * k : 30 * k + 30, k], exact, rtol=0.0, atol=0.3 * BOUNDARY_SLACK)


@pytest.mark.parametrize(("d", "shortest"), [(1, 0.1), (3, 1e-6), (10, 0.1), (10, 1e-6), (40, 0.1)])
def test_a_row_gets_the_same_bits_alone_and_anywhere(d, shortest):
    rng = np.random.default_rng(d)
    centers, roots, boundary = draw_ellipsoids(rng, 9, d, shortest)
    rows = np.concatenate([boundary.reshape(-1, d), rng.normal(size=(TILE_ROWS + 7, d))])
    squares = squared_radii(rows, centers, roots)
    for i in range(0, len(rows), 97):
        np.testing.assert_array_equal(squared_radii(rows[i : i + 1], centers, roots)[0], squares[i])

    # Every position in a tile, and every other memory order.
    everywhere = squared_radii(np.repeat(rows[3:4], TILE_ROWS, axis=0), centers, roots)
    np.testing.assert_array_equal(everywhere, np.broadcast_to(squares[3], everywhere.shape))
    order = rng.permutation(len(rows))
    np.testing.assert_array_equal(squared_radii(np.asfortranarray(rows[order]), centers, roots), squares[order])
    np.testing.assert_array_equal(squared_radii(rows[::-2], centers, roots), squares[::-2])


@given(SEEDS, st.integers(0, 2 * TILE_ROWS + 1))
def test_tiles_cover_all_rows_in_order(seed, n):
    rng = np.random.default_rng(seed)
    centers, roots, _ = draw_ellipsoids(rng, 2, 3, 0.1)
    rows = rng.normal(size=(n, 3))
    walked = list(tiles_of_squared_radii(rows, stack_ellipsoids(centers, roots)))
    assert [i for place, _ in walked for i in range(place.start, place.stop)] == list(range(n))
    assert squared_radii(rows, np.empty((0, 3)), np.empty((0, 3, 3))).shape == (n, 0)
    assert all(tile.shape == (place.stop - place.start, 2) for place, tile in walked)
    # A tile stays as it is while the walk goes on.
    np.testing.assert_array_equal(
        np.concatenate([np.empty((0, 2)), *[tile for _, tile in walked]]), squared_radii(rows, centers, roots)
    )


@pytest.mark.parametrize("size", [1e60, 1e150, 1e200, 1e308, np.inf])
@pytest.mark.parametrize("shortest", [1.0, 1e-6])
def test_rows_beyond_the_range_of_floats_are_outside(size, shortest):
    rng = np.random.default_rng(1)
    centers, roots, _ = draw_ellipsoids(rng, 5, 4, shortest)
    rows = np.concatenate([size * np.sign(rng.normal(size=(20, 4))), [[size, 0.0, -size, 1.0]]])
    squares = squared_radii(rows, centers, roots)
    assert (squares > 1e50).all()
    np.testing.assert_array_equal(squared_radii(np.concatenate([rows, centers]), centers, roots)[: len(rows)], squares)


@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e9, 1e150])
def test_units_do_not_matter(unit):
    rng = np.random.default_rng(2)
    centers, roots, boundary = draw_ellipsoids(rng, 5, 4, 0.1)
    rows = boundary.reshape(-1, 4)
    squares = squared_radii(unit * rows, unit * centers, roots / unit)
    np.testing.assert_allclose(squares, synchronized(rows, centers, roots), rtol=1e-9)


def test_flat_ellipsoids_are_measured_only_where_rows_come_near_them(monkeypatch):
    rng = np.random.default_rng(3)
    centers, roots, boundary = draw_ellipsoids(rng, 6, 8, 1e-6)
    assert len(stack_ellipsoids(centers, roots).rough) == 6
    measured = []

    def count(columns, centers, roots):
        measured.extend(centers)
        return np.zeros((len(centers), columns.shape[1]))

    monkeypatch.setattr(membership, "_measure", count)
    squared_radii(10.0 + rng.normal(size=(500, 8)), centers, roots)
    assert len(measured) < 6
    squared_radii(boundary.reshape(-1, 8), centers, roots)
    assert len(measured) >= 6
