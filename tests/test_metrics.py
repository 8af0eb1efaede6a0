import itertools

import numpy as np
import pytest

from sepc.metrics import aurc


def naive(correct, trust):
    order = np.argsort(-np.asarray(trust), kind="stable")
    wrong = ~np.asarray(correct)[order]
    return np.mean(np.cumsum(wrong) / np.arange(1, len(wrong) + 1))


def test_aurc_by_hand():
    assert aurc([False, True, True], [3, 2, 1]) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert aurc([True, True], [1, 2]) == 0


def test_ties_are_the_mean_over_all_orders():
    correct, trust = np.array([True, False, True, False, True]), np.array([2.0, 1.0, 1.0, 1.0, 0.0])
    orders = [naive(correct[list(p)], trust[list(p)]) for p in itertools.permutations(range(5))]
    assert aurc(correct, trust) == pytest.approx(np.mean(orders))


def test_refuses_lists_of_two_lengths():
    with pytest.raises(ValueError, match="one length"):
        aurc([True], [1.0, 2.0])
