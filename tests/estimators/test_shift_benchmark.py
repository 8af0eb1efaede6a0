"""What `sepc_benchmarks.shift` measures is what `SelectiveClassifier` does."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator

from sepc import SelectiveClassifier, SEPClassifier

N_TRAINING = 800


@pytest.fixture
def shift():
    """The benchmark."""
    from sepc_benchmarks import shift

    return shift


@pytest.fixture
def rows():
    return make_classification(4000, n_informative=4, n_redundant=0, class_sep=1.5, random_state=0)


@pytest.mark.slow
def test_the_estimator_chooses_the_same(shift, rows):
    X, y = rows
    source = replace(shift.by_region(shift.of_rows("drawn", X, y, N_TRAINING)), n_calibration=1500, n_target=3000)
    model = FrozenEstimator(SEPClassifier(random_state=0).fit(X[:N_TRAINING], y[:N_TRAINING]))
    X, y = X[N_TRAINING:], y[N_TRAINING:]
    n_accepting = 0
    for seed, (calibration, target) in enumerate(source.draws(4)):
        found, check = source.paired(calibration, target, seed), source.checked(calibration, target)
        selective = SelectiveClassifier(model, source.promised, random_state=seed)
        selective.fit(X[calibration], y[calibration], X_target=X[target])
        assert selective.threshold_ == found.control.threshold
        assert (selective.shift_.regions == found.regions).all()
        assert selective.shift_.check == check
        assert (selective.decide(X).accepted == source.accepted(found)).all()
        ordinary = SelectiveClassifier(model, source.promised).fit(X[calibration], y[calibration])
        assert (ordinary.decide(X).accepted == source.ordinary(calibration)).all()
        n_accepting += np.isfinite(found.control.threshold)
    assert n_accepting > 0


def test_weights_depend_on_regions_or_on_places_within(shift, rows):
    source = shift.of_rows("drawn", *rows, N_TRAINING)
    _, which, n = np.unique(source.rows.region, return_inverse=True, return_counts=True)
    by_region = shift.by_region(source).target
    assert by_region == pytest.approx((np.bincount(which, weights=by_region) / n)[which])
    assert by_region @ source.rows.trust < source.share @ source.rows.trust
    inside, column = shift.inside(source)
    assert inside.target.sum() == pytest.approx(1.0)
    assert inside.target @ source.rows.wrong > source.share @ source.rows.wrong
    own = which == np.argmax(n)
    assert abs(np.corrcoef(inside.target[own], source.X[own, column])[0, 1]) > 0.8
    assert np.bincount(which, weights=inside.target)[n > 100] == pytest.approx(n[n > 100] / len(which), rel=0.05)


def test_the_known_regions_are_as_said(shift):
    source = shift.known()
    error, share, target = (
        np.bincount(source.rows.region, weights=weight)
        for weight in (source.share * source.rows.wrong, source.share, source.target)
    )
    error /= share
    trust = source.rows.trust[:40]
    is_bad = error > 1.0 - trust
    assert is_bad.sum() == 8
    assert error[is_bad] / (1.0 - trust[is_bad]) == pytest.approx(1.5)
    assert error[~is_bad] / (1.0 - trust[~is_bad]) == pytest.approx(0.25)
    assert {*trust[is_bad]} == {*trust}
    times = target / share
    assert times[is_bad] / times[~is_bad][0] == pytest.approx(5.0)
    assert times[~is_bad] == pytest.approx(times[~is_bad][0])
