"""LandscapeDisplay: the ellipsoids of the classes, and the rows in two of them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from sepc import Landscape
from sepc.plot import LandscapeDisplay


def summary_of(X, y, names=None):
    summary = Landscape(X, y).figures
    return replace(summary, feature_names=tuple(names)) if names else summary


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    return summary_of(data.data, data.target, data.feature_names)


def cells(display):
    return {text.get_position(): text.get_text() for text in display.axes_[1].texts}


def test_classes_are_drawn_in_the_features_that_tell_them_apart(iris):
    display = LandscapeDisplay.from_landscape(iris)
    display.figure_.canvas.draw()
    assert {display.axes_[0].get_xlabel(), display.axes_[0].get_ylabel()} == {"petal length (cm)", "petal width (cm)"}
    assert "separate them best" in display.axes_[0].get_title(loc="left")
    outlines = [line.get_xydata() for line in display.axes_[0].get_lines() if len(line.get_xdata()) > 2]
    for points, one in zip(outlines, iris.ellipsoids, strict=True):
        pair = [iris.feature_names.index(name) for name in display.plane.names]
        np.testing.assert_allclose(one.project(pair).gauge(points), 1, rtol=1e-6)
    entries = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert entries == ["0: 50 rows", "1: 50 rows", "2: 50 rows"]


def test_the_table_has_a_row_for_the_class_the_rows_are_of(iris):
    display = LandscapeDisplay.from_landscape(iris)
    pair = next(one for one in iris.overlaps if (one.first, one.second) == (1, 2))
    assert pair.n_first != pair.n_second
    assert cells(display)[(2, 1)] == f"{2 * pair.n_first} %"
    assert cells(display)[(1, 2)] == f"{2 * pair.n_second} %"
    assert (0, 0) not in cells(display)


def test_a_landscape_draws_its_summary_in_features_of_the_users_choice():
    landscape = Landscape(*load_iris(return_X_y=True))
    display = LandscapeDisplay.from_landscape(landscape, features=("x1", 3))
    assert display.plane.names == ("x1", "x3")
    assert display.axes_[0].get_xlabel() == "x1"
    assert display.figures.classes == landscape.figures.classes


def test_axes_of_the_user(iris, plt):
    two = plt.subplots(1, 2)[1]
    assert LandscapeDisplay.from_landscape(iris, ax=two).axes_ == tuple(two)
    figure, one = plt.subplots()
    assert LandscapeDisplay.from_landscape(iris, ax=one).figure_ is figure


def test_one_feature_is_refused_and_hostile_names_are_drawn():
    X, y = np.arange(20.0)[:, None], np.where(np.arange(20) < 12, "$a_1$", "_b")
    with pytest.raises(ValueError, match="'x0'"):
        LandscapeDisplay.from_landscape(summary_of(X, y))
    rows = np.column_stack([X, X[::-1] ** 2])
    display = LandscapeDisplay.from_landscape(summary_of(rows, y, ["50 $ % $", "b"]))
    display.figure_.canvas.draw()
    assert display.axes_[0].get_xlabel() == r"50 \$ % \$"
    entries = [text.get_text() for text in display.axes_[0].get_legend().get_texts()]
    assert entries == [r"\$a_1\$: 12 rows", " _b: 8 rows"]


@pytest.mark.slow
def test_thirty_classes_have_no_numbers_in_their_cells():
    X, y = make_blobs(300, centers=30, n_features=3, random_state=0)
    display = LandscapeDisplay.from_landscape(summary_of(X, y))
    display.figure_.canvas.draw()
    assert cells(display) == {}
    assert len(display.axes_[1].get_yticklabels()) == 30
