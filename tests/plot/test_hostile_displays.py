"""Displays of strange models; every picture is drawn to the end."""

import subprocess
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from warm_python import warm_python

from sepc import SEPClassifier
from sepc.documents.charts import SHAPES
from sepc.documents.drawing import DASHES, colour
from sepc.errors import FlatSetWarning
from sepc.plot import PartitionDisplay, ReliabilityDisplay, RiskCoverageDisplay, TrustDisplay, WeightsDisplay


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


STRANGE = ["constant", "constant of two", "far from zero", "all right", "all wrong", "isolated", "isolated in 5", "one"]


@pytest.mark.quick_cases("constant of two", "isolated")
@pytest.mark.parametrize("kind", STRANGE)
def test_strange_rows(kind, rng):
    X = rng.normal(size=(80, 2))
    if kind == "one":
        X[0] = 9.0
    elif kind.startswith("constant"):
        X = np.column_stack([X[:, 0], np.full(80, 7.0), *([X[:, 1]] if kind == "constant" else [])])
    elif kind == "far from zero":
        X = X * [1e-9, 1e12] + [3.0, 1e15]
    elif kind.startswith("isolated"):
        d = 5 if kind.endswith("5") else 2
        X = rng.normal(size=(d, d))
    y = (X[:, 0] > (8.0 if kind == "one" else np.median(X[:, 0]))).astype(int)
    y = np.arange(len(X)) % 2 if kind.startswith("isolated") else y
    classifier = fitted(X, y)
    assert (len(classifier.ellipsoids_) == 1) is (kind == "one")
    assert (len(classifier.ellipsoids_) == 0) is kind.startswith("isolated")
    label = classifier.predict(X)
    draw_all(classifier, X, {"all right": label, "all wrong": 1 - label}.get(kind, y))
    if kind == "constant":
        display = drawn(PartitionDisplay.from_estimator(classifier, X, y, features=(0, 1)))
        low, high = display.ax_.get_ylim()
        assert low < 7 < high


@pytest.mark.slow
def test_thirty_classes():
    X, which = make_blobs(240, centers=30, cluster_std=0.3, random_state=0)
    y = np.array([f"class number {k}" for k in range(30)])[which]
    classifier = fitted(X, y)
    draw_all(classifier, X, y)
    assert len({(colour(k), SHAPES[k % len(SHAPES)]) for k in range(28)}) == 28
    assert len({(colour(k), DASHES[k % len(DASHES)]) for k in range(21)}) == 21


def test_no_rows_rows_far_outside_and_a_single_feature(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    classifier = fitted(X, y)
    display = drawn(TrustDisplay.from_estimator(classifier, X + 1e6, y))
    assert all(name.startswith(("around ", "near single ")) for name in display.outcomes.names)
    drawn(PartitionDisplay.from_estimator(classifier, X[:0], []))
    with pytest.raises(ValueError, match="minimum of 1"):
        TrustDisplay.from_estimator(classifier, X[:0], [])
    with pytest.raises(ValueError, match="two features"):
        PartitionDisplay.from_estimator(fitted(X[:, :1], y))


def test_without_matplotlib_there_is_a_hint():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from sepc.plot import RiskCoverageDisplay\n"
        "try: RiskCoverageDisplay.from_predictions([0, 1], [0, 1], [0.5, 0.6])\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run([*warm_python(), "-c", code], capture_output=True, text=True, check=True).stdout
    assert "sepc[plot]" in told
