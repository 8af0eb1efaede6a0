"""The benchmark of promises for groups skips the estimator, and chooses the same thresholds."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from sepc import SelectiveClassifier

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = ("most", "some", "few", "hardly any")


@pytest.fixture
def benchmark():
    """Lets a test import the benchmark's modules."""


def population(n=4000):
    """Rows, labels, and groups of which one is harder than the others, and one too small for a promise."""
    rng = np.random.default_rng(0)
    group, X = rng.choice(4, size=n, p=(0.6, 0.3, 0.095, 0.005)), rng.normal(size=(n, 2))
    noise = np.where(group == 1, 0.8, 0.4) * rng.normal(size=n)
    return X, (X[:, 0] + noise > 0).astype(np.int64), group


@pytest.mark.bench
@pytest.mark.usefixtures("benchmark")
@pytest.mark.parametrize("one_threshold", [False, True])
def test_the_benchmark_chooses_the_thresholds_of_the_estimator(one_threshold):
    from sepc_benchmarks.attacking.levels import REGION, Levels
    from sepc_benchmarks.groups import Case, thresholds_of

    X, y, group = population()
    model = LogisticRegression().fit(X[:500], y[:500])
    trust, wrong = model.predict_proba(X).max(axis=1), model.predict(X) != y
    case = Case("drawn", NAMES, Levels.of(trust, wrong.astype(float), group=group), 0.1, 3000)
    drawn, labels = case.levels.draw(np.random.default_rng(1), case.n_calibration)
    thresholds, shown = thresholds_of(case, drawn, labels, one_threshold)

    rows = drawn[:, REGION].astype(np.int64)
    names = np.array(NAMES, dtype=object)[group[rows]]
    selective = SelectiveClassifier(FrozenEstimator(model), 0.1, by="group", one_threshold=one_threshold)
    selective.fit(X[rows], y[rows], groups=names)
    assert "hardly any" in selective.groups_.small
    assert [selective.threshold_.get(name, np.inf) for name in NAMES] == thresholds
    assert [name in selective.threshold_ and selective.groups_.no_harm[name].is_shown for name in NAMES] == shown
    assert any(shown)
    assert np.isfinite(thresholds).sum() == 3
    assert len(set(thresholds)) == (2 if one_threshold else 4)
