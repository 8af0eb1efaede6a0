"""Half-spaces: closed under every way of rounding a product, and no wider than that."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sepc.shapes.ellipsoid import TILE_ROWS, HalfSpaces

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(1, 40), st.floats(0, 9), st.booleans())
def test_a_row_that_fixed_the_offset_is_contained_however_the_offset_was_summed(seed, d, exponent, inward):
    rng = np.random.default_rng(seed)
    sign = 1.0 if inward else -1.0
    rows = 10.0**exponent + rng.normal(size=(20, d))
    normal = rng.normal(size=d)
    for row in rows:
        products = sign * normal * row
        for offset in (math.fsum(products), sum(products), sum(products[::-1]), sign * normal @ row):
            assert HalfSpaces(sign * normal[np.newaxis], np.array([offset])).contains(rows)[rows[:, 0] == row[0]].all()


@given(SEEDS, st.integers(1, 40))
def test_a_row_short_of_the_offset_by_more_than_rounding_is_outside(seed, d):
    rng = np.random.default_rng(seed)
    row, normal = rng.normal(size=(1, d)), rng.normal(size=(1, d))
    magnitude = float((np.abs(row) @ np.abs(normal).T).item())
    short = HalfSpaces(normal, (normal @ row.T)[0] + 1e-12 * magnitude)
    assert not short.contains(row).any()


def test_a_spread_of_one_is_still_cut_at_an_offset_of_a_billion():
    cut = HalfSpaces(np.array([[1.0, -1.0]]), np.array([0.0]))
    rows = 1e9 + np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1e-4]])
    assert cut.contains(rows).tolist() == [True, True, False]


@given(SEEDS, st.integers(1, 6), st.data())
def test_membership_does_not_see_the_units_of_a_feature(seed, d, data):
    rng = np.random.default_rng(seed)
    units = 2.0 ** data.draw(arrays(np.int64, d, elements=st.integers(-20, 20)))
    normals, rows = rng.normal(size=(2, d)), rng.normal(size=(50, d))
    # Offsets that two of the rows meet up to rounding: there the answer hangs on the tolerance.
    offsets = np.einsum("ij,ij->i", normals, rows[:2]) * (1.0 + 2.0**-52)
    plain = HalfSpaces(normals, offsets).contains(rows)
    assert np.array_equal(HalfSpaces(normals / units, offsets).contains(rows * units), plain)


@given(SEEDS, st.integers(0, 3), st.integers(0, 3))
def test_and_also_is_the_intersection(seed, m, k):
    rng = np.random.default_rng(seed)
    first = HalfSpaces(rng.normal(size=(m, 3)), rng.normal(size=m))
    second = HalfSpaces(rng.normal(size=(k, 3)), rng.normal(size=k))
    rows = rng.normal(size=(2 * TILE_ROWS + 5, 3))
    both = first.and_also(second)
    assert both.normals.shape == (m + k, 3)
    inside = both.contains(rows)
    assert np.array_equal(inside, first.contains(rows) & second.contains(rows))
    assert np.array_equal(inside, (rows @ both.normals.T >= both.offsets).all(axis=1))


@pytest.mark.parametrize(
    ("word", "make"),
    [
        ("shape", lambda: HalfSpaces(np.ones(2), np.ones(1))),
        ("shape", lambda: HalfSpaces(np.ones((2, 2)), np.ones(3))),
        ("shape", lambda: HalfSpaces(np.ones((2, 2)), np.ones((2, 1)))),
        ("finite", lambda: HalfSpaces(np.array([[np.nan, 1.0]]), np.ones(1))),
        ("finite", lambda: HalfSpaces(np.ones((1, 2)), np.array([np.inf]))),
        (r"\(n, 2\)", lambda: HalfSpaces(np.ones((1, 2)), np.ones(1)).contains(np.zeros(2))),
        (r"\(n, 2\)", lambda: HalfSpaces(np.ones((1, 2)), np.ones(1)).contains(np.zeros((4, 3)))),
    ],
)
def test_what_is_no_set_of_half_spaces_is_refused(word, make):
    with pytest.raises(ValueError, match=word):
        make()


def test_half_spaces_do_not_change_with_the_arrays_they_were_built_from():
    normals, offsets = np.array([[1.0, 0.0]]), np.array([0.0])
    right = HalfSpaces(normals, offsets)
    normals[:], offsets[:] = -1.0, 5.0
    assert right.contains(np.array([[1.0, 0.0]])).all()
    for kept in (right.normals, right.offsets):
        with pytest.raises(ValueError, match="read-only"):
            kept[...] = 0.0
