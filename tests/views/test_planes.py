"""Planes to draw in: shadows are exact, and units do not matter."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from sepc import SEPClassifier
from sepc.geometry import Ellipsoid
from sepc.views.planes import feature_plane, half_widths, most_separating_features, outline, principal_plane


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, SEPClassifier().fit(X, y)


def test_a_feature_plane_shows_features_as_they_are():
    plane = feature_plane(["a", "b", "c"], ("c", 0))
    assert plane.names == ("c", "a")
    np.testing.assert_array_equal(plane.place([[1, 2, 3], [4, 5, 6]]), [[3, 1], [6, 4]])


@pytest.mark.parametrize(
    ("features", "told"),
    [
        (("a", "a"), "'a' twice"),
        (("a", "textur"), "did you mean one of 'texture'"),
        (("a", 3), "positions range from 0 to 2"),
        (("a",), "a pair"),
        ("ab", "a pair"),
    ],
)
def test_features_that_cannot_be_drawn(features, told):
    with pytest.raises(ValueError, match=told):
        feature_plane(["a", "b", "texture"], features)


def test_a_name_that_two_features_share_must_be_a_position():
    with pytest.raises(ValueError, match="2 features are called 'a'"):
        feature_plane(["a", "a", "b"], ("a", "b"))
    assert feature_plane(["a", "a", "b"], (1, 2)).names == ("a", "b")


def test_a_shadow_touches_just_what_the_ellipsoid_reaches(iris):
    _, classifier = iris
    rng = np.random.default_rng(0)
    for plane in (feature_plane(list("abcd"), (2, 1)), principal_plane(classifier.model_)):
        for one in classifier.ellipsoids_:
            shadow = plane.shadow(one.ellipsoid)
            directions = rng.standard_normal((2_000, 4))
            ball = directions / np.linalg.norm(directions, axis=1, keepdims=True)
            surface = one.ellipsoid.center + ball @ one.ellipsoid.inverse_root.T
            gauges = shadow.gauge(plane.place(surface))
            assert gauges.max() <= 1 + 1e-7
            assert gauges.max() > 0.98


def test_principal_axes_are_those_of_the_rows(iris):
    X, classifier = iris
    plane = principal_plane(classifier.model_)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    first = np.linalg.svd(standard, full_matrices=False)[2][0]
    own = plane.directions[0] * classifier.model_.scale
    assert abs(own @ first) > 0.98
    np.testing.assert_allclose(own @ own, 1)
    assert np.abs(plane.place(X).mean(axis=0)).max() < 0.5


def test_principal_axes_follow_a_change_of_units(iris):
    X, classifier = iris
    y = load_iris().target
    units = np.array([1e8, 1.0, 1e-8, 1e3])
    other = SEPClassifier().fit(X * units + [0, 5, 0, -1e3], y)
    drawn = principal_plane(classifier.model_).place(X)
    moved = principal_plane(other.model_).place(X * units + [0, 5, 0, -1e3])
    np.testing.assert_allclose(moved, drawn, atol=1e-3)
    shadow = principal_plane(other.model_).shadow(other.ellipsoids_[0].ellipsoid)
    np.testing.assert_allclose(
        shadow.semi_axes, principal_plane(classifier.model_).shadow(classifier.ellipsoids_[0].ellipsoid).semi_axes, 1e-4
    )


def test_a_model_that_is_not_standardised_is_drawn_in_standard_units_too():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, [1, 3, 4]]
    plane = principal_plane(SEPClassifier(standardize=False).fit(X, y).model_)
    assert 0.2 < np.abs(plane.place(X)).mean() < 5


def test_one_feature_is_refused():
    with pytest.raises(ValueError, match="the model has only 'x0'"):
        principal_plane(SEPClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).model_)


def test_isolated_rows_alone_make_a_plane():
    X = np.arange(12.0).reshape(4, 3) ** 2
    X[0, 0] = 5.0
    model = SEPClassifier().fit(X, [0, 1, 0, 1]).model_
    assert model.n_ellipsoids == 0
    assert np.isfinite(principal_plane(model).place(X)).all()


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
