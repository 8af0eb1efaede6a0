"""Monitor, audit and repair of models whose features are standalone or monotone."""

import numpy as np
import pytest
from optional import package_or_skip
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.lifecycle import Monitor, audit, repair

pd = package_or_skip("pandas")
DIRECTIONS = {"income": "up", "debt": "down"}


def applicants(n, seed, changed=False):
    """Rows with a rising and a falling feature, and two others; if changed, debt no longer counts in one corner."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1.0, 1.0, (n, 4)), columns=["income", "debt", "age", "years"])
    score = X.income - X.debt + 2.0 * (X.age > 0.0)
    if changed:
        score = score.mask((X.age > 0.0) & (X.years > 0.0), X.income - 1.0)
    return X, np.where(score + 0.3 * rng.logistic(size=n) > 1.0, "paid", "default")


@fitted_once
def fitted():
    monotone = SEPClassifier(monotone=DIRECTIONS, monotone_for="paid", max_ellipsoids=3)
    return monotone.fit(*applicants(500, 0))


@fitted_once
def repaired():
    return repair(fitted(), *applicants(800, 1, changed=True), cv=2)


def watched():
    return Monitor(fitted(), *applicants(2000, 2))


def test_calm_rows_raise_no_alarm():
    watching = watched()
    for seed in range(3, 6):
        assert watching.update(*applicants(1000, seed)) == []


def test_a_standalone_feature_that_moves_is_named():
    watching = watched()
    X, _ = applicants(2000, 7)
    alarms = watching.update(X.assign(income=X.income + 0.5))
    assert {one.kind for one in alarms} == {"feature"}, "regions do not depend on income, so only its values change"
    assert {one.moved[0].name for one in alarms} == {"income"}


def test_errors_of_a_monotone_model_are_found():
    X, y = applicants(1500, 1, changed=True)
    assert audit(fitted(), X, y).regions.failing.any()
    assert any(one.kind == "error" for one in watched().update(X, y))


def test_models_of_repaired_regions_have_the_same_constraints():
    assert repaired().routes_
    X, y = applicants(3000, 8, changed=True)
    assert (repaired().predict(X) == y).mean() > (fitted().predict(X) == y).mean() + 0.02
    for model in repaired().routes_.values():
        assert [proof.holds for proof in model.proofs()] == [True, True]


@pytest.mark.parametrize("feature", DIRECTIONS)
def test_repaired_models_keep_directions_of_complete_rows(feature):
    X, _ = applicants(3000, 9)
    more = X.assign(**{feature: X[feature] + np.random.default_rng(1).exponential(size=len(X))})
    lower, higher = repaired().decide(X), repaired().decide(more)
    assert 0.05 < lower.is_repaired.mean() < 0.95
    np.testing.assert_array_equal(lower.is_repaired, higher.is_repaired)
    gain = (higher.probabilities - lower.probabilities)[:, 1] * (1 if DIRECTIONS[feature] == "up" else -1)
    for own in (lower.is_repaired, ~lower.is_repaired):
        assert gain[own].max() > 0.05
        assert gain[own].min() >= -1e-12
