"""TrustDisplay, RiskCoverageDisplay and ReliabilityDisplay: drawn numbers are those of the decisions."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import sepc
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.metrics import aurc, risk_coverage_curve
from sepc.plot import ReliabilityDisplay, RiskCoverageDisplay, TrustDisplay

X, y = make_moons(600, noise=0.25, random_state=0)
train, test = slice(0, 300), slice(300, 600)
with_strata = np.column_stack([X, np.arange(600) % 2])

ESTIMATORS: dict[str, Any] = {
    "SEPClassifier": SEPClassifier(),
    "SelectiveClassifier": SelectiveClassifier(SEPClassifier(), max_risk=0.2, random_state=0),
    "TrustedClassifier": TrustedClassifier(LogisticRegression(), cv=3),
    "RoutedClassifier": RoutedClassifier(SEPClassifier(), by=[2]),
}


@pytest.fixture(scope="module")
def classifier():
    return SEPClassifier().fit(X[train], y[train])


def labels_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.quick_cases("SEPClassifier", "RoutedClassifier")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_that_decides_has_curves(name):
    rows = with_strata if name == "RoutedClassifier" else X
    estimator = ESTIMATORS[name].fit(rows[train], y[train])
    decisions = estimator.decide(rows[test])
    right = decisions.label == y[test]
    risk = RiskCoverageDisplay.from_estimator(estimator, rows[test], y[test])
    (line,) = [one for one in risk.ax_.get_lines() if one.get_gid()]
    assert line.get_label() == f"{name} (AURC {aurc(right, decisions.trust):.3g})"
    coverage, risks = risk_coverage_curve(right, decisions.trust)
    np.testing.assert_allclose(line.get_xydata(), np.column_stack([coverage, risks]))
    assert risk.accepted[0] == decisions.accepted.mean()
    np.testing.assert_allclose(risk.accepted[1], 1 - right[decisions.accepted].mean())
    reliability = ReliabilityDisplay.from_estimator(estimator, rows[test], y[test], n_bins=5)
    assert reliability.bins.n_rows.sum() == 300
    (line,) = [one for one in reliability.ax_.get_lines() if one.get_gid()]
    np.testing.assert_allclose(line.get_ydata(), reliability.bins.right)


def test_other_classifiers_are_trusted_by_their_largest_probability():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[train], y[train])
    display = RiskCoverageDisplay.from_estimator(pipeline, X[test], y[test])
    right, trust = pipeline.predict(X[test]) == y[test], pipeline.predict_proba(X[test]).max(axis=1)
    assert display.curve.aurc == aurc(right, trust)
    assert display.name == "LogisticRegression"
    decisions = sepc.decide(pipeline, X[test])
    assert display.accepted == (decisions.accepted.mean(), (~right)[decisions.accepted].mean())
    with pytest.raises(TypeError, match="predict_proba"):
        RiskCoverageDisplay.from_estimator(LinearSVC().fit(X, y), X, y)


@pytest.mark.parametrize("kind", [RiskCoverageDisplay, ReliabilityDisplay])
def test_several_on_the_same_axes_differ_in_colour_and_dashes(kind):
    first = kind.from_predictions([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.8, 0.7, 0.6], name="first")
    second = kind.from_predictions([0, 1, 1, 0], [0, 0, 0, 1], [0.9, 0.8, 0.4, 0.1], name="second", ax=first.ax_)
    assert second.ax_ is first.ax_
    one, two = [line for line in first.ax_.get_lines() if line.get_gid()]
    assert one.get_color() != two.get_color()
    assert one.get_linestyle() != two.get_linestyle()
    names = [text.split(" (")[0] for text in labels_of(first.ax_)]
    assert names[-2:] == ["first", "second"]
    assert names.count("perfectly calibrated") == (kind is ReliabilityDisplay)
    assert first.ax_.get_ylim()[1] > 0.75
    assert first.ax_.get_xlim()[0] < 0.1


def test_an_estimator_that_accepts_nothing_says_so():
    strict = SEPClassifier(min_trust=1.0).fit(X[train], y[train])
    display = RiskCoverageDisplay.from_estimator(strict, X[test], y[test])
    display.figure_.canvas.draw()
    assert "no row" in labels_of(display.ax_)[1]
    with pytest.raises(ValueError, match="probabilities"):
        ReliabilityDisplay.from_predictions([0, 1], [0, 1], [-1.0, 2.0])


def test_a_long_curve_is_thinned_and_its_area_is_not():
    rng = np.random.default_rng(0)
    trust = rng.random(50_000)
    wrong = (rng.random(50_000) > trust).astype(int)
    display = RiskCoverageDisplay.from_predictions(np.zeros(50_000), wrong, trust)
    assert len(display.ax_.get_lines()[0].get_xdata()) == 2_000
    assert display.curve.aurc == aurc(wrong == 0, trust)


def test_bars_are_the_rows_of_the_largest_regions(classifier):
    display = TrustDisplay.from_estimator(classifier, X[test], y[test])
    right, wrong = ([bar.get_width() for bar in bars] for bars in display.ax_.containers)
    found = display.outcomes
    assert len(right) == min(len(found), 20)
    assert right == found.right[:20].tolist()
    assert wrong == pytest.approx(found.wrong[:20].tolist())
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ticks[0] == f"{found.names[0]}: {found.label[0]}\nmean trust {found.trust[0]:.3f}"
    assert labels_of(display.ax_) == ["right", "wrong"]
    assert (f"first 20 of {len(found)}" in display.ax_.get_title(loc="left")) == (len(found) > 20)
