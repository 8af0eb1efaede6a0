"""The first columns of a set answer every question as an array of these columns does."""

import numpy as np
import pytest
from same_model import draw

from sepc.geometry import ArrayPoints, BlockPoints
from sepc.points.in_memory import ChosenColumns, first_columns
from sepc.points.reductions import ColumnRange, Moments

N, D = 300, 3


class Right:
    """Rows whose first column is positive; no row may have more than `D` columns."""

    def contains(self, rows):
        assert rows.shape[1] == D
        return rows[:, 0] > 0


@pytest.fixture
def rows():
    return draw(N, D + 2)[0]


@pytest.fixture
def cut(rows):
    return first_columns(BlockPoints(np.split(rows, [100, 100, 170])), D)


def test_a_set_without_other_columns_stays_itself(rows):
    points = BlockPoints([rows])
    assert first_columns(points, D + 2) is points
    assert isinstance(first_columns(ArrayPoints(rows), D), ArrayPoints)


def test_every_question_is_about_the_first_columns(cut, rows):
    plain = ArrayPoints(rows[:, :D])
    assert isinstance(cut, ChosenColumns)
    assert (cut.n_points, cut.n_features) == (N, D)
    np.testing.assert_array_equal(cut.gather(N), plain.rows)
    np.testing.assert_array_equal(cut.reduce(ColumnRange()), plain.reduce(ColumnRange()))
    np.testing.assert_allclose(cut.reduce(Moments()).scatter, plain.reduce(Moments()).scatter)
    np.testing.assert_array_equal(cut.sample(0.3, 1).gather(N), plain.sample(0.3, 1).rows)
    shift, scale = np.arange(3.0), np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(cut.rescaled(shift, scale).gather(N), plain.rescaled(shift, scale).rows)


def test_parts_are_cut_too_and_can_be_joined(cut, rows):
    inside, outside = cut.split(Right())
    right = rows[:, 0] > 0
    np.testing.assert_array_equal(inside.gather(N), rows[right, :D])
    joined = outside.union(inside)
    np.testing.assert_array_equal(joined.gather(N), np.concatenate([rows[~right, :D], rows[right, :D]]))
    with pytest.raises(TypeError, match="ArrayPoints"):
        cut.union(ArrayPoints(rows[:, :D]))
    with pytest.raises(ValueError, match="300 rows"):
        cut.gather(10)
