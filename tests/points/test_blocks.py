"""Rows in blocks: the answers of one array, whatever the blocks, and only one of them is held at a time."""

import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from same_model import in_blocks

from sepc.geometry import Ellipsoid
from sepc.model.counts import Signatures
from sepc.points.blocks import Block, BlockLabels, LabelledBlocks
from sepc.points.in_memory import ArrayPoints, ClassArrays, TransformedPoints
from sepc.points.proportional_sample import HIGHEST_HASH, RowCounts
from sepc.points.reductions import AllRows, ColumnRange, JointReduction, Moments, combine_in_order

CELLS = st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(-10, 10)
CIRCLES = Signatures.of((Ellipsoid(np.zeros(2), np.eye(2)), Ellipsoid(np.ones(2), np.eye(2) / 3)), 2, 0.0)


@st.composite
def array_and_blocks(draw):
    """Rows with labels, and the same in blocks, some of them empty or of one class."""
    n = draw(st.integers(1, 12))
    rows, labels = (
        draw(arrays(np.float64, (n, 2), elements=CELLS)),
        draw(arrays(np.int64, n, elements=st.integers(0, 2))),
    )
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=5)))
    return rows, labels, in_blocks(np.split(rows, cuts), np.split(labels, cuts))


def check(answer, expected):
    np.testing.assert_array_equal(answer[0], expected[0])
    np.testing.assert_array_equal(answer[1], expected[1])
    np.testing.assert_allclose(answer[2].mean, expected[2].mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(answer[2].scatter, expected[2].scatter, rtol=1e-12, atol=1e-10)
    np.testing.assert_array_equal(answer[3].memberships, expected[3].memberships)
    np.testing.assert_array_equal(answer[3].counts, expected[3].counts)
    np.testing.assert_array_equal(answer[4].held.counts, expected[4].held.counts)
    np.testing.assert_array_equal(answer[4].held.rows, expected[4].held.rows)


@given(array_and_blocks())
def test_any_blocking_gives_the_answers_of_the_array(case):
    rows, labels, blocks = case
    joint = JointReduction((AllRows(), ColumnRange(), Moments(), CIRCLES, RowCounts(0, HIGHEST_HASH)))
    classes = np.unique(labels)
    assert (blocks.labels.tolist(), blocks.n_columns) == (classes.tolist(), 2)
    assert blocks.sizes == [int((labels == label).sum()) for label in classes]
    check(blocks.reduce(joint), ArrayPoints(rows).reduce(joint))
    here = ClassArrays(tuple(ArrayPoints(rows[labels == label]) for label in classes))
    asked = dict.fromkeys(range(len(classes) - 1, -1, -2), joint)
    there = blocks.reduce_each(asked)
    assert [*there] == [*asked]
    for k, expected in here.reduce_each(asked).items():
        check(there[k], expected)
    for found, wanted in zip(blocks.gathered().arrays, here.arrays, strict=True):
        np.testing.assert_array_equal(found.rows, wanted.rows)


@given(array_and_blocks())
def test_rows_may_be_transformed_when_they_are_read(case):
    rows, _, blocks = case

    def halved(block):
        return block[:, :1] / 2

    for points in (ArrayPoints(rows), blocks):
        np.testing.assert_array_equal(TransformedPoints(points, halved).reduce(AllRows()), halved(rows))


class OneAtATime:
    """Blocks made when they are read; fails if an earlier one is still alive."""

    def map_blocks(self, function, combine):
        return combine_in_order(combine, map(function, self.made()))

    def made(self):
        last: weakref.ref | None = None
        for i in range(5):
            assert last is None or last() is None, "two blocks are in memory"
            rows = np.random.default_rng(i).normal(size=(50, 2)) + i
            last, block = weakref.ref(rows), Block(rows, BlockLabels.of(np.arange(50) % 2))
            del rows
            yield block
            del block


def test_one_block_at_a_time_is_in_memory():
    blocks = LabelledBlocks.of(OneAtATime())
    assert blocks.sizes == [125, 125]
    for reduction in (Moments(), ColumnRange(), CIRCLES):
        blocks.reduce(reduction)
        blocks.reduce_each({1: reduction, 0: reduction})


@pytest.mark.parametrize(
    ("n_blocks", "tree"), [(1, "0"), (2, "(01)"), (3, "((01)2)"), (4, "((01)(23))"), (7, "(((01)(23))((45)6))")]
)
def test_states_are_combined_in_order_in_a_fixed_tree(n_blocks, tree):
    assert combine_in_order(lambda left, right: f"({left}{right})", map(str, range(n_blocks))) == tree


def test_what_is_no_set_is_refused():
    with pytest.raises(ValueError, match=r"\(3,\)"):
        ArrayPoints(np.zeros(3))
    with pytest.raises(ValueError, match="2 and 3"):
        in_blocks([np.zeros((1, 2)), np.zeros((1, 3))], [["a"], ["b"]])
    with pytest.raises(ValueError, match="0 rows"):
        in_blocks([np.zeros((0, 2))], [[]])
    with pytest.raises(ValueError, match="cannot be compared"):
        BlockLabels.of(np.array([1, "a"], dtype=object))
