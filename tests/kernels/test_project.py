"""The nearest point of an ellipsoid within a box: against a cone solver, and by its own proof."""

from dataclasses import replace

import numpy as np
import pytest
from cone_oracle import nearest_by_clarabel
from hypothesis import given
from hypothesis import strategies as st
from weekly import weekly

from sepc.kernels.project import HalfSpace, Projector


def problem(seed, flat=0.0):
    """A point, and an ellipsoid and a box of which some coordinates are fixed, and some ends come near the point."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 20))
    root = (0.15 * rng.normal(size=(d, d)) + 0.3 * np.eye(d)) * np.exp(rng.normal(size=(d, 1)) * rng.choice([0.5, 2.0]))
    root[0] *= 10.0**flat
    point, width = 4.0 * rng.normal(size=d), rng.exponential(size=(2, d))
    low = np.where(rng.random(d) < 0.7, -40.0, point - 2.0 * width[0])
    high = np.where(rng.random(d) < 0.7, 40.0, point + 2.0 * width[1])
    low, high = (np.where(rng.random(d) < 0.05, point, end) for end in (low, high))
    return point, Projector(rng.normal(size=d), root, low, high, np.exp(rng.normal(size=d)))


def gauge(own, point):
    return np.linalg.norm(own.root @ (point - own.center))


@pytest.mark.parametrize("seed", [*range(30), *map(weekly, range(30, 100))])
def test_as_near_as_a_cone_solver_finds(seed):
    point, own = problem(seed)
    found = own.project(point)
    nearest = nearest_by_clarabel(point, own)
    if nearest is None:
        assert not found.is_feasible
        assert found.bound == np.inf
    else:
        assert found.squared == pytest.approx(nearest, rel=1e-6, abs=1e-6)
        assert found.bound == pytest.approx(found.squared, rel=1e-8, abs=1e-8)


@given(seed=st.integers(0, 10**6), flat=st.sampled_from([0.0, 4.0, 7.0]))
def test_the_point_is_in_both_and_no_bound_is_above_it(seed, flat):
    point, own = problem(seed, flat)
    found = own.project(point)
    # The half-space of the proof holds the ellipsoid.
    assert np.linalg.norm(np.linalg.solve(own.root.T, found.proof.normal)) <= 1.0 + 1e-6
    assert ((own.low <= found.point) & (found.point <= own.high)).all()
    if found.is_feasible:
        assert gauge(own, found.point) <= 1.0 + (1e-8 if flat < 7.0 else 1e-5)
        assert found.squared == pytest.approx(((own.weights * (found.point - point)) ** 2).sum())
        assert found.bound <= found.squared * (1.0 + 1e-9) + 1e-9
        # Where a root is ten million times as steep in one direction, a bound may lose all digits, but it holds.
        assert flat >= 7.0 or found.bound >= found.squared * (1.0 - 1e-8) - 1e-9


@pytest.mark.slow
def test_proofs_about_very_flat_ellipsoids_are_tight_as_a_rule():
    found = [own.project(point) for point, own in (problem(seed, flat=7.0) for seed in range(150))]
    ratios = np.array([own.bound / own.squared for own in found if own.is_feasible and own.squared > 0.0])
    assert len(ratios) > 60
    assert np.mean(ratios > 1.0 - 1e-6) > 0.9


def test_a_bound_holds_for_any_half_space_and_multiplier():
    """Even of a wrong solver: no point of the box in the half-space is nearer."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        d = int(rng.integers(1, 5))
        low, high = np.sort(rng.normal(size=(2, d)), axis=0) * 3.0
        point, weights = 3.0 * rng.normal(size=d), np.exp(rng.normal(size=d))
        proof = HalfSpace(rng.normal(size=d), rng.normal(size=d), float(rng.exponential()))
        rows = rng.uniform(low, high, size=(4000, d))
        rows = rows[(rows - proof.center) @ proof.normal <= 1.0]
        bound = proof.bound(point, low, high, weights)
        assert (((weights * (rows - point)) ** 2).sum(axis=1) >= bound - 1e-12).all()
        if proof.least(low, high) > 1.0:
            assert len(rows) == 0
            assert bound == np.inf


@pytest.mark.parametrize("factor", [0.5, 1.5])
def test_a_bound_holds_with_the_multiplier_of_a_poor_solver(factor):
    n_close = 0
    for seed in range(30):
        point, own = problem(seed)
        found = own.project(point)
        proof = replace(found.proof, multiplier=factor * found.proof.multiplier)
        bound = proof.bound(point, own.low, own.high, own.weights)
        assert bound <= found.squared * (1.0 + 1e-9) + 1e-9
        n_close += 0.1 * found.squared < bound < found.squared
    assert n_close > 10


def ball(low, high, weights):
    d = len(weights)
    return Projector(np.zeros(d), np.eye(d), np.full(d, low), np.full(d, high), np.array(weights))


def test_by_hand():
    found = ball(-5.0, 5.0, [1.0, 1.0, 1.0]).project(np.array([0.1, 0.2, -0.3]))
    assert (found.squared, found.bound, found.point.tolist()) == (0.0, 0.0, [0.1, 0.2, -0.3])
    for value, squared in ((0.5, 0.0), (2.0, np.inf)):
        fixed = np.full(2, value / np.sqrt(2.0))
        found = ball(fixed[0], fixed[0], [1.0, 1.0]).project(fixed)
        assert (found.squared, found.bound) == (squared, squared)
    # A fixed coordinate may have no weight.
    found = ball([0.6, -9.0], [0.6, 9.0], [0.0, 2.0]).project(np.array([0.6, 3.0]))
    assert found.point == pytest.approx([0.6, 0.8])
    assert found.squared == pytest.approx((2.0 * 2.2) ** 2)
    assert found.bound == pytest.approx(found.squared)
    # Weights decide which way to go.
    found = ball(-9.0, 9.0, [10.0, 1.0]).project(np.array([0.9, 2.0]))
    assert found.point[0] == pytest.approx(0.9, abs=0.04)
    assert found.point[1] == pytest.approx(np.sqrt(1.0 - found.point[0] ** 2))
