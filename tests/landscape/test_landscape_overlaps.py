"""Ellipsoids of classes and their overlaps, against plain counting and known shapes."""

import numpy as np
import pytest
from cases import in_ball

from sepc import Landscape


def balls(*centers, n=4000, radius=1.0):
    rng = np.random.default_rng(0)
    return [np.asarray(center) + radius * in_ball(rng, n, 2) for center in centers]


def overlaps(of_class):
    labels = np.repeat(range(len(of_class)), [len(rows) for rows in of_class])
    landscape = Landscape(np.concatenate(of_class), labels, fit_rows=50)
    return landscape.figures.ellipsoids, landscape.figures.overlaps


def test_every_pair_is_there_in_order():
    _, found = overlaps(balls((0, 0), (1, 0), (9, 9)))
    assert [(one.first, one.second) for one in found] == [(0, 1), (0, 2), (1, 2)]
    assert [one.disjoint for one in found] == [False, True, True]
    assert (found[1].n_first, found[1].n_second, found[1].ratio_first, found[1].ratio_second) == (0, 0, 0.0, 0.0)


def test_rows_in_both_are_counted_one_by_one():
    of_class = balls((0, 0), (0.7, 0.3))
    ellipsoids, (found,) = overlaps(of_class)
    inside = [np.all([one.contains(rows) for one in ellipsoids], axis=0).sum() for rows in of_class]
    assert [found.n_first, found.n_second] == inside
    assert 0 < found.n_first < 4000


def test_ratio_of_a_small_ball_in_a_large_one_is_that_of_their_areas():
    large, small = balls((0, 0), n=200_000)[0], balls((0.2, 0.1), radius=0.5)[0]
    _, (found,) = overlaps([large, small])
    assert found.n_second == 4000
    assert found.ratio_first == pytest.approx(0.25, rel=0.01)
    assert found.ratio_second == pytest.approx(1.0, rel=0.01)


def test_ratio_of_two_like_balls_is_that_of_the_ellipse_around_their_lens():
    _, (found,) = overlaps(balls((0, 0), (1, 0), n=200_000))
    # The lens lies in 0 <= x <= 1, |y| <= sqrt(3) / 2; by symmetry the ellipse has semi-axes a and b in these
    # directions, and the smallest through (0, sqrt(3) / 2) and (1 / 2, 0), from the middle of the lens, is this one.
    lens = np.array([[np.cos(t) - 0.5, np.sin(t)] for t in np.linspace(-np.pi / 3, np.pi / 3, 2001)])
    b = np.linspace(np.sqrt(0.75), 2.0, 5001)
    a = np.sqrt((lens[:, :1] ** 2 / np.maximum(1 - lens[:, 1:] ** 2 / b**2, 1e-12)).max(axis=0))
    assert found.ratio_first == pytest.approx((a * b).min(), rel=0.02)
    assert found.ratio_second == pytest.approx((a * b).min(), rel=0.02)


def test_too_few_rows_in_both_give_ratio_zero():
    one, other = balls((0, 0), (5, 0), n=50)
    one = np.concatenate([one, [[2.9, 0.0]]])
    other = np.concatenate([other, [[2.1, 0.0]]])
    _, (found,) = overlaps([one, other])
    assert not found.disjoint
    assert 0 < found.n_first + found.n_second <= 2
    assert (found.ratio_first, found.ratio_second) == (0.0, 0.0)
