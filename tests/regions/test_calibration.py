"""Calibrated trust: the fit is the optimum it claims, and it says how often labels are right."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_moons
from sklearn.model_selection import GroupKFold, TimeSeriesSplit, train_test_split

from sepc import SEPClassifier
from sepc.metrics import ece
from sepc.regions.calibration import Calibration, signals
from sepc.regions.kinds import Rule


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    given = rng.standard_normal((n, 3))
    return given, rng.random(n) < expit(given @ [1.5, 0.0, -1.0] + 1.0)


def test_finds_the_true_coefficients_and_none_below_zero():
    found = Calibration.learnt(*drawn(20_000))
    assert found.coefficients[0] == pytest.approx(1.3, abs=0.25)
    assert found.coefficients[1] == pytest.approx(0.0, abs=0.05)
    assert found.coefficients[2] == 0


def test_is_calibrated_on_new_rows_where_the_signals_suffice():
    rng = np.random.default_rng(1)
    given = rng.standard_normal((4000, 2))
    correct = rng.random(4000) < expit(given @ [1.0, 0.5] + 1.0)
    found = Calibration.learnt(given[:2000], correct[:2000])
    assert ece(correct[2000:], found.apply(given[2000:])) < 0.05


@pytest.mark.parametrize("outcome", [True, False])
def test_rows_of_one_outcome_promise_nothing_for_certain(outcome):
    given, _ = drawn(50)
    found = Calibration.learnt(given, np.full(50, outcome))
    chance = found.apply(given)
    assert ((chance > 0.9) & (chance < 1)).all() if outcome else ((chance < 0.1) & (chance > 0)).all()


def test_signals_grow_with_what_speaks_for_a_label():
    rule = np.array([Rule.SINGLE, Rule.SHARED, Rule.NEAREST, Rule.NEAREST])
    found = signals(
        np.array([0.9, 0.6, 1.0, 0.5]), np.array([[9, 1], [3, 2], [5, 0], [5, 5]]), np.array([0.5, 0.5, 1.5, 9.0]), rule
    )
    assert np.isfinite(found).all()
    assert found[0, 0] > found[1, 0]
    assert found[0, 1] > found[1, 1]
    assert found[0, 2] == found[1, 2] == 0 > found[2, 2] > found[3, 2]
    np.testing.assert_array_equal(found[:, 3:], [[1, 1], [1, 0], [0, 0], [0, 0]])


def test_calibrated_trust_tells_how_often_labels_are_right():
    X, y = make_moons(3000, noise=0.35, random_state=0)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    errors = {}
    for trust in ("evidence", "calibrated"):
        classifier = SEPClassifier(trust=trust, max_ellipsoids=30).fit(X_train, y_train)
        decisions = classifier.decide(X_test)
        errors[trust] = ece(decisions.label == y_test, decisions.trust)
    assert errors["calibrated"] < 0.06


def test_calibration_changes_no_label():
    X, y = make_moons(300, noise=0.3, random_state=0)
    plain, calibrated = (SEPClassifier(trust=trust).fit(X, y) for trust in ("evidence", "calibrated"))
    np.testing.assert_array_equal(plain.predict(X), calibrated.predict(X))


@pytest.mark.parametrize(
    ("cv", "groups"), [(3, None), (GroupKFold(3), np.arange(300) // 10), (TimeSeriesSplit(3), None)]
)
def test_folds_may_keep_groups_or_time(cv, groups):
    X, y = make_moons(300, noise=0.3, random_state=0)
    classifier = SEPClassifier(trust="calibrated", cv=cv).fit(X, y, groups=groups)
    assert ((classifier.decide(X).trust > 0) & (classifier.decide(X).trust < 1)).all()


def test_a_class_of_one_row_cannot_be_calibrated_and_says_so():
    X, y = make_moons(50, random_state=0)
    y[:] = 0
    y[7] = 1
    with pytest.raises(ValueError, match="at least 2 rows of every class"):
        SEPClassifier(trust="calibrated").fit(X, y)
