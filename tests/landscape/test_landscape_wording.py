"""What a landscape says in words."""

import numpy as np
from sklearn.datasets import load_iris, make_blobs, make_moons

from sepc import Landscape
from sepc.wording import percent


def test_two_classes_that_overlap():
    X, y = make_moons(300, noise=0.15, random_state=0)
    landscape = Landscape(X, np.where(y == 0, "up", "down"))
    told = landscape.figures
    (overlap,) = told.overlaps
    words = landscape.summary()
    assert words.startswith("300 rows of 2 classes: 'down' (150) and 'up' (150). Their ellipsoids overlap: ")
    assert f"{overlap.n_first} rows of 'down' ({percent(overlap.n_first / 150)})" in words
    assert f"{percent(overlap.ratio_second)} of the volume of 'up'" in words
    assert f"A partition of all rows ({told.n_ellipsoids} ellipsoids, {told.n_regions} regions) leaves" in words
    assert f"leaves {percent(told.mixed_share)} of the rows in regions with several labels" in words


def test_two_classes_apart():
    X, y = make_blobs(200, centers=[[0, 0], [30, 0]], random_state=0)
    assert Landscape(X, y).summary() == (
        "200 rows of 2 classes: '0' (100) and '1' (100). Their ellipsoids are disjoint. "
        "A partition of all rows (2 ellipsoids, 2 regions) has no region with more than one label."
    )


def test_ellipsoids_that_overlap_without_a_row_in_both():
    square = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    words = Landscape(np.concatenate([square, square + [2.2, 0.0]]), [0] * 4 + [1] * 4).summary()
    assert "Their ellipsoids overlap, but no row lies in both." in words


def test_three_classes_name_the_pair_with_the_most_rows():
    words = Landscape(*load_iris(return_X_y=True)).summary()
    assert (
        "Of 3 pairs of class ellipsoids, 2 are disjoint. The pair with the most rows in both: 3 rows of '1' (6 %)"
        in words
    )


def test_many_classes_are_counted_not_listed():
    X, y = make_blobs(160, centers=8, random_state=0)
    assert Landscape(X, y).summary().startswith("160 rows of 8 classes. Of 28 pairs of class ellipsoids, ")


def test_a_sample_is_called_a_sample():
    X, y = make_moons(1000, noise=0.15, random_state=0)
    words = Landscape(X, y, fit_rows=300).summary()
    assert "A partition of a sample of 300 rows" in words
    assert "Another sample may give other figures." in words
    assert "of the rows lie in no ellipsoid." in words
