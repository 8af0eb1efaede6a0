"""Planes to draw in: shadows are exact, units do not matter, and labels are apart, by brute force."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from sepc import SEPClassifier
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.views.planes import (
    best_plane,
    feature_plane,
    half_widths,
    most_separating_features,
    most_separating_pair,
    outline,
)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, SEPClassifier().fit(X, y)


def test_a_feature_plane_shows_features_as_they_are():
    plane = feature_plane(["a", "b", "c"], ("c", 0))
    assert plane.names == ("c", "a")
    np.testing.assert_array_equal(plane.place([[1, 2, 3], [4, 5, 6]]), [[3, 1], [6, 4]])
    assert feature_plane(["a", "a", "b"], (1, 2)).names == ("a", "b")


@pytest.mark.parametrize(
    ("features", "told"),
    [
        (("a", "a"), "twice"),
        (("a", "textur"), "'texture'"),
        (("a", 5), "0 to 4"),
        (("a",), "pair"),
        ("ab", "pair"),
        (("a", "same"), "2 features"),
    ],
)
def test_features_that_cannot_be_drawn(features, told):
    with pytest.raises(ValueError, match=told):
        feature_plane(["a", "b", "texture", "same", "same"], features)


def test_a_shadow_touches_just_what_the_ellipsoid_reaches(iris):
    _, classifier = iris
    rng = np.random.default_rng(0)
    for plane in (feature_plane(list("abcd"), (2, 1)), best_plane(classifier.model_)):
        for one in classifier.ellipsoids_:
            shadow = plane.shadow(one.ellipsoid)
            directions = rng.standard_normal((2_000, 4))
            ball = directions / np.linalg.norm(directions, axis=1, keepdims=True)
            surface = one.ellipsoid.center + ball @ one.ellipsoid.inverse_root.T
            gauges = shadow.gauge(plane.place(surface))
            assert gauges.max() <= 1 + 1e-7
            assert gauges.max() > 0.98


def test_planes_of_odd_models():
    """With isolated rows alone, or of a single feature."""
    X = np.arange(12.0).reshape(4, 3) ** 2
    X[0, 0] = 5.0
    model = SEPClassifier().fit(X, [0, 1, 0, 1]).model_
    assert model.n_ellipsoids == 0
    assert len(set(best_plane(model).names)) == 2
    with pytest.raises(ValueError, match="'x0'"):
        best_plane(SEPClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).model_)


def test_outlines_are_closed_and_on_the_boundary():
    ellipse = Ellipsoid(np.array([1.0, -2.0]), np.array([[0.5, 0.1], [0.0, 2.0]]))
    points = outline(ellipse, 50)
    assert points.shape == (50, 2)
    np.testing.assert_allclose(points[0], points[-1])
    np.testing.assert_allclose(ellipse.gauge(points), 1)


def test_features_in_which_ellipsoids_are_apart_come_first():
    one = Ellipsoid(np.zeros(3), np.diag([1.0, 1e-3, 1.0]))
    other = Ellipsoid(np.array([0.5, 100.0, 3.0]), np.diag([1.0, 1e-3, 1.0]))
    np.testing.assert_array_equal(most_separating_features([one, other]), [2, 0, 1])
    np.testing.assert_allclose(half_widths(one), [1, 1e3, 1])


def separation(rows, labels):
    """The trace of the scatter between labels, in units of the one within."""
    centered = rows - rows.mean(axis=0)
    between = within = np.zeros((2, 2))
    for label in np.unique(labels):
        own = centered[labels == label]
        between = between + len(own) * np.outer(own.mean(axis=0), own.mean(axis=0))
        within = within + (own - own.mean(axis=0)).T @ (own - own.mean(axis=0))
    return np.trace(np.linalg.solve(within, between))


@pytest.mark.parametrize("seed", range(5))
def test_no_pair_of_features_separates_better(seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, 200)
    rows = random.normal(size=(200, 6)) @ random.normal(size=(6, 6)) + np.outer(labels, random.normal(size=6))
    best = max(combinations(range(6), 2), key=lambda pair: separation(rows[:, pair], labels))
    assert set(most_separating_pair(rows, labels)) == set(best)


def test_constant_and_equal_features_are_harmless():
    rows = np.column_stack([np.arange(20.0), np.arange(20.0), np.ones(20), np.arange(20.0) % 3])
    first, second = most_separating_pair(rows, np.arange(20) > 9)
    assert first in (0, 1)
    assert second != first


def test_a_model_is_drawn_in_the_features_in_which_its_classes_are_apart():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 100)
    rows = random.normal(size=(300, 5))
    rows[:, 3] += 4.0 * (labels == 1)
    rows[:, 1] += 4.0 * (labels == 2)
    rows[:, 4] = rows[:, 3] + 0.05 * random.normal(size=300)
    names = best_plane(SEPClassifier().fit(rows, labels).model_).names
    assert "x1" in names
    assert {"x3", "x4"} & set(names)
