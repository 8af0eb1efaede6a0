"""Displays of strange models; every picture is drawn to the end."""

import subprocess
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from warm_python import warm_python

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc.plot import PartitionDisplay, ReliabilityDisplay, RiskCoverageDisplay, TrustDisplay, WeightsDisplay
from sepc.plot.palette import look


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def fitted(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        return SEPClassifier(**options).fit(X, y)


def drawn(display):
    display.figure_.canvas.draw()
    return display


def draw_all(classifier, X, y):
    drawn(PartitionDisplay.from_estimator(classifier, X, y))
    drawn(TrustDisplay.from_estimator(classifier, X, y))
    drawn(WeightsDisplay.from_estimator(classifier, X))
    drawn(WeightsDisplay.from_estimator(classifier))
    drawn(RiskCoverageDisplay.from_estimator(classifier, X, y))
    drawn(ReliabilityDisplay.from_estimator(classifier, X, y))


@pytest.mark.slow
def test_one_ellipsoid(rng):
    X = np.r_[rng.normal(size=(30, 2)), [[9.0, 9.0]]]
    classifier = fitted(X, [0] * 30 + [1])
    assert len(classifier.ellipsoids_) == 1
    draw_all(classifier, X, [0] * 30 + [1])
    assert PartitionDisplay.from_estimator(classifier).ax_.get_title() == "1 ellipsoid"


@pytest.mark.slow_cases("5")
@pytest.mark.parametrize("d", [2, 5])
def test_isolated_rows_alone(d, rng):
    X, y = rng.normal(size=(d, d)), np.arange(d) % 2
    classifier = fitted(X, y)
    assert len(classifier.ellipsoids_) == 0
    draw_all(classifier, X, y)


@pytest.mark.slow
def test_a_constant_feature(rng):
    X = np.column_stack([rng.normal(size=80), np.full(80, 7.0), rng.normal(size=80)])
    y = (X[:, 0] > 0).astype(int)
    classifier = fitted(X, y)
    draw_all(classifier, X, y)
    display = drawn(PartitionDisplay.from_estimator(classifier, X, y, features=(0, 1)))
    low, high = display.ax_.get_ylim()
    assert low < 7 < high


def test_a_constant_feature_of_two(rng):
    X = np.column_stack([rng.normal(size=80), np.full(80, 7.0)])
    draw_all(fitted(X, X[:, 0] > 0), X, X[:, 0] > 0)


@pytest.mark.slow
def test_rows_far_from_zero(rng):
    X = rng.normal(size=(80, 2)) * [1e-9, 1e12] + [3.0, 1e15]
    y = X[:, 0] > 3.0
    draw_all(fitted(X, y), X, y)


@pytest.mark.slow
def test_thirty_classes():
    X, which = make_blobs(240, centers=30, cluster_std=0.3, random_state=0)
    y = np.array([f"class number {k}" for k in range(30)])[which]
    classifier = fitted(X, y)
    draw_all(classifier, X, y)
    looks = [look(k) for k in range(30)]
    assert len({(one.colour, one.marker) for one in looks}) == 30
    assert len({(one.colour, str(one.dashes)) for one in looks}) == 30


def test_a_single_feature_is_refused_in_words():
    classifier = fitted([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="needs two features"):
        PartitionDisplay.from_estimator(classifier)


@pytest.mark.slow
@pytest.mark.parametrize("is_right", [True, False])
def test_all_right_and_all_wrong(is_right, rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    classifier = fitted(X, y)
    label = classifier.predict(X)
    draw_all(classifier, X, label if is_right else 1 - label)


def test_no_test_rows(rng):
    X = rng.normal(size=(80, 2))
    classifier = fitted(X, (X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        TrustDisplay.from_estimator(classifier, X[:0], [])
    drawn(PartitionDisplay.from_estimator(classifier, X[:0], []))


def test_test_rows_far_outside_have_regions_too(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    display = drawn(TrustDisplay.from_estimator(fitted(X, y), X + 1e6, y))
    assert all(name.startswith(("around ", "near single ")) for name in display.outcomes.names)


def test_without_matplotlib_there_is_a_hint():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from sepc.plot import RiskCoverageDisplay\n"
        "try: RiskCoverageDisplay.from_predictions([0, 1], [0, 1], [0.5, 0.6])\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run([*warm_python(), "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "Plots need matplotlib: pip install 'sepc[plot]'"
