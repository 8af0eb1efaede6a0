"""Passes are counted once each, across all sets made from the first."""

import numpy as np
import pytest

from sepc.points.in_memory import ArrayPoints, BlockPoints
from sepc.points.pass_log import CountedPoints
from sepc.points.protocol import PointSet
from sepc.points.reductions import ColumnRange, Moments
from sepc.shapes.ellipsoid import Ellipsoid

UNIT_BALL = Ellipsoid(np.zeros(1), np.eye(1))


def test_every_pass_and_row_read_is_counted():
    points = CountedPoints(BlockPoints([np.array([[0.0], [5.0]]), np.array([[1.0], [7.0], [9.0]])]))
    assert isinstance(points, PointSet)
    inside, outside = points.split(UNIT_BALL)
    assert inside.reduce(Moments()).n == 2
    outside.reduce(ColumnRange())
    outside.reduce(ColumnRange())
    assert outside.gather(3).tolist() == [[5.0], [7.0], [9.0]]
    assert outside.sample(1.0, 0).n_points == 3
    assert dict(points.log.passes) == {"split": 1, "Moments": 1, "ColumnRange": 2, "gather": 1, "sample": 1}
    assert points.log.n_passes == 6
    assert points.log.n_rows == 5 + 2 + 3 + 3 + 3 + 3


def test_union_is_no_pass_and_takes_counted_and_plain_sets():
    points = CountedPoints(ArrayPoints(np.array([[0.0]])))
    joined = points.union(CountedPoints(ArrayPoints(np.array([[1.0]])))).union(ArrayPoints(np.array([[2.0]])))
    assert (joined.n_points, joined.n_features) == (3, 1)
    assert points.log.n_passes == 0
    assert joined.gather(3).ravel().tolist() == [0.0, 1.0, 2.0]
    assert points.log.n_passes == 1


def test_a_refused_gather_is_no_pass():
    points = CountedPoints(ArrayPoints(np.zeros((2, 1))))
    with pytest.raises(ValueError, match="the limit is 1"):
        points.gather(1)
    assert points.log.n_passes == 0
