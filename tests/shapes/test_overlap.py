"""Disjointness against pairs that touch by construction and an interior-point solver; volume ratios."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optional import package_or_skip
from scipy import sparse

from sepc.shapes.ellipsoid import Ellipsoid, are_disjoint, overlap_ratio

clarabel = package_or_skip("clarabel")

SEEDS = st.integers(0, 2**32 - 1)


def random_ellipsoid(rng, d, shortest, center=None):
    lengths = np.exp(rng.uniform(np.log(shortest), 0.0, size=d))
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return Ellipsoid(np.zeros(d) if center is None else center, (turn / lengths).T)


def moved(ellipsoid, center):
    return Ellipsoid(center, ellipsoid.root)


def touching_at(rng, d, shortest):
    """Two ellipsoids on opposite sides of a plane that supports both at one common point, and that point."""
    first, second = random_ellipsoid(rng, d, shortest), random_ellipsoid(rng, d, shortest)
    normal = rng.normal(size=d)
    contact, other_arm = (farthest_along(normal, ellipsoid) for ellipsoid in (first, second))
    return first, moved(second, contact + other_arm), contact


def touching(rng, d, shortest):
    return touching_at(rng, d, shortest)[:2]


def farthest_along(direction, ellipsoid):
    image = ellipsoid.inverse_root.T @ direction
    return ellipsoid.center + ellipsoid.inverse_root @ image / np.linalg.norm(image)


def pulled_apart(first, second, factor):
    return first, moved(second, first.center + factor * (second.center - first.center))


def common_expansion(first, second):
    """The smallest factor by which both must be expanded to meet, as a second-order cone program."""
    d = first.n_features
    cone = np.eye(d + 1, 2 * d + 1)
    other_cone = np.vstack([np.eye(1, 2 * d + 1), np.eye(2 * d + 1)[d + 1 :]])
    meet = np.hstack([np.zeros((d, 1)), first.inverse_root, -second.inverse_root])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((2 * d + 1, 2 * d + 1)),
        np.eye(2 * d + 1)[0],
        sparse.csc_matrix(np.vstack([meet, -cone, -other_cone])),
        np.concatenate([second.center - first.center, np.zeros(2 * d + 2)]),
        [clarabel.ZeroConeT(d), clarabel.SecondOrderConeT(d + 1), clarabel.SecondOrderConeT(d + 1)],
        settings,
    )
    return solver.solve().obj_val


@pytest.mark.parametrize("shortest", [0.3, 1e-3, 1e-6])
def test_disjointness_matches_an_interior_point_solver(shortest):
    rng = np.random.default_rng(0)
    answers = []
    for d in (2, 3, 5, 10):
        for factor in (0.3, 0.9, 1 - 1e-5, 1 + 1e-5, 1.1):
            first, second = pulled_apart(*touching(rng, d, shortest), factor=factor)
            answers.append(are_disjoint(first, second))
            assert answers[-1] == (common_expansion(first, second) > 1.0), (d, factor)
        first, second = random_ellipsoid(rng, d, shortest), random_ellipsoid(rng, d, shortest, 0.3 * rng.normal(size=d))
        answers.append(are_disjoint(first, second))
        assert answers[-1] == (common_expansion(first, second) > 1.0)
    assert 8 <= sum(answers) <= 16


@given(SEEDS, st.integers(1, 12), st.sampled_from([0.3, 1e-3, 1e-6, 1e-12]), st.floats(-7, -1))
def test_pairs_that_touch_are_told_from_pairs_slightly_apart_or_inside(seed, d, shortest, exponent):
    pair = touching(np.random.default_rng(seed), d, shortest)
    margin = 10.0**exponent
    for first, second in (pair, pair[::-1]):
        assert not are_disjoint(first, second)
        assert are_disjoint(*pulled_apart(first, second, 1.0 + margin))
        assert not are_disjoint(*pulled_apart(first, second, 1.0 - margin))


@given(SEEDS, st.integers(1, 8), st.data())
def test_disjointness_does_not_see_the_units_of_a_feature(seed, d, data):
    units = 10.0 ** np.array(data.draw(st.lists(st.integers(-12, 12), min_size=d, max_size=d)))
    pair = touching(np.random.default_rng(seed), d, 0.1)
    for factor in (1 - 1e-7, 1 + 1e-7):
        first, second = pulled_apart(*pair, factor=factor)
        rescaled = (Ellipsoid(e.center * units, e.root / units) for e in (first, second))
        assert are_disjoint(*rescaled) == (factor > 1)


def ellipse(*semi_axes, center=(0.0, 0.0)):
    return Ellipsoid(np.array(center), np.diag(1.0 / np.array(semi_axes)))


NEEDLE, DISC = ellipse(1.0, 1e-6), ellipse(1.0, 1.0, center=(1e9, 1e9))


@pytest.mark.parametrize(
    ("first", "second", "apart"),
    [
        (NEEDLE, ellipse(1e-6, 1.0, center=(0.5, 0.5)), False),
        (NEEDLE, ellipse(1e-6, 1.0, center=(0.0, 1.0)), False),
        (NEEDLE, ellipse(1e-6, 1.0, center=(0.5, 1.0 + 1e-5)), True),
        (NEEDLE, ellipse(0.5, 0.5e-6, center=(0.0, 1.4e-6)), False),
        (NEEDLE, ellipse(0.5, 0.5e-6, center=(0.0, 1.6e-6)), True),
        (DISC, moved(DISC, DISC.center + [1.5, 1.0]), False),
        (DISC, moved(DISC, DISC.center + [1.5, 1.5]), True),
        *((NEEDLE, ellipse(0.1, 1.0, center=(gap, 0.0)), True) for gap in (1e3, 1e150, 1e300)),
        *((NEEDLE, ellipse(1e-9, 1e-3, center=(shift, shift)), False) for shift in (0.0, 1e-300, 1e-12)),
        (NEEDLE, NEEDLE, False),
    ],
)
def test_pairs_whose_answer_is_known(first, second, apart):
    assert are_disjoint(first, second) == are_disjoint(second, first) == apart


@given(SEEDS, st.integers(1, 6))
def test_no_row_lies_in_both_of_a_disjoint_pair(seed, d):
    first, second, contact = touching_at(np.random.default_rng(seed), d, 0.1)
    assert first.contains(contact[np.newaxis]).all()
    assert second.contains(contact[np.newaxis]).all()
    # Just beyond the slack that `contains` grants, the rows across the gap are the ones that could lie in both.
    first, apart = pulled_apart(first, second, 1.0 + 2e-9)
    rows = contact + np.linspace(0.0, 1.0, 21)[:, np.newaxis] * (apart.center - second.center)
    assert are_disjoint(first, apart)
    assert not (first.contains(rows) & apart.contains(rows)).any()


@given(SEEDS, st.integers(1, 10), st.floats(0.01, 1.0))
def test_overlap_ratio_is_the_ratio_of_volumes(seed, d, factor):
    rng = np.random.default_rng(seed)
    own = random_ellipsoid(rng, d, 1e-6)
    assert overlap_ratio(own.expanded(factor), own) == pytest.approx(factor**d, rel=1e-10)
    overlap = random_ellipsoid(rng, d, 1e-6)
    expected = math.exp(np.log(overlap.semi_axes).sum() - np.log(own.semi_axes).sum())
    assert overlap_ratio(overlap, own) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("question", [are_disjoint, overlap_ratio])
def test_ellipsoids_of_different_spaces_are_refused(question):
    with pytest.raises(ValueError, match="2 and 3 features"):
        question(Ellipsoid(np.zeros(2), np.eye(2)), Ellipsoid(np.zeros(3), np.eye(3)))
