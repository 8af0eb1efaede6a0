"""Regions and what cannot be told apart, from tables small enough to count by hand."""

import numpy as np
import pytest

from sepc import Landscape
from sepc.landscape.landscape import partition_figures
from sepc.model.counts import SignatureTable

SETS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0]], dtype=bool)
COUNTS = np.array([[3, 2], [60, 0], [4, 0], [0, 20], [6, 3], [2, 0]])


def test_regions_and_mixed_ones_are_counted():
    told = partition_figures(SignatureTable(SETS, COUNTS))
    assert (told["n_regions"], told["n_mixed"]) == (5, 1)
    assert [told["outside_share"], told["mixed_share"], told["outvoted_share"]] == pytest.approx([0.05, 0.09, 0.03])


def test_classes_far_apart_have_nothing_mixed_and_labels_at_random_much():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    apart = Landscape(X + 20.0 * y[:, None], y).figures
    assert (apart.n_ellipsoids, apart.mixed_share, apart.outvoted_share) == (2, 0.0, 0.0)
    at_random = Landscape(X, y, n_impure=0.8).figures
    assert at_random.mixed_share > 0.8
    assert at_random.outvoted_share > 0.2
