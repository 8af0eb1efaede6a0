"""Benchmarks of promises skip the estimator, and choose the same thresholds."""

from dataclasses import replace

import numpy as np
import pytest
from sepc_benchmarks import shift
from sepc_benchmarks.attacking.levels import REGION, Levels
from sepc_benchmarks.groups import Case, thresholds_of
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from sepc import SelectiveClassifier, SEPClassifier

NAMES = ("most", "some", "few", "hardly any")
N_TRAINING = 800


@pytest.mark.bench
@pytest.mark.parametrize("one_threshold", [False, True])
def test_promises_for_groups(one_threshold):
    """One group is harder than the others, and one too small for a promise."""
    rng = np.random.default_rng(0)
    group, X = rng.choice(4, size=4000, p=(0.6, 0.3, 0.095, 0.005)), rng.normal(size=(4000, 2))
    y = (X[:, 0] + np.where(group == 1, 0.8, 0.4) * rng.normal(size=4000) > 0).astype(np.int64)
    model = LogisticRegression().fit(X[:500], y[:500])
    trust, wrong = model.predict_proba(X).max(axis=1), model.predict(X) != y
    case = Case("drawn", NAMES, Levels.of(trust, wrong.astype(float), group=group), 0.1, 3000)
    drawn, labels = case.levels.draw(np.random.default_rng(1), case.n_calibration)
    thresholds, shown = thresholds_of(case, drawn, labels, one_threshold)

    rows = drawn[:, REGION].astype(np.int64)
    selective = SelectiveClassifier(FrozenEstimator(model), 0.1, by="group", one_threshold=one_threshold)
    selective.fit(X[rows], y[rows], groups=np.array(NAMES, dtype=object)[group[rows]])
    assert "hardly any" in selective.promise_.groups.small
    assert [selective.threshold_.get(name, np.inf) for name in NAMES] == thresholds
    assert [
        name in selective.threshold_ and selective.promise_.groups.no_harm[name].is_shown for name in NAMES
    ] == shown
    assert any(shown)
    assert np.isfinite(thresholds).sum() == 3
    assert len(set(thresholds)) == (2 if one_threshold else 4)


@pytest.mark.slow
def test_promises_for_another_mix_of_regions():
    X, y = make_classification(4000, n_informative=4, n_redundant=0, class_sep=1.5, random_state=0)
    source = replace(shift.by_region(shift.of_rows("drawn", X, y, N_TRAINING)), n_calibration=1500, n_target=3000)
    model = FrozenEstimator(SEPClassifier(random_state=0).fit(X[:N_TRAINING], y[:N_TRAINING]))
    X, y = X[N_TRAINING:], y[N_TRAINING:]
    n_accepting = 0
    for seed, (calibration, target) in enumerate(source.draws(4)):
        found, check = source.paired(calibration, target, seed), source.checked(calibration, target)
        selective = SelectiveClassifier(model, source.promised, random_state=seed)
        selective.fit(X[calibration], y[calibration], X_target=X[target])
        assert selective.threshold_ == found.control.threshold
        assert (selective.promise_.shift.regions == found.shift.regions).all()
        assert selective.promise_.shift.check == check
        assert (selective.decide(X).accepted == source.accepted(found)).all()
        ordinary = SelectiveClassifier(model, source.promised).fit(X[calibration], y[calibration])
        assert (ordinary.decide(X).accepted == source.ordinary(calibration)).all()
        n_accepting += np.isfinite(found.control.threshold)
    assert n_accepting > 0
