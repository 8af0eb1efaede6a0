"""Extreme programs for the interior-point method; `test_project_related.py` compares usual ones with Clarabel."""

import numpy as np
import pytest

from sepc.kernels.cone_program import ConeProgram

NO_BALL = (np.empty((0, 2)), np.empty(0))


@pytest.mark.parametrize("curvature", [0.0, 1e-12])
def test_flat_function_without_constraints_ends_and_is_not_called_accurate(curvature):
    flat = np.diag([1.0, curvature])
    program = ConeProgram(flat, np.array([1.0, 1.0]), np.empty((0, 2)), np.empty(0), *NO_BALL)
    assert not program.solve().is_accurate


def test_without_constraints_the_minimum_is_that_of_the_quadratic_function():
    program = ConeProgram(np.diag([2.0, 4.0]), np.array([-2.0, 4.0]), np.empty((0, 2)), np.empty(0), *NO_BALL)
    solution = program.solve()
    assert solution.is_accurate
    np.testing.assert_allclose(solution.point, [1.0, -1.0], rtol=1e-9)


def test_constraints_that_contradict_each_other_end_and_are_not_called_accurate():
    rows, ends = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0])
    assert not ConeProgram(np.eye(2), np.zeros(2), rows, ends, *NO_BALL).solve().is_accurate
