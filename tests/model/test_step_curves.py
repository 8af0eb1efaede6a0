"""Curves looked up for all features together, against one feature at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sepc.model import weights as step_curves
from sepc.model.weights import curve_blocks

SEEDS = st.integers(0, 2**32 - 1)


def synchronized(scores, knots, levels, columns):
    summed = scores.copy()
    for own_knots, own_levels, column in zip(knots, levels, columns, strict=True):
        summed += own_levels[np.searchsorted(own_knots, column, side="right")]
    return summed


@given(SEEDS, st.lists(st.integers(0, 70), min_size=1, max_size=12), st.integers(1, 9), st.integers(1, 30))
def test_the_same_bits_as_one_feature_at_a_time(seed, n_knots, n_classes, block):
    rng = np.random.default_rng(seed)
    knots = [np.unique(rng.normal(size=n).round(1)) for n in n_knots]
    levels = [rng.normal(size=(len(own) + 1, n_classes)) for own in knots]
    columns, scores = rng.normal(size=(len(knots), 20)).round(1), rng.normal(size=(20, n_classes))
    columns[:, :2] = -np.inf, np.inf
    for own, column in zip(knots, columns, strict=True):
        column[2 : 2 + len(own)] = own[:18]
    before, step_curves.BLOCK_LEVELS = step_curves.BLOCK_LEVELS, block
    try:
        blocks = curve_blocks(np.array([len(own) for own in knots]), np.concatenate(knots), np.concatenate(levels))
    finally:
        step_curves.BLOCK_LEVELS = before
    found = scores
    for one in blocks:
        found = one.add_to(found, columns)
    np.testing.assert_array_equal(found, synchronized(scores, knots, levels, columns))


def test_features_without_knots_cost_no_more_for_one_that_has_many():
    n_knots = np.zeros(1000, dtype=np.int64)
    n_knots[7] = 5000
    blocks = curve_blocks(n_knots, np.arange(5000.0), np.zeros((6000, 2)))
    held = sum(group.levels.nbytes + sum(own.nbytes for own in group.tree) for own in blocks for group in own.groups)
    assert held < 4 * (5000 + 6000 * 2) * 8
