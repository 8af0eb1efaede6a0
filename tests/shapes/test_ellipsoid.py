"""Ellipsoids against what defines them: support functions, boundaries and affine maps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sepc.shapes.ellipsoid import BOUNDARY_SLACK, Ellipsoid

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(1, 8)


def random_ellipsoid(rng, d, offset=1.0, scales=1.0):
    """An upper-triangular root, as the enclosing solver gives it; features are `scales` times as wide."""
    root = np.triu(rng.normal(size=(d, d)), 1) + np.diag(rng.uniform(0.5, 2.0, size=d))
    return Ellipsoid(offset * rng.normal(size=d), root / scales)


def support(ellipsoid, direction):
    """Largest value of ``direction @ x`` over the ellipsoid, from the root alone."""
    return ellipsoid.center @ direction + np.linalg.norm(np.linalg.solve(ellipsoid.root.T, direction))


def on_boundary(ellipsoid, n, rng):
    directions = rng.normal(size=(n, ellipsoid.n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return ellipsoid.center + np.linalg.solve(ellipsoid.root, directions.T).T


@given(SEEDS, st.sampled_from([1, 2, 3, 10, 30]), st.integers(1, 1200), st.data())
def test_a_radius_is_exact_and_bit_for_bit_that_of_the_row_alone(seed, d, n, data):
    rng = np.random.default_rng(seed)
    ellipsoid = random_ellipsoid(rng, d)
    rows = rng.normal(size=(n, d))
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start + 1, n))
    squared = ellipsoid.squared_radius(rows)
    assert np.array_equal(squared[start:stop], ellipsoid.squared_radius(rows[start:stop]))
    shifted = rows[:50].astype(np.longdouble) - ellipsoid.center
    exact = ((shifted @ ellipsoid.root.astype(np.longdouble).T) ** 2).sum(axis=1)
    np.testing.assert_allclose(squared[:50], exact.astype(float), rtol=1e-11, atol=1e-28)


@given(SEEDS, SIZES, st.data())
def test_radius_does_not_see_the_units_of_a_feature(seed, d, data):
    rng = np.random.default_rng(seed)
    # Powers of two up to 1e12 apart scale without rounding: the answers must be identical.
    units = 2.0 ** data.draw(arrays(np.int64, d, elements=st.integers(-20, 20)))
    ellipsoid = random_ellipsoid(rng, d)
    rescaled = Ellipsoid(ellipsoid.center * units, ellipsoid.root / units)
    rows = rng.normal(size=(5, d))
    assert np.array_equal(rescaled.squared_radius(rows * units), ellipsoid.squared_radius(rows))


@given(SEEDS, SIZES)
def test_the_boundary_is_contained_and_what_lies_beyond_the_slack_is_not(seed, d):
    rng = np.random.default_rng(seed)
    ellipsoid = random_ellipsoid(rng, d)
    edge = on_boundary(ellipsoid, 20, rng)
    np.testing.assert_allclose(ellipsoid.gauge(edge), 1.0, rtol=1e-11)
    assert ellipsoid.contains(edge).all()
    assert not ellipsoid.contains(ellipsoid.center + (1.0 + 2.0 * BOUNDARY_SLACK) * (edge - ellipsoid.center)).any()


def test_rows_of_any_layout_and_number_type_are_read_as_they_are():
    rng = np.random.default_rng(1)
    ellipsoid = random_ellipsoid(rng, 3)
    rows = rng.integers(-5, 5, size=(700, 6))[:, ::2]
    expected = ellipsoid.squared_radius(np.ascontiguousarray(rows, dtype=np.float64))
    for same in (rows, np.asfortranarray(rows), rows.astype(np.float32)):
        assert np.array_equal(ellipsoid.squared_radius(same), expected)
    for question in (ellipsoid.squared_radius, ellipsoid.contains, ellipsoid.distance):
        assert question(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 200])
def test_log_volume_of_balls(d):
    unit_ball = {1: 2.0, 2: math.pi, 3: 4 / 3 * math.pi, 4: math.pi**2 / 2}.get(d)
    log_unit = math.log(unit_ball) if unit_ball else d / 2 * math.log(math.pi) - math.lgamma(d / 2 + 1)
    volume = Ellipsoid(np.ones(d), 1e-10 * np.eye(d)).log_volume
    assert volume == pytest.approx(log_unit + d * math.log(1e10), rel=1e-14)


@given(SEEDS, SIZES, st.floats(-12, 12))
def test_log_volume_follows_affine_maps(seed, d, exponent):
    rng = np.random.default_rng(seed)
    ellipsoid = random_ellipsoid(rng, d)
    stretch = 10.0 ** np.linspace(0.0, exponent, d)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    image = Ellipsoid(ellipsoid.center, ellipsoid.root @ turn / stretch)
    assert image.log_volume == pytest.approx(ellipsoid.log_volume + np.log(stretch).sum(), abs=1e-10)


@given(SEEDS, SIZES)
def test_semi_axes_end_on_the_boundary_at_right_angles_and_span_the_volume(seed, d):
    ellipsoid = random_ellipsoid(np.random.default_rng(seed), d)
    arms = ellipsoid.semi_axes[:, np.newaxis] * ellipsoid.axes
    np.testing.assert_allclose(ellipsoid.gauge(np.vstack([ellipsoid.center + arms, ellipsoid.center - arms])), 1.0)
    np.testing.assert_allclose(ellipsoid.axes @ ellipsoid.axes.T, np.eye(d), atol=1e-13)
    assert (np.diff(ellipsoid.semi_axes) <= 0).all()
    ball = Ellipsoid(np.zeros(d), np.eye(d)).log_volume
    assert np.log(ellipsoid.semi_axes).sum() + ball == pytest.approx(ellipsoid.log_volume, abs=1e-11)
    # Right-angled arms are the axes only if the root keeps them so.
    images = arms @ ellipsoid.root.T
    np.testing.assert_allclose(images @ images.T, np.eye(d), atol=1e-10)


@given(SEEDS, st.integers(2, 8), st.data())
def test_the_shadow_reaches_as_far_as_the_ellipsoid_in_every_direction(seed, d, data):
    rng = np.random.default_rng(seed)
    ellipsoid = random_ellipsoid(rng, d)
    k = data.draw(st.integers(1, d))
    basis = rng.normal(size=(d, k))
    shadow = ellipsoid.project(basis)
    assert shadow.n_features == k
    for direction in rng.normal(size=(10, k)):
        assert support(shadow, direction) == pytest.approx(support(ellipsoid, basis @ direction), rel=1e-9, abs=1e-9)


@given(SEEDS, st.integers(2, 8), st.data())
def test_column_numbers_are_the_unit_directions_in_their_order(seed, d, data):
    ellipsoid = random_ellipsoid(np.random.default_rng(seed), d)
    features = data.draw(st.permutations(range(d)).map(lambda order: order[:2]))
    shadow, expected = ellipsoid.project(features), ellipsoid.project(np.eye(d)[:, features])
    assert np.array_equal(shadow.center, ellipsoid.center[features])
    assert np.array_equal(shadow.root, expected.root)
    rows = np.random.default_rng(seed).normal(size=(30, d))
    np.testing.assert_allclose(ellipsoid.project(range(d)).gauge(rows), ellipsoid.gauge(rows), rtol=1e-12)


def test_the_shadow_keeps_the_digits_of_features_far_apart_in_scale():
    rng = np.random.default_rng(4)
    units = 2.0 ** np.array([0, 40, -40, 20, 0])
    ellipsoid = random_ellipsoid(rng, 5)
    rescaled = Ellipsoid(ellipsoid.center * units, ellipsoid.root / units)
    for features in ([0, 1], [1, 2], [2, 1, 4]):
        shadow, plain = rescaled.project(features), ellipsoid.project(features)
        np.testing.assert_allclose(shadow.root * units[features], plain.root, rtol=1e-12, atol=1e-14)


def test_the_shadow_of_a_flat_ellipsoid_keeps_its_thickness():
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    thickness = 1e-10  # its square is below the rounding of 1: a squared shape matrix could not tell it from 0
    flat = Ellipsoid(np.zeros(3), (turn / [1.0, 1.0, thickness]).T)
    oblique = np.array([[0.6, 0.8], [-0.8, 0.6]])
    shadow = flat.project(turn[:, [0, 2]] @ oblique)
    np.testing.assert_allclose(shadow.semi_axes, [1.0, thickness], rtol=1e-4)


def test_the_outline_lies_on_the_boundary_and_closes():
    ellipse = random_ellipsoid(np.random.default_rng(7), 2)
    outline = ellipse.boundary(200)
    assert outline.shape == (200, 2)
    np.testing.assert_allclose(ellipse.gauge(outline), 1.0, rtol=1e-12)
    np.testing.assert_allclose(outline[-1], outline[0], rtol=1e-14)
    x, y = (outline - ellipse.center).T
    area = 0.5 * abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    assert math.log(area) == pytest.approx(ellipse.log_volume, abs=1e-3)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_samples_are_uniform_in_the_volume(d):
    rng = np.random.default_rng(8)
    ellipsoid = random_ellipsoid(rng, d, scales=10.0 ** np.arange(d))
    n = 40_000
    rows = ellipsoid.sample(n, rng)
    assert ellipsoid.contains(rows).all()
    # In the unit ball's coordinates: mean 0, covariance I / (d + 2), and radius**d uniform on (0, 1).
    ball = (rows - ellipsoid.center) @ ellipsoid.root.T
    np.testing.assert_allclose(ball.mean(axis=0), 0.0, atol=4.0 / math.sqrt(n))
    np.testing.assert_allclose(np.atleast_2d(np.cov(ball.T)) * (d + 2), np.eye(d), atol=0.05)
    quantiles = np.quantile(ellipsoid.gauge(rows) ** d, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(quantiles, [0.1, 0.5, 0.9], atol=0.01)
    first, again, other = (ellipsoid.sample(5, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@given(SEEDS, SIZES, st.floats(1e-3, 1e3))
def test_expansion_divides_the_gauge(seed, d, factor):
    rng = np.random.default_rng(seed)
    ellipsoid = random_ellipsoid(rng, d)
    expanded = ellipsoid.expanded(factor)
    rows = rng.normal(size=(5, d))
    np.testing.assert_allclose(expanded.gauge(rows) * factor, ellipsoid.gauge(rows), rtol=1e-12)
    assert expanded.log_volume == pytest.approx(ellipsoid.log_volume + d * math.log(factor), abs=1e-11)


BALL = Ellipsoid(np.zeros(3), np.eye(3))
REFUSED = [
    ("shape", lambda: Ellipsoid(np.zeros((2, 1)), np.eye(2))),
    ("shape", lambda: Ellipsoid(np.zeros(0), np.zeros((0, 0)))),
    ("shape", lambda: Ellipsoid(np.zeros(2), np.eye(3))),
    ("shape", lambda: Ellipsoid(np.zeros(2), np.ones(2))),
    ("finite", lambda: Ellipsoid(np.array([0.0, np.nan]), np.eye(2))),
    ("finite", lambda: Ellipsoid(np.zeros(2), np.diag([1.0, np.inf]))),
    ("singular", lambda: Ellipsoid(np.zeros(2), np.diag([1.0, 0.0]))),
    ("factor", lambda: BALL.expanded(0.0)),
    ("factor", lambda: BALL.expanded(-1.0)),
    ("factor", lambda: BALL.expanded(math.nan)),
    ("2 features, not 3", lambda: BALL.boundary(10)),
    *(
        ("from 0 to 2", lambda given=given: BALL.project(given))
        for given in ([], [0, 3], [-1, 0], [0.5, 1.0], np.ones((2, 2)), 1)
    ),
    *(
        ("independent", lambda given=given: BALL.project(given))
        for given in ([0, 0], np.eye(3)[:, :0], np.ones((3, 2)), np.ones((3, 4)))
    ),
    *(
        (r"\(n, 3\)", lambda question=question, rows=rows: getattr(BALL, question)(rows))
        for question in ("squared_radius", "gauge", "contains", "distance")
        for rows in (np.zeros(3), np.zeros((4, 2)), np.zeros((1, 3, 3)))
    ),
]


@pytest.mark.parametrize(("word", "ask"), REFUSED)
def test_what_makes_no_sense_is_refused(word, ask):
    with pytest.raises(ValueError, match=word):
        ask()


def test_an_ellipsoid_does_not_change_with_the_arrays_it_was_built_from():
    center, root = np.zeros(2), np.eye(2)
    ellipsoid = Ellipsoid(center, root)
    center[:], root[:] = 7.0, 7.0
    assert ellipsoid.contains(np.zeros((1, 2))).all()
    for kept in (ellipsoid.center, ellipsoid.root, ellipsoid.inverse_root, ellipsoid.axes, ellipsoid.semi_axes):
        with pytest.raises(ValueError, match="read-only"):
            kept[...] = 0.0
