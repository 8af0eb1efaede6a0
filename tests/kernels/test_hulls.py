"""Nearest points of reduced hulls: certificates recomputed from the rows, and a quadratic program as the judge."""

from __future__ import annotations

import numpy as np
import pytest
from cases import KINDS
from optional import package_or_skip
from scipy import sparse

from sepc.geometry import NearestPoints, nearest_points

clarabel, piqp = package_or_skip("clarabel"), package_or_skip("piqp")

RATIOS = (1.0, 1.1, 2.0, 10.0, np.inf)


def draw_classes(kind: str, seed: int, max_rows: int = 400, max_features: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of one kind, sizes in one of `RATIOS`, moved apart by up to four deviations."""
    rng = np.random.default_rng([seed, *kind.encode()])
    d = int(rng.integers(1, max_features + 1))
    n = int(rng.integers(2, max_rows))
    ratio = RATIOS[seed % len(RATIOS)]
    n_small = 1 if np.isinf(ratio) else max(1, round(n / ratio))
    rows = KINDS[kind](rng, n + n_small, d)
    large, small = rows[:n], rows[n:]
    shift = rng.standard_normal(d)
    return large, small + rng.choice([0.0, 2.0, 4.0]) * rows.std(axis=0) * shift / np.linalg.norm(shift)


def support_point(rows: np.ndarray, direction: np.ndarray, cap: int) -> np.ndarray:
    """Mean of the `cap` rows lowest along `direction`, by a full sort; ties share what is left."""
    heights = rows @ direction
    threshold = np.sort(heights)[cap - 1]
    below, tied = heights < threshold, heights == threshold
    return (rows[below].sum(axis=0) + (cap - below.sum()) * rows[tied].mean(axis=0)) / cap


def spread_of(large: np.ndarray, small: np.ndarray) -> float:
    return float(np.linalg.norm(np.ptp(np.concatenate((large, small)), axis=0)))


def check_certificate(large: np.ndarray, small: np.ndarray, nearest: NearestPoints) -> None:
    """The point is in the hull, as far as 40 directions can tell, and the gap is what is claimed."""
    origin = large.mean(axis=0)
    large, small, near = large - origin, small - origin, nearest.near_pos - origin
    size = spread_of(large, small)
    rounding = 1e-13 * size
    np.testing.assert_allclose(nearest.near_neg - origin, small.mean(axis=0), rtol=0, atol=rounding)
    w = nearest.near_pos - nearest.near_neg
    assert nearest.distance == pytest.approx(np.linalg.norm(w), abs=rounding)
    gap = w @ (near - support_point(large, w, len(small)))
    assert nearest.converged
    if not nearest.hulls_meet:
        assert gap <= nearest.gap + 1e-13 * size * nearest.distance
        assert gap <= 1e-13 * size**2
    rng = np.random.default_rng(len(large))
    for direction in np.concatenate((rng.standard_normal((40, large.shape[1])), [w, -w])):
        lowest = support_point(large, direction, len(small)) @ direction
        assert near @ direction >= lowest - rounding * np.linalg.norm(direction)


def quadratic_program(large: np.ndarray, small: np.ndarray) -> tuple[np.ndarray, float]:
    """Nearest difference by the better of two solvers, with the error that its own gap proves.

    A gap below zero tells how far the point lies outside the hull.
    """
    scale = spread_of(large, small)
    rows = (large - small.mean(axis=0)) / scale
    answers = []
    for weights in (weights_by_clarabel(rows, len(small)), weights_by_piqp(rows, len(small))):
        feasible = np.clip(weights, 0, 1 / len(small))
        w = feasible @ rows / feasible.sum()
        gap = w @ (w - support_point(rows, w, len(small)))
        answers.append((float(np.sqrt(abs(gap) + 1e-16)) * scale, w * scale))
    error, w = min(answers, key=lambda answer: answer[0])
    return w, error


def weights_by_clarabel(rows: np.ndarray, cap: int) -> np.ndarray:
    n, d = rows.shape
    objective = sparse.block_diag([sparse.csc_matrix((n, n)), sparse.eye(d)]).tocsc()
    sums = [[sparse.csc_matrix(rows.T), -sparse.eye(d)], [np.ones((1, n)), None]]
    constraints = sparse.bmat([*sums, [-sparse.eye(n), None], [sparse.eye(n), None]]).tocsc()
    bounds = np.concatenate((np.zeros(d), [1.0], np.zeros(n), np.full(n, 1 / cap)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-15
    cones = [clarabel.ZeroConeT(d + 1), clarabel.NonnegativeConeT(2 * n)]
    answer = clarabel.DefaultSolver(objective, np.zeros(n + d), constraints, bounds, cones, settings).solve()
    return np.array(answer.x[:n])


def weights_by_piqp(rows: np.ndarray, cap: int) -> np.ndarray:
    n = len(rows)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = 1e-14
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = 0
    solver.setup(rows @ rows.T, np.zeros(n), np.ones((1, n)), np.ones(1), x_l=np.zeros(n), x_u=np.full(n, 1 / cap))
    solver.solve()
    return np.asarray(solver.result.x)


@pytest.mark.parametrize("kind", KINDS)
def test_certificate_holds_when_recomputed(kind):
    for seed in range(20):
        large, small = draw_classes(kind, seed)
        check_certificate(large, small, nearest_points(large, small))
    # So many rows that the solver works on the band of those that matter.
    for seed in range(4):
        large, small = draw_classes(kind, seed, max_rows=6_000, max_features=8)
        check_certificate(large, small, nearest_points(large, small))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "far_scales"])
def test_agrees_with_a_quadratic_program(kind):
    for seed in range(15):
        large, small = draw_classes(kind, seed, max_rows=120, max_features=12)
        nearest = nearest_points(large, small)
        expected, error = quadratic_program(large, small)
        w = nearest.near_pos - nearest.near_neg
        assert np.linalg.norm(w - expected) <= 2 * error
        if np.linalg.norm(expected) <= 1e-3 * spread_of(large, small):
            continue
        assert nearest.distance == pytest.approx(np.linalg.norm(expected), rel=1e-8)
        check_same_split(np.concatenate((large, small)) - nearest.near_neg, w, expected, error)


def check_same_split(rows: np.ndarray, w: np.ndarray, expected: np.ndarray, error: float) -> None:
    """Rows, seen from the smaller class's mean, lie on the same side of both planes halfway between nearest points."""
    ours, theirs = rows @ w - w @ w / 2, rows @ expected - expected @ expected / 2
    reach = 4 * error * (np.linalg.norm(rows, axis=1) + np.linalg.norm(w))
    sure = np.abs(theirs) > reach
    np.testing.assert_array_equal(ours[sure] >= 0, theirs[sure] >= 0)


def test_sizes_that_are_equal_give_both_means():
    rng = np.random.default_rng(0)
    pos, neg = rng.standard_normal((50, 3)), rng.standard_normal((50, 3)) + 0.5
    nearest = nearest_points(pos, neg)
    np.testing.assert_allclose(nearest.near_pos, pos.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(nearest.near_neg, neg.mean(axis=0), atol=1e-14)
    assert (nearest.gap, nearest.hulls_meet, nearest.converged, nearest.n_iterations) == (0.0, False, True, 0)
    alone = nearest_points(np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]]))
    assert (alone.distance, alone.hulls_meet) == (5.0, False)


def test_hulls_meet_where_classes_overlap_or_are_one():
    for n_small in (1, 7, 20):
        nearest = nearest_points(np.ones((20, 3)), np.ones((n_small, 3)))
        assert nearest.hulls_meet
        assert nearest.means_coincide
    rng = np.random.default_rng(1)
    large, small = rng.standard_normal((500, 4)), rng.standard_normal((50, 4)) + 0.3
    nearest = nearest_points(large, small)
    assert nearest.hulls_meet
    assert not nearest.means_coincide
    np.testing.assert_allclose(nearest.mean_pos, large.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(nearest.mean_neg, small.mean(axis=0), atol=1e-14)


def test_exchanging_the_classes_exchanges_the_answer():
    large, small = draw_classes("gaussian", 13)
    straight, exchanged = nearest_points(large, small), nearest_points(small, large)
    np.testing.assert_array_equal(straight.near_pos, exchanged.near_neg)
    np.testing.assert_array_equal(straight.near_neg, exchanged.near_pos)
    np.testing.assert_array_equal(straight.mean_pos, exchanged.mean_neg)


@pytest.mark.parametrize("exponent", [500, -500, -1050])
def test_scaling_by_a_power_of_two_changes_no_digit_that_is_left(exponent):
    large, small = draw_classes("gaussian", 12)
    plain, scaled = nearest_points(large, small), nearest_points(np.ldexp(large, exponent), np.ldexp(small, exponent))
    lost = 2.0 ** (-1074 - exponent)
    np.testing.assert_allclose(np.ldexp(scaled.near_pos, -exponent), plain.near_pos, rtol=0, atol=1e-12 + 4 * lost)
    assert scaled.hulls_meet == plain.hulls_meet
    assert scaled.converged


def test_a_far_offset_costs_only_its_own_digits():
    large, small = draw_classes("gaussian", 12)
    plain, moved = nearest_points(large, small), nearest_points(large + 2.0**30, small + 2.0**30)
    np.testing.assert_allclose(moved.near_pos - moved.near_neg, plain.near_pos - plain.near_neg, rtol=0, atol=1e-6)


def test_rows_all_tied_end():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    large, small = np.repeat(corners, 800, axis=0), np.array([[2.0, 2.0], [3.0, 3.0]])
    nearest = nearest_points(large, small)
    np.testing.assert_allclose(nearest.near_pos, [0.5, 0.5], atol=1e-12)
    assert nearest.converged


@pytest.mark.quick_cases("2.0", "6.0")
@pytest.mark.parametrize("apart", [1.0, 1.8, 2.0, 3.0, 6.0])
def test_many_rows(apart):
    rng = np.random.default_rng(3)
    large, small = rng.standard_normal((250_000, 10)), rng.standard_normal((10_000, 10))
    small[:, 0] += apart
    check_certificate(large, small, nearest_points(large, small))


def test_stopping_early_is_admitted():
    large, small = draw_classes("gaussian", 8)
    best, nearest = nearest_points(large, small), nearest_points(large, small, max_iterations=2)
    assert best.n_iterations > 3
    assert not nearest.converged
    difference = (nearest.near_pos - nearest.near_neg) - (best.near_pos - best.near_neg)
    assert np.linalg.norm(difference) <= np.sqrt(nearest.gap) + np.sqrt(best.gap)
