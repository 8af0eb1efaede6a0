"""PartitionDisplay: what is drawn is what was found, in the user's names."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.documents import drawing
from sepc.plot import PartitionDisplay, TrustDisplay, WeightsDisplay

moons_X, moons_y = make_moons(300, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def moons():
    return SEPClassifier().fit(moons_X, np.array(["lower", "upper"])[moons_y])


@pytest.fixture(scope="module")
def wdbc():
    data = load_breast_cancer(as_frame=True)
    X = data.data[["mean texture", "worst area", "worst smoothness"]]
    return SEPClassifier().fit(X, data.target), X, data.target


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_two_features_show_everything(moons):
    labels = np.array(["lower", "upper"])[moons_y]
    display = PartitionDisplay.from_estimator(moons, moons_X, labels)
    display.figure_.canvas.draw()
    assert sorted(texts(display.ax_), key=int) == [str(one.number) for one in moons.ellipsoids_]
    assert legend(display.ax_) == ["lower", "upper"]
    drawn = sum(len(points.get_offsets()) for points in display.ax_.collections)
    assert drawn == 300 + len(moons.model_.isolated)


def test_the_ground_is_the_decision(moons):
    display = PartitionDisplay.from_estimator(moons)
    image = display.ax_.get_images()[0]
    pixels, (left, right, low, high) = np.asarray(image.get_array()), image.get_extent()
    n = len(pixels)
    for i, j in [(20, 30), (120, 120), (200, 60), (60, 200)]:
        row = [left + (right - left) * (j + 0.5) / n, low + (high - low) * (i + 0.5) / n]
        decision = moons.decide([row])[0]
        colour = np.array(
            [int(drawing.colour(list(moons.classes_).index(decision.label))[k : k + 2], 16) for k in (1, 3, 5)]
        )
        share = 0.5 if decision.trust >= 0.95 else 0.25 * max(decision.trust - 0.5, 0.0) / 0.45
        np.testing.assert_allclose(pixels[i, j], 1 - share * (1 - colour / 255), atol=1e-6)


def test_more_features_show_shadows(wdbc):
    classifier, X, y = wdbc
    display = PartitionDisplay.from_estimator(classifier, X, y, features=("worst area", 0))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("worst area", "mean texture")
    outlines = [line.get_xydata() for line in display.ax_.get_lines()]
    assert len(outlines) == len(classifier.ellipsoids_)
    for one, points in zip(classifier.ellipsoids_, outlines, strict=True):
        np.testing.assert_allclose(one.ellipsoid.project([1, 0]).gauge(points), 1, rtol=1e-6)
    display = PartitionDisplay.from_estimator(classifier, X)
    assert display.ax_.get_xlabel() == "worst area"
    assert legend(display.ax_) == ["0", "1", "rows"]


def test_many_rows_are_sampled_and_this_is_said(moons):
    rows = np.repeat(moons_X, 20, axis=0)
    display = PartitionDisplay.from_estimator(moons, rows)
    assert display.ax_.get_title(loc="left").endswith(", 5,000 of 6,000 rows drawn")
    assert sum(len(points.get_offsets()) for points in display.ax_.collections) == 5_000 + len(moons.model_.isolated)


def test_axes_of_the_user_are_drawn_on(moons, plt):
    _, (left, right) = plt.subplots(1, 2)
    display = PartitionDisplay.from_estimator(moons, ax=right)
    assert display.ax_ is right
    assert display.figure_ is right.figure
    assert not left.has_data()
    assert display.plot() is display
    assert display.ax_ is not right


def test_a_selective_or_frozen_classifier_shows_the_one_it_holds(moons):
    frozen = FrozenEstimator(moons)
    selective = SelectiveClassifier(frozen, max_risk=0.2).fit(moons_X, np.array(["lower", "upper"])[moons_y])
    for one in (frozen, selective):
        assert PartitionDisplay.from_estimator(one).ellipsoids == moons.ellipsoids_


@pytest.mark.slow
@pytest.mark.parametrize("display", [PartitionDisplay, TrustDisplay, WeightsDisplay])
def test_estimators_without_one_partition_are_refused(display):
    X, y = load_iris(return_X_y=True)
    trusted = TrustedClassifier(LogisticRegression(max_iter=1_000), cv=2).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
    for estimator, told in [
        (trusted, "another model"),
        (pipeline, "last step"),
        (LogisticRegression(max_iter=1_000).fit(X, y), "none"),
        (RoutedClassifier(SEPClassifier()).fit(X, y), "default_"),
    ]:
        with pytest.raises(TypeError, match=told):
            display.from_estimator(estimator, X, y)


def test_rows_that_do_not_fit_are_refused(moons):
    for X, y, message in (
        (np.zeros((2, 3)), None, "3 features"),
        (None, ["lower"], "without X"),
        (moons_X, moons_y, "int64"),
    ):
        with pytest.raises(ValueError, match=message):
            PartitionDisplay.from_estimator(moons, X, y)


def test_columns_come_in_any_order(wdbc):
    classifier, X, y = wdbc
    drawn = [
        np.sort(np.concatenate([points.get_offsets() for points in display.ax_.collections]), axis=0)
        for display in (PartitionDisplay.from_estimator(classifier, rows, y) for rows in (X, X[X.columns[::-1]]))
    ]
    np.testing.assert_array_equal(*drawn)
