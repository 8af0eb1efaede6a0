"""Promises for another mix of regions: pairs of rows, strata, and the check of what is assumed."""

import math

import numpy as np
import pytest
from monte_carlo import exceeds
from optional import package_or_skip
from scipy.stats import norm, rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from zoo import fitted_once

from sepc import Cause, Decisions, SelectiveClassifier, SEPClassifier, load, onnx, save
from sepc.statistics.rates import differ_p_value, spread_p_value


class ReadsRegions(ClassifierMixin, BaseEstimator):
    """Says 0, with the region and the trust in the columns of its rows."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.array([0, 1]), 2
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def decide(self, X):
        region, trust = np.asarray(X, dtype=float).T
        n = len(trust)
        return Decisions(
            classes=self.classes_,
            label=np.zeros(n, dtype=int),
            trust=trust,
            accepted=np.ones(n, dtype=bool),
            cause=np.full(n, int(Cause.ACCEPTED)),
            probabilities=np.column_stack([trust, 1.0 - trust]),
            region=region.astype(int),
            by="ReadsRegions",
        )


ERRORS = np.array([0.01, 0.03, 0.12])
CALIBRATION, TARGET = np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.3, 0.6])


def drawn(rng, n, shares):
    """Rows of three regions, whose trust says nothing about errors; only their regions do."""
    region = rng.choice(3, size=n, p=shares)
    return np.column_stack([region, rng.choice([0.8, 0.9, 0.95], size=n)]), (rng.random(n) < ERRORS[region]).astype(int)


def frozen():
    return FrozenEstimator(ReadsRegions().fit(None, None))


def test_the_promise_is_about_the_targets_mix():
    rng = np.random.default_rng(0)
    X, y = drawn(rng, 5000, CALIBRATION)
    assert SelectiveClassifier(frozen(), 0.05).fit(X, y).coverage_ == 1.0  # 2.7 % are wrong
    shifted = SelectiveClassifier(frozen(), 0.05, random_state=0).fit(X, y, X_target=drawn(rng, 4000, TARGET)[0])
    assert shifted.coverage_ == 0.0  # 8.2 % are wrong
    assert "No threshold" in shifted.summary()
    target = drawn(rng, 20_000, CALIBRATION)[0]
    easier = SelectiveClassifier(frozen(), 0.05, random_state=0).fit(X, y, X_target=target)
    assert easier.coverage_ > 0.95
    assert easier.decide(X).accepted.mean() > 0.95
    assert easier.promise_.controls[None].n_rows > 0.6 * 5000
    assert (easier.promise_.shift.n_target, easier.promise_.shift.n_planning) == (20_000, 4_000)


def test_a_promise_at_its_limit_is_seldom_made_for_a_target_and_always_without_one():
    """At every threshold, the target's error rate is a little above the promise, and calibration's far below."""
    errors = ERRORS * 0.0505 / (TARGET @ ERRORS)
    rng, n_broken, n_plain, n_draws = np.random.default_rng(4300), 0, 0, 60
    for seed in range(n_draws):
        X, _ = drawn(rng, 3000, CALIBRATION)
        y = (rng.random(3000) < errors[X[:, 0].astype(int)]).astype(int)
        found = SelectiveClassifier(frozen(), 0.05, random_state=seed).fit(X, y, X_target=drawn(rng, 600, TARGET)[0])
        weights = TARGET * np.isin(np.arange(3), found.promise_.shift.regions)
        n_broken += math.isfinite(found.threshold_) and weights @ errors > 0.05 * weights.sum()
        n_plain += math.isfinite(SelectiveClassifier(frozen(), 0.05).fit(X, y).threshold_)
    assert not exceeds(n_broken, n_draws, 0.05)
    assert n_plain > 0.9 * n_draws


def test_rows_in_regions_that_calibration_has_not_seen_are_not_accepted():
    rng = np.random.default_rng(2)
    X, y = drawn(rng, 4000, [0.9, 0.1, 0.0])
    target = drawn(rng, 4000, [0.8, 0.1, 0.1])[0]
    fitted = SelectiveClassifier(frozen(), 0.1, random_state=0).fit(X, y, X_target=target)
    decided = fitted.decide(target)
    assert not decided.accepted[target[:, 0] == 2].any()
    assert decided.accepted[target[:, 0] < 2].all()
    assert fitted.promise_.shift.n_target_uncovered == (target[:, 0] == 2).sum()
    assert fitted.coverage_ == decided.accepted.mean()
    unseen = decided[int(np.flatnonzero(target[:, 0] == 2)[0])]
    assert "too few calibration rows" in unseen.why()


def test_pairs_without_a_row_left_count_as_wrong():
    n_unpaired = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, target = drawn(rng, 60, CALIBRATION)[0], drawn(rng, 2000, CALIBRATION)[0]
        found = SelectiveClassifier(frozen(), 0.5, random_state=seed).fit(X, np.zeros(60, dtype=int), X_target=target)
        control, shift = found.promise_.controls[None], found.promise_.shift
        assert max(control.loss, control.tried_loss) == shift.n_unpaired
        assert control.n_rows <= len(target) - shift.n_planning
        n_unpaired += shift.n_unpaired
    assert n_unpaired > 0


def test_ranks_within_strata_see_shifts_and_spreads_and_nothing_else():
    rng = np.random.default_rng(4)
    stratum, second = rng.integers(8, size=2000), rng.random(2000)
    second = second < 0.1 + 0.1 * stratum  # the strata differ in size and mix
    values = rng.normal(size=2000) + 3.0 * stratum
    assert differ_p_value(values, second, stratum) > 0.01
    assert spread_p_value(values, second, stratum) > 0.01
    assert differ_p_value(values + 0.3 * second, second, stratum) < 1e-6
    by_hand = sum(
        (rankdata(values[stratum == h])[second[stratum == h]] / ((stratum == h).sum() + 1) - 0.5).sum()
        for h in range(8)
    )
    variance = sum(
        own.sum() * (~own).sum() * len(own) / (12 * (len(own) + 1)) / len(own)
        for own in (second[stratum == h] for h in range(8))
    )
    assert differ_p_value(values, second, stratum) == pytest.approx(2 * norm.sf(abs(by_hand) / math.sqrt(variance)))
    spread = np.where(second, 1.6, 1.0) * (values - 3.0 * stratum) + 3.0 * stratum
    assert differ_p_value(spread, second, stratum) > 0.01
    assert spread_p_value(spread, second, stratum) < 1e-6
    assert differ_p_value(np.ones(2000), second, stratum) == 1.0
    assert differ_p_value(values, np.zeros(2000, dtype=bool), stratum) == 1.0
    found = []
    for _ in range(300):
        stratum = rng.integers(10, size=400)
        second = rng.random(400) < 0.2 + 0.06 * stratum
        values = rng.normal(size=400).round(1) + stratum
        found.append((differ_p_value(values, second, stratum), spread_p_value(values, second, stratum)))
    assert ((np.array(found) <= 0.05).mean(axis=0) < 0.09).all()


@fitted_once
def partition():
    rng = np.random.default_rng(6)
    y = rng.integers(2, size=6000)
    X = rng.normal(size=(6000, 3)) + 2.0 * y[:, None]
    return FrozenEstimator(SEPClassifier(random_state=0, max_ellipsoids=10).fit(X[:1000], y[:1000])), X, y


def test_a_shift_inside_regions_is_seen(tmp_path):
    model, X, y = partition()
    honest = SelectiveClassifier(model, 0.1, random_state=0).fit(X[1000:3500], y[1000:3500], X_target=X[3500:])
    check = honest.promise_.shift.check
    region, is_target = np.unique(model.decide(X[1000:]).region, return_inverse=True)[1], np.arange(5000) >= 2500
    columns = [model.decide(X[1000:]).trust, *X[1000:].T]
    tests = [one(values, is_target, region) for values in columns for one in (differ_p_value, spread_p_value)]
    assert check.n_tests == len(tests) == 8
    assert check.p_value == pytest.approx(min(1.0, 8 * min(tests)))
    assert not check.is_sign
    older = X[3500:][np.argsort(X[3500:, 2])[1000:]]
    shifted = SelectiveClassifier(model, 0.1, random_state=0).fit(X[1000:3500], y[1000:3500], X_target=older)
    assert shifted.promise_.shift.check.is_sign
    assert "Beware: within regions, x2" in shifted.summary()
    save(honest, tmp_path / "shift.sepc")
    loaded = load(tmp_path / "shift.sepc")
    assert loaded.summary() == honest.summary()
    assert (loaded.decide(X).accepted == honest.decide(X).accepted).all()
    assert honest.decide(X).accepted.any()
    assert loaded.promise_.risk_bound is None
    with pytest.raises(TypeError, match="region"):
        onnx.export(honest, tmp_path / "shift.onnx")


def test_tables_with_categories_and_gaps_are_compared():
    pd = package_or_skip("pandas")
    rng = np.random.default_rng(7)
    y = rng.integers(2, size=4000)
    X = pd.DataFrame({"p": rng.normal(size=4000) + 3.0 * y, "kind": rng.choice(["u", "v", "w"], size=4000)})
    X.loc[rng.random(4000) < 0.02, "p"] = np.nan
    model = FrozenEstimator(SEPClassifier(random_state=0).fit(X[:800], y[:800]))
    target = X[2500:]
    same = SelectiveClassifier(model, 0.2, random_state=0).fit(X[800:2500], y[800:2500], X_target=target)
    assert same.promise_.shift.check.n_tests == 6
    odd = target[(target["kind"] != "u") | (rng.random(len(target)) < 0.2)]
    seen = SelectiveClassifier(model, 0.2, random_state=0).fit(X[800:2500], y[800:2500], X_target=odd)
    assert (seen.promise_.shift.check.column, seen.promise_.shift.check.is_sign) == ("kind", True)
