"""The nearest point of an ellipsoid in a box under linear relations: against a cone solver, and by its own proof."""

import numpy as np
import pytest
from cone_oracle import nearest_related_by_clarabel

from sepc.kernels import project_related
from sepc.kernels.project_related import LinearRelations, RelatedProjector


def problem(seed, most=16):
    """A projector and a point; about one in seven has no solution."""
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
    projector = RelatedProjector(center, root, low, high, weights, LinearRelations(rows, ends, n_equal))
    return projector, 2.0 * rng.normal(size=d)


@pytest.mark.parametrize("most_changes", [0, 12])
def test_as_near_as_a_cone_solver_finds_with_and_without_the_active_set(most_changes, monkeypatch):
    monkeypatch.setattr(project_related, "MOST_CHANGES", most_changes)
    n_out_of_reach = 0
    for seed in range(80):
        projector, point = problem(seed)
        found, nearest = projector.project(point), nearest_related_by_clarabel(point, projector)
        if nearest is None:
            n_out_of_reach += 1
            assert np.isinf(found.bound)
            assert not found.is_feasible
        else:
            assert found.bound == pytest.approx(nearest, rel=1e-5, abs=1e-6)
            assert found.squared == pytest.approx(nearest, rel=1e-5, abs=1e-5)
            assert ((projector.low <= found.point) & (found.point <= projector.high)).all()
            assert projector.relations.excess(found.point).max(initial=0.0) <= 1e-6
            assert np.linalg.norm(projector.root @ (found.point - projector.center)) <= 1.0 + 1e-6
    assert 5 <= n_out_of_reach <= 40


def test_any_multipliers_prove_a_bound():
    """The proof does not depend on the solver: with wrong multipliers the bound is lower, never wrong."""
    rng, n_points = np.random.default_rng(0), 0
    for seed in range(30):
        projector, point = problem(seed, most=5)
        proof = projector.project(point).proof
        changed = type(proof)(
            proof.normal,
            proof.center,
            proof.multiplier * rng.uniform(0.0, 2.0),
            proof.relations,
            proof.multipliers * rng.uniform(0.0, 2.0, len(proof.multipliers)),
        )
        bound = changed.bound(point, projector.low, projector.high, projector.weights)
        inside = points_that_satisfy_everything(projector, rng)
        n_points += len(inside)
        squared = ((projector.weights * (inside - point)) ** 2).sum(axis=1)
        assert (squared >= bound - 1e-7).all()
    assert n_points > 1_000


def points_that_satisfy_everything(projector, rng):
    """Random points of the box, moved onto the equations, that lie in the ellipsoid and keep the inequalities."""
    relations, n = projector.relations, projector.relations.n_equal
    points = rng.uniform(projector.low, projector.high, size=(2_000, len(projector.low)))
    free = projector.low < projector.high
    rows = relations.rows[:n, free]
    missed = relations.ends[:n] - points @ relations.rows[:n].T
    points[:, free] += missed @ np.linalg.pinv(rows).T
    left = points @ relations.rows.T - relations.ends
    good = (np.abs(left[:, :n]) <= 1e-9).all(axis=1) & (left[:, n:] <= 0.0).all(axis=1)
    good &= ((projector.low <= points) & (points <= projector.high)).all(axis=1)
    return points[good & (np.linalg.norm((points - projector.center) @ projector.root.T, axis=1) <= 1.0)]


def test_relations_that_contradict_each_other_are_proved_to():
    square = np.eye(2) / 5.0
    for rows, ends, n_equal in (
        ([[1.0, 0.0], [1.0, 0.0]], [0.5, 0.6], 2),
        ([[1.0, 1.0], [-1.0, -1.0]], [0.5, -0.6], 0),
        ([[1.0, 1.0]], [7.0], 1),
    ):
        relations = LinearRelations(np.array(rows), np.array(ends), n_equal)
        projector = RelatedProjector(np.zeros(2), square, -np.ones(2), np.ones(2), np.ones(2), relations)
        assert np.isinf(projector.project(np.zeros(2)).bound)
