"""The nearest point of an ellipsoid within a box, under relations: against another solver, and by its own proof."""

from dataclasses import replace

import numpy as np
import pytest
from cone_oracle import nearest_by_scs
from hypothesis import given
from hypothesis import strategies as st
from optional import package_or_skip
from weekly import weekly

from sepc.errors import NotConvergedWarning
from sepc.kernels.project import HalfSpace, LinearRelations, Projector

clarabel = package_or_skip("clarabel")


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
def test_as_near_as_another_solver_finds(seed):
    point, own = problem(seed)
    found = own.project(point)
    nearest = nearest_by_scs(point, own)
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
        assert gauge(own, found.point) <= 1.0 + 2e-7
        assert found.squared == pytest.approx(((own.weights * (found.point - point)) ** 2).sum())
        assert found.squared * (1.0 - 1e-5) - 1e-6 <= found.bound <= found.squared * (1.0 + 1e-6) + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("flat", [0.0, 7.0])
def test_proofs_are_tight_about_flat_ellipsoids_too(flat):
    found = [own.project(point) for point, own in (problem(seed, flat) for seed in range(150))]
    assert sum(own.is_feasible for own in found) > 60
    assert all(np.isinf(own.bound) or own.squared - own.bound <= 1e-6 * (1.0 + own.bound) for own in found)


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
        if proof.normal @ (np.where(proof.normal > 0.0, low, high) - proof.center) > 1.0:
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
        assert bound <= found.squared * (1.0 + 1e-6) + 1e-6
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
    # So may one that nothing touches, which moves only as far as the box.
    apart = Projector(np.zeros(2), np.eye(2)[:1], np.array([-9.0, 1.0]), np.full(2, 9.0), np.ones(2))
    assert apart.project(np.array([3.0, 0.5])).point == pytest.approx([1.0, 1.0])
    # Weights decide which way to go.
    found = ball(-9.0, 9.0, [10.0, 1.0]).project(np.array([0.9, 2.0]))
    assert found.point[0] == pytest.approx(0.9, abs=0.04)
    assert found.point[1] == pytest.approx(np.sqrt(1.0 - found.point[0] ** 2))


def related(seed, most=16):
    """A point, and a projector with relations; about one in seven has no solution."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, most))
    low, high = -rng.uniform(0.0, 2.0, d), rng.uniform(0.0, 2.0, d)
    is_fixed = rng.random(d) < 0.2
    high[is_fixed] = low[is_fixed]
    root = rng.normal(size=(d, d)) / rng.uniform(2.0, 10.0) / np.sqrt(d)
    n_equal = int(rng.integers(0, 3))
    m = n_equal + int(rng.integers(0, 4))
    rows = rng.normal(size=(m, d)) * (rng.random((m, d)) < 0.4)
    ends = rows @ rng.uniform(low, high)
    ends[n_equal:] += rng.uniform(-0.3, 1.0, m - n_equal)
    if rng.random() < 0.2:
        ends[:n_equal] += 3.0 * rng.normal(size=n_equal)
    center, weights = 0.5 * rng.normal(size=d), rng.uniform(0.1, 2.0, d)
    own = Projector(center, root, low, high, weights, LinearRelations(rows, ends, n_equal))
    return 2.0 * rng.normal(size=d), own


def test_as_near_as_another_solver_finds_where_relations_hold():
    n_out_of_reach = 0
    for seed in range(80):
        point, own = related(seed)
        found, nearest = own.project(point), nearest_by_scs(point, own)
        if nearest is None:
            n_out_of_reach += 1
            assert np.isinf(found.bound)
            assert not found.is_feasible
        else:
            assert found.bound == pytest.approx(nearest, rel=1e-5, abs=1e-6)
            assert found.squared == pytest.approx(nearest, rel=1e-5, abs=1e-5)
            for place in (found.point, own.inner()):
                assert ((own.low <= place) & (place <= own.high)).all()
                assert excess(own, place).max(initial=0.0) <= 1e-6
            assert gauge(own, found.point) <= 1.0 + 1e-6
    assert 5 <= n_out_of_reach <= 40


def excess(own, points):
    """By how much points violate each relation."""
    left, n = points @ own.relations.rows.T - own.relations.ends, own.relations.n_equal
    return np.concatenate([np.abs(left[..., :n]), np.maximum(left[..., n:], 0.0)], axis=-1)


def test_any_multipliers_of_relations_prove_a_bound():
    """The proof does not depend on the solver: with wrong multipliers the bound is lower, never wrong."""
    rng, n_points = np.random.default_rng(0), 0
    for seed in range(30):
        point, own = related(seed, most=5)
        proof = own.project(point).proof
        changed = replace(
            proof,
            multiplier=proof.multiplier * rng.uniform(0.0, 2.0),
            multipliers=proof.multipliers * rng.uniform(0.0, 2.0, len(proof.multipliers)),
        )
        bound = changed.bound(point, own.low, own.high, own.weights)
        inside = points_that_satisfy_everything(own, rng)
        n_points += len(inside)
        assert (((own.weights * (inside - point)) ** 2).sum(axis=1) >= bound - 1e-7).all()
    assert n_points > 1_000


def points_that_satisfy_everything(own, rng):
    """Random points of the box, moved onto the equations, that lie in the ellipsoid and keep the inequalities."""
    relations, n = own.relations, own.relations.n_equal
    points = rng.uniform(own.low, own.high, size=(2_000, len(own.low)))
    free = own.low < own.high
    missed = relations.ends[:n] - points @ relations.rows[:n].T
    points[:, free] += missed @ np.linalg.pinv(relations.rows[:n, free]).T
    good = (excess(own, points) <= 1e-9).all(axis=1) & ((own.low <= points) & (points <= own.high)).all(axis=1)
    return points[good & (np.linalg.norm((points - own.center) @ own.root.T, axis=1) <= 1.0)]


def test_relations_that_contradict_each_other_are_proved_to():
    for rows, ends, n_equal in (
        ([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.6], 2),
        ([[1.0, 1.0], [-1.0, -1.0]], [0.5, -0.6], 0),
        ([[1.0, 1.0]], [7.0], 1),
    ):
        relations = LinearRelations(np.array(rows), np.array(ends), n_equal)
        own = Projector(np.zeros(2), np.eye(2) / 5.0, -np.ones(2), np.ones(2), np.ones(2), relations)
        assert np.isinf(own.project(np.zeros(2)).bound)


class Lazy:
    """Clarabel, told to stop after two steps."""

    def __getattr__(self, name):
        return getattr(clarabel, name)

    def DefaultSettings(self):  # noqa: N802
        settings = clarabel.DefaultSettings()
        settings.max_iter = 2
        return settings


def test_where_the_solver_gives_up_the_bound_holds_and_it_is_said(monkeypatch):
    point, own = problem(3)
    nearest = own.project(point).squared
    monkeypatch.setattr("sepc.kernels.project._clarabel", Lazy)
    with pytest.warns(NotConvergedWarning, match="MaxIterations.*bound on the cost holds"):
        found = replace(own).project(point)
    assert found.bound <= nearest
