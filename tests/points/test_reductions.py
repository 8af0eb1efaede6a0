"""Every reduction agrees with plain NumPy, and any blocking gives the same answer."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sepc.geometry import Ellipsoid
from sepc.model.counts import Signatures
from sepc.points.in_memory import ArrayPoints
from sepc.points.reductions import ColumnRange, Moments, combine_in_order
from sepc.points.tiles import project
from sepc.shapes.ellipsoid import BOUNDARY_SLACK


@dataclass(frozen=True)
class InBlocks:
    """Rows that are summarised block by block."""

    blocks: list

    def reduce(self, reduction):
        return reduction.finish(combine_in_order(reduction.combine, map(reduction.map, self.blocks)))


# Few distinct values make ties, zeros and repeated rows common.
CELLS = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.1, 0.3, 1.0, 1e3]) | st.floats(-1e3, 1e3)


@st.composite
def blocked_rows(draw):
    """Rows, and the same in blocks."""
    n, d = draw(st.integers(0, 12)), draw(st.integers(1, 3))
    rows = draw(arrays(np.float64, (n, d), elements=CELLS))
    return rows, InBlocks(np.split(rows, sorted(draw(st.lists(st.integers(0, n), max_size=5)))))


@given(blocked_rows())
def test_moments_of_any_blocking(case):
    rows, points = case
    spread = points.reduce(Moments())
    assert spread.n == len(rows)
    mean = rows.mean(axis=0) if len(rows) else np.zeros(rows.shape[1])
    np.testing.assert_allclose(spread.mean, mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(spread.scatter, (rows - mean).T @ (rows - mean), rtol=1e-9, atol=1e-9)


@given(blocked_rows())
def test_ranges_of_any_blocking(case):
    rows, points = case
    lowest, highest = points.reduce(ColumnRange())
    assert (lowest == rows.min(axis=0, initial=np.inf)).all()
    assert (highest == rows.max(axis=0, initial=-np.inf)).all()


@pytest.mark.parametrize("n_balls", [0, 2, 52, 53])
@given(case=blocked_rows())
def test_signatures_of_any_blocking(n_balls, case):
    rows, points = case
    d = rows.shape[1]
    balls = [Ellipsoid(np.full(d, (k % 7) / 5 - 0.5), np.eye(d) * (1 + k % 3)) for k in range(n_balls)]
    signatures = points.reduce(Signatures.of(balls, d, BOUNDARY_SLACK))
    inside = np.array([ball.contains(rows) for ball in balls], dtype=bool).reshape(n_balls, len(rows)).T
    counted = dict(zip(map(tuple, signatures.memberships.tolist()), signatures.counts.tolist(), strict=True))
    assert counted == Counter(map(tuple, inside.tolist()))
    assert signatures.memberships.shape == (len(counted), n_balls)


def test_reductions_join_tiles_of_one_block():
    rows = np.random.default_rng(0).normal(size=(20_000, 3))
    points = ArrayPoints(rows)
    spread = points.reduce(Moments())
    np.testing.assert_allclose(spread.mean, rows.mean(axis=0), rtol=0, atol=1e-14)
    np.testing.assert_allclose(spread.scatter, np.cov(rows.T) * (len(rows) - 1), rtol=1e-12, atol=1e-9)
    lowest, highest = points.reduce(ColumnRange())
    assert (lowest == rows.min(axis=0)).all()
    assert (highest == rows.max(axis=0)).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_keep_their_digits_far_from_zero(order):
    rng = np.random.default_rng(1)
    # Multiples of 2**-10 are exact after the shift, so the scatter of the shifted rows must be that of the rows.
    near = np.round(rng.normal(size=(20_000, 4)) * 1024) / 1024
    far = np.array(near + 1e9, order=order)
    exact, spread = near - near.mean(axis=0), ArrayPoints(far).reduce(Moments())
    np.testing.assert_allclose(spread.scatter, exact.T @ exact, rtol=1e-9, atol=1e-6)
    moved = ArrayPoints(far).reduce(Moments(origin=np.full(4, 1e9)))
    np.testing.assert_allclose(moved.mean, near.mean(axis=0), rtol=0, atol=1e-14)


def test_moments_of_mapped_rows_are_those_of_the_mapped_array():
    rng = np.random.default_rng(2)
    rows, origin, matrix = rng.normal(size=(9000, 3)) + 5, rng.normal(size=3), rng.normal(size=(3, 2))
    spread = InBlocks(np.array_split(rows, 3)).reduce(Moments(origin, matrix))
    mapped = (rows - origin) @ matrix
    np.testing.assert_allclose(spread.mean, mapped.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(spread.scatter, np.cov(mapped.T) * 8999, rtol=1e-12)


def test_rows_closer_to_each_other_than_their_mean_is_rounded_keep_their_rank():
    corners = 1e6 + np.array([[0, 0], [3, 0], [0, 5], [0, 0]]) * np.spacing(1e6)
    scatter = ArrayPoints(corners[[0, 1, 1, 0, 1, 1, 1]]).reduce(Moments()).scatter
    assert scatter[1, 1] == 0
    assert scatter[0, 0] == pytest.approx(9 * np.spacing(1e6) ** 2 * 10 / 7, rel=1e-12)


def test_the_mean_of_the_largest_numbers_is_finite_and_what_leaves_the_range_shows_without_a_warning():
    rows = np.full((3, 1), np.finfo(np.float64).max)
    assert ArrayPoints(rows).reduce(Moments()).mean == pytest.approx(rows[0])
    for size in (1e300, 1e-300):
        near = np.random.default_rng(2).normal(size=(5000, 2))
        scatter = InBlocks(np.array_split(near * size, 3)).reduce(Moments()).scatter
        assert not np.isfinite(scatter).all() or (scatter == 0).all()


@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 30])
def test_a_row_projects_to_the_same_bits_in_any_block(d):
    rng = np.random.default_rng(d)
    rows, direction, origin = rng.normal(size=(200, d)), rng.normal(size=d), rng.normal(size=d)
    alone = [float(project(row[None], direction, origin)[0]) for row in rows]
    np.testing.assert_allclose(alone, (rows - origin) @ direction, rtol=0, atol=1e-13)
    assert project(rows, direction, origin).tolist() == alone
    assert project(np.asfortranarray(rows), direction, origin).tolist() == alone
    assert project(rows[::-1], direction, origin).tolist() == alone[::-1]
