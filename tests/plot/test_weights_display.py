"""WeightsDisplay: what is drawn is what counts, in the user's own units, on any axes."""

from typing import Any

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.frozen import FrozenEstimator

from sepc import SelectiveClassifier, SEPClassifier
from sepc.documents.drawing import colour
from sepc.plot import WeightsDisplay

colors = package_or_skip("matplotlib.colors")
pd = package_or_skip("pandas")


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    return SEPClassifier().fit(X[::2], y[::2]), X[1::2]


@pytest.fixture(scope="module")
def letters():
    X, y = make_blobs(1300, centers=26, n_features=4, cluster_std=2.0, random_state=0)
    return SEPClassifier(max_ellipsoids=2).fit(X, np.array([chr(65 + k) for k in range(26)])[y]), X


def within(value, limits):
    return min(limits) <= value <= max(limits)


def overlapping(figure):
    """Pairs of texts of the figure that cover one another."""
    figure.canvas.draw()
    boxes = []
    for ax in figure.axes:
        texts = [ax.xaxis.label, ax.yaxis.label, ax.title]
        # Ticks beyond the limits exist, and are not drawn.
        texts += [text for text in ax.get_xticklabels() if within(text.get_position()[0], ax.get_xlim())]
        texts += [text for text in ax.get_yticklabels() if within(text.get_position()[1], ax.get_ylim())]
        shown = [text for text in texts if text.get_visible() and text.get_text() and ax.axison]
        boxes += [(text.get_text(), text.get_window_extent()) for text in shown]
    return [
        (one, other)
        for i, (one, box) in enumerate(boxes)
        for other, second in boxes[i + 1 :]
        if box.shrunk(0.9, 0.9).overlaps(second.shrunk(0.9, 0.9))
    ]


@pytest.mark.slow
def test_six_curves_in_their_own_units(wdbc):
    classifier, X = wdbc
    display = WeightsDisplay.from_estimator(classifier, X)
    assert [ax.get_xlabel() for ax in display.axes_[:6]] == [curve.name for curve in display.curves]
    axes = display.axes_
    assert len(axes) == 6
    assert len({ax.get_ylim() for ax in axes}) == 1
    for ax, curve in zip(axes, display.curves, strict=True):
        line = next(one for one in ax.get_lines() if len(one.get_xdata()) == len(curve.x))
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([curve.x, curve.term]))
        assert np.quantile(X[curve.name], 0.1) > ax.get_xlim()[0]
        assert np.quantile(X[curve.name], 0.9) < ax.get_xlim()[1]
        assert len(ax.patches) == len(curve.n_rows)
        assert min(ax.get_yticks()) >= min(one.term.min() for one in display.curves) - 0.5
    assert axes[0].get_ylabel() == "malignant against benign"
    assert overlapping(display.figure_) == []


@pytest.mark.slow
def test_one_of_many_classes(letters):
    classifier, X = letters
    display = WeightsDisplay.from_estimator(classifier, X, label="Q")
    assert display.axes_[0].get_ylabel() == "Q against the others"
    assert len(display.axes_) == 4
    assert overlapping(display.figure_) == []
    with pytest.raises(ValueError, match="'ä'"):
        WeightsDisplay.from_estimator(classifier, label="ä")


def test_values_have_bars_coloured_by_what_they_speak_for():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(1, 5, 300), rng.normal(size=(300, 2))]).astype(float)
    classifier = SEPClassifier().fit(X, (X[:, 0] + X[:, 1] > 2.5).astype(int))
    display = WeightsDisplay.from_estimator(classifier, X, [0])
    ax = display.axes_[0]
    bars: Any = ax.patches
    (curve,) = display.curves
    by_place = {round(bar.get_x() + 0.4): bar for bar in bars[4:]}
    assert [by_place[k].get_height() for k in range(4)] == pytest.approx(np.abs(curve.term).tolist())
    colours = [colors.to_hex(by_place[k].get_facecolor()) for k in range(4)]
    assert colours == [colour(int(term > 0)) for term in curve.term]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3", "4"]
    tall = [bar.get_height() for bar in bars[:4]]
    assert np.divide(tall, max(tall)) == pytest.approx(curve.n_rows / curve.n_rows.max())


def test_without_rows_quantiles_are_shown(wdbc):
    display = WeightsDisplay.from_estimator(wdbc[0], max_features=2)
    bars: Any = display.axes_[0].patches
    assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx(display.curves[0].knots.tolist())


def test_axes_of_the_user(wdbc, plt):
    classifier, X = wdbc
    figure, axes = plt.subplots(1, 2, figsize=(14, 4), layout="constrained")
    display = WeightsDisplay.from_estimator(classifier, X, ["worst area", 0], ax=axes[1])
    assert display.figure_ is figure
    assert [curve.name for curve in display.curves] == ["worst area", "mean radius"]
    figure.canvas.draw()
    assert all(ax.get_position().x0 > 0.45 for ax in display.axes_)
    two = plt.subplots(1, 2)[1]
    again = display.plot(two)
    assert again.axes_ == tuple(two)
    for wrong, message in ((plt.subplots(1, 5)[1], "5 axes"), (plt.figure().add_axes((0.1, 0.1, 0.8, 0.8)), "divided")):
        with pytest.raises(ValueError, match=message):
            display.plot(wrong)


def test_wrappers_are_looked_into_and_what_has_no_weights_is_refused(wdbc):
    classifier, X = wdbc
    frozen = FrozenEstimator(classifier)
    selective = SelectiveClassifier(frozen, max_risk=0.3).fit(X, classifier.predict(X))
    for one in (frozen, selective):
        assert WeightsDisplay.from_estimator(one, X).model is classifier.model_
    counted = SEPClassifier(trust="counts").fit(X, classifier.predict(X))
    for model, options, message in (
        (counted, {}, "weights"),
        (classifier, {"max_features": 0}, "max_features"),
        (classifier, {"features": ["worst aria"]}, "'worst area'"),
    ):
        with pytest.raises(ValueError, match=message):
            WeightsDisplay.from_estimator(model, X, **options)


def test_monotone_curves_say_in_which_direction_they_go():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.where(X[:, 0] + rng.logistic(size=200) > 0.0, "good", "bad")
    model = SEPClassifier(monotone={0: "up"}, monotone_for="good", max_ellipsoids=3).fit(X, y)
    for label, sign, word in (("good", 1, "rises"), ("bad", -1, "falls")):
        display = WeightsDisplay.from_estimator(model, X, label=label)
        texts = {curve.name: ax.get_xlabel() for curve, ax in zip(display.curves, display.axes_, strict=False)}
        assert [name for name, text in texts.items() if "only" in text] == ["x0"]
        assert word in texts["x0"]
        terms = next(curve.term for curve in display.curves if curve.name == "x0")
        assert (np.diff(terms) * sign >= 0.0).all()


def test_long_names_of_categories_do_not_cover_each_other():
    rng = np.random.default_rng(0)
    jobs = ["Machine-operator", "Executive", "Handlers-cleaners", "Sales", "Transport-moving"]
    X = pd.DataFrame({"job": rng.choice(jobs, 300), "age": rng.uniform(20, 60, 300)})
    y = np.isin(X["job"], jobs[:2]) ^ (rng.random(300) < 0.2)
    display = WeightsDisplay.from_estimator(SEPClassifier(max_ellipsoids=3).fit(X, y), X)
    ax = next(ax for curve, ax in zip(display.curves, display.axes_, strict=False) if curve.name == "job")
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    assert len(boxes) == 5
    assert not any(one.overlaps(two) for one, two in zip(boxes, boxes[1:], strict=False))
