"""The mean of the farthest rows, found by counting."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sepc.points.in_memory import ArrayPoints, BlockPoints
from sepc.points.pass_log import CountedPoints
from sepc.points.tail_mean import tail_mean

# Six refinements of 12 bits each, and the pass that averages.
MOST_PASSES = 7

SIZES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, 1e300, -1e300, 1e-300, -1e-300, 1.0 + 2**-52])


def exact_tail_mean(rows, values, k):
    """The definition, in rational numbers: sort, take k, share the boundary."""
    threshold = sorted(values, reverse=True)[k - 1]
    beyond = [row for row, value in zip(rows, values, strict=True) if value > threshold]
    tied = [row for row, value in zip(rows, values, strict=True) if value == threshold]
    weight = Fraction(k - len(beyond), len(tied))
    sums = [
        sum((Fraction(row[j]) for row in beyond), Fraction(0)) + weight * sum(Fraction(row[j]) for row in tied)
        for j in range(rows.shape[1])
    ]
    return np.array([float(total / k) for total in sums])


@st.composite
def rows_and_k(draw, elements):
    rows = draw(arrays(np.float64, (draw(st.integers(1, 12)), 2), elements=elements))
    return rows, draw(st.integers(1, len(rows)))


@given(rows_and_k(SIZES | st.floats(-1e300, 1e300)), st.lists(st.integers(0, 12), max_size=4))
def test_tail_mean_is_exact_at_any_size(case, cuts):
    rows, k = case
    points = CountedPoints(BlockPoints(np.split(rows, sorted(min(c, len(rows)) for c in cuts))))
    mean = tail_mean(points, np.array([4.0, 0.0]), k)
    # Joining averages of opposite sign cancels: the error is relative to the largest entry of the column.
    error = np.abs(mean - exact_tail_mean(rows, rows[:, 0].tolist(), k))
    assert (error <= 1e-14 * np.abs(rows).max(axis=0)).all()
    assert points.log.n_passes <= MOST_PASSES


@given(rows_and_k(st.integers(-2, 2).map(float)), st.lists(st.integers(0, 12), max_size=4), st.integers(0, 99))
def test_any_blocking_gives_the_same_tail(case, cuts, seed):
    rows, k = case
    direction, origin = np.random.default_rng(seed).normal(size=(2, 2))
    whole = tail_mean(ArrayPoints(rows), direction, k, origin)
    blocks = BlockPoints(np.split(rows, sorted(min(c, len(rows)) for c in cuts)))
    np.testing.assert_allclose(tail_mean(blocks, direction, k, origin), whole, rtol=0, atol=1e-14)
    values = (rows - origin) @ direction
    assert (whole - origin) @ direction == pytest.approx(np.sort(values)[-k:].mean(), abs=1e-13)


@pytest.mark.parametrize("k", [1, 4, 999, 1000])
def test_rows_that_are_all_equal_give_that_row(k):
    row = np.array([0.1, -1e300, 3e-300])
    points = CountedPoints(BlockPoints([np.tile(row, (300, 1)), np.tile(row, (700, 1))]))
    assert (tail_mean(points, np.array([1.0, 2.0, -1.0]), k) == row).all()
    assert points.log.n_passes == 2


def test_a_direction_of_any_length_gives_the_same_bits():
    rows = np.random.default_rng(3).normal(size=(500, 3))
    direction = np.array([0.3, -0.7, 0.2])
    mean = tail_mean(ArrayPoints(rows), direction, 50)
    farthest = rows[np.argsort(-rows @ direction)[:50]]
    np.testing.assert_allclose(mean, farthest.mean(axis=0), rtol=0, atol=1e-14)
    for length in (2.0**-900, 2.0**900):
        assert (tail_mean(ArrayPoints(rows), direction * length, 50) == mean).all()


def test_a_long_direction_does_not_make_huge_rows_tie():
    rows = np.array([[1e300, 0.0], [2e300, 1.0], [-2e300, 2.0]])
    assert tail_mean(ArrayPoints(rows), np.array([2.0**900, 0.0]), 1).tolist() == [2e300, 1.0]


def test_a_bin_that_is_taken_whole_is_not_refined():
    rows = np.random.default_rng(6).normal(size=(1000, 2))
    points = CountedPoints(ArrayPoints(rows))
    np.testing.assert_allclose(tail_mean(points, np.ones(2), 1000), rows.mean(axis=0), rtol=0, atol=1e-13)
    assert points.log.n_passes == 2


def test_all_rows_tie_along_zero():
    rows = np.array([[0.0], [1.0], [5.0]])
    assert tail_mean(ArrayPoints(rows), np.zeros(1), 1) == pytest.approx(2.0)


def test_neighbouring_floats_are_told_apart():
    rows = np.array([[1.0, 0.0], [np.nextafter(1.0, 2.0), 1.0], [-1e300, 7.0], [1e-300, 9.0]])
    points = CountedPoints(ArrayPoints(rows))
    assert tail_mean(points, np.array([1.0, 0.0]), 1)[1] == 1.0
    assert points.log.n_passes <= MOST_PASSES


def test_many_rows_take_four_passes():
    rows = np.random.default_rng(4).normal(size=(100_000, 3))
    points = CountedPoints(ArrayPoints(rows))
    direction = np.array([1.0, 2.0, 3.0])
    expected = rows[np.argsort(-(rows @ direction))[:1000]].mean(axis=0)
    np.testing.assert_allclose(tail_mean(points, direction, 1000), expected, rtol=0, atol=1e-13)
    assert points.log.n_passes <= 4


@pytest.mark.parametrize("k", [0, 4])
def test_k_must_be_a_number_of_rows(k):
    with pytest.raises(ValueError, match=f"k={k} rows, but the set has 3"):
        tail_mean(ArrayPoints(np.zeros((3, 1))), np.ones(1), k)
