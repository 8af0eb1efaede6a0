"""Regions, small disjuncts and what cannot be told apart, from tables small enough to count by hand."""

import numpy as np
import pytest

from sepc import Landscape, SEPClassifier
from sepc.landscape.landscape import count_in, figures_of, rows_by_class
from sepc.model.counts import SignatureTable
from sepc.shapes.ellipsoid import Ellipsoid

# Ellipsoids 0 and 1 belong to the first class, 2 to the second.
OWNERS = np.array([0, 0, 1])
SETS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 0]], dtype=bool)
COUNTS = np.array([[3, 2], [60, 0], [4, 0], [0, 20], [6, 3], [2, 0]])


def test_regions_mixed_ones_and_small_disjuncts_are_counted():
    told, fewer, everything = (figures_of(SignatureTable(SETS, COUNTS), OWNERS, small) for small in (0.1, 0.08, 1.0))
    assert (told.n_regions, told.n_mixed) == (5, 1)
    assert [told.outside_share, told.mixed_share, told.outvoted_share] == pytest.approx([0.05, 0.09, 0.03])
    # Ellipsoid 1 holds 6 of 75 rows of the first class; 4 of them lie in no larger one of it.
    assert (told.n_small, fewer.n_small, everything.n_small) == (1, 0, 3)
    assert told.small_share == pytest.approx(0.04)
    assert everything.small_share == pytest.approx((60 + 4 + 20 + 6 + 3 + 2) / 100)


@pytest.mark.slow
def test_counting_in_one_product_is_counting_one_by_one():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 3)), rng.integers(3, size=3000)
    X[:, 0] += y
    rows = rows_by_class(X, y)
    model = SEPClassifier(max_ellipsoids=60).fit(X[:600], y[:600]).model_
    assert model.n_ellipsoids > 52, "more than one word of bits"
    ellipsoids = [Ellipsoid(c, root) for c, root in zip(model.centers, model.roots, strict=True)]
    found = count_in(model, rows)
    for c, own in enumerate(rows.of_class):
        inside = np.array([one.contains(model.standardize(own)) for one in ellipsoids]).T
        sets, counts = np.unique(inside, axis=0, return_counts=True)
        np.testing.assert_array_equal(found.memberships[found.counts[:, c] > 0], sets)
        np.testing.assert_array_equal(found.counts[found.counts[:, c] > 0, c], counts)


def test_classes_far_apart_have_nothing_mixed_and_labels_at_random_much():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), np.arange(400) % 2
    apart = Landscape(X + 20.0 * y[:, None], y).figures
    assert (apart.n_ellipsoids, apart.mixed_share, apart.outvoted_share) == (2, 0.0, 0.0)
    at_random = Landscape(X, y, n_impure=0.8).figures
    assert at_random.mixed_share > 0.8
    assert at_random.outvoted_share > 0.2
