"""Promises for groups: kept in every group at once, with no harm, and nothing for groups that are too small."""

import math

import numpy as np
import pytest
from monte_carlo import exceeds
from optional import package_or_skip
from scipy.stats import fisher_exact
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from zoo import fitted_once

from sepc import Cause, SelectiveClassifier, SEPClassifier, load, report, save, sql
from sepc.estimators.selective.groups import HARM_SHARE, control_groups
from sepc.estimators.selective.thresholds import choose_threshold, choose_together
from sepc.statistics.rates import fewer_p_value, fixed_grid

pd = package_or_skip("pandas")


class Reads(ClassifierMixin, BaseEstimator):
    """Always says 0, with the trust in the first column of its rows."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def predict_proba(self, X):
        trust = np.asarray(X, dtype=object)[:, 0].astype(float)
        return np.column_stack([trust, 1.0 - trust])


def frozen():
    return FrozenEstimator(Reads().fit(np.zeros((2, 2)), [0, 1]))


def rows(seed=0, n=6000, errors=((0.01, 0.2), (0.03, 0.4)), shares=(0.7, 0.3)):
    """Two groups; of rows with trust 0.9 and with trust 0.6, so many are wrong."""
    rng = np.random.default_rng(seed)
    group = rng.choice(len(shares), size=n, p=shares)
    high = rng.random(n) < 0.5
    wrong = rng.random(n) < np.asarray(errors)[group, np.where(high, 0, 1)]
    X = pd.DataFrame({"trust": np.where(high, 0.9, 0.6), "group": np.array(["a", "b", "c", "d"])[group]})
    return X, wrong.astype(int)


@fitted_once
def by_group(one_threshold=False):
    """A promise for two groups, of which the second may be accepted at high trust only."""
    X, y = rows(errors=((0.01, 0.02), (0.02, 0.4)))
    return SelectiveClassifier(frozen(), 0.05, by="group", one_threshold=one_threshold).fit(X, y)


def test_a_threshold_of_its_own_for_each_group():
    (X, y), fitted = rows(errors=((0.01, 0.02), (0.02, 0.4))), by_group()
    assert fitted.threshold_["a"] <= 0.6 < fitted.threshold_["b"] <= 0.9
    accepted = fitted.decide(X).accepted
    assert (accepted == np.where(X["group"] == "a", True, X["trust"] == 0.9)).all()
    each = 1.0 - (1.0 - HARM_SHARE) * 0.05 / 2
    for name in "ab":
        own = (X["group"] == name).to_numpy()
        control = choose_threshold(X["trust"].to_numpy()[own], y[own] == 1, fixed_grid(), 0.05, each)
        assert fitted.promise_.controls[name] == control
    changed = SelectiveClassifier(frozen(), 0.05, by="group").fit(X, y)
    changed.set_params(by="trust", one_threshold=True, parents={"a": "b"})
    assert (changed.decide(X).accepted == accepted).all()
    assert (changed.fit(X, y).decide(X).accepted != accepted).any()


def test_one_threshold_passes_in_every_group_at_the_full_level():
    (X, y), fitted = rows(errors=((0.01, 0.02), (0.02, 0.4))), by_group(True)
    assert len(set(fitted.threshold_.values())) == 1
    assert (fitted.decide(X).accepted == (X["trust"] == 0.9)).all()
    parts = [(X["trust"].to_numpy()[own], y[own] == 1) for own in (X["group"] == "a", X["group"] == "b")]
    full = 1.0 - (1.0 - HARM_SHARE) * 0.05
    assert list(fitted.promise_.controls.values()) == choose_together(parts, fixed_grid(), 0.05, full)
    assert choose_together(parts[:1], fixed_grid(), 0.05, full) == [
        choose_threshold(*parts[0], fixed_grid(), 0.05, full)
    ]
    # Groups need not be known where a row's group changes nothing.
    assert (fitted.decide(X.drop(columns="group").assign(more=0)).accepted == fitted.decide(X).accepted).all()


def test_groups_that_are_too_small_accept_nothing_unless_they_have_a_parent():
    X, y = rows(shares=(0.6, 0.38, 0.01, 0.01), errors=((0.0, 0.0),) * 4, n=6000)
    fitted = SelectiveClassifier(frozen(), 0.02, by="group").fit(X, y)
    assert set(fitted.promise_.controls) == {"a", "b"}
    assert dict(fitted.promise_.groups.small) == X["group"].value_counts()[["c", "d"]].to_dict()
    decided = fitted.decide(X)
    assert (decided.accepted == X["group"].isin(["a", "b"])).all()
    assert "Too small" in fitted.summary()
    small = int(np.flatnonzero(X["group"] == "c")[0])
    assert "group" in decided[small].why()
    assert decided.cause[small] == Cause.UNEXPLAINED
    X, y = rows(shares=(0.6, 0.34, 0.03, 0.03), errors=((0.0, 0.0),) * 4, n=6000)
    joined = SelectiveClassifier(frozen(), 0.02, by="group", parents={"c": "others", "d": "others"}).fit(X, y)
    assert set(joined.promise_.controls) == {"a", "b", "others"}
    assert joined.promise_.controls["others"].n_rows == X["group"].isin(["c", "d"]).sum()
    assert joined.decide(X).accepted.all()
    assert "group = c in group = others" in joined.summary()
    assert not joined.promise_.groups.small


def test_unknown_and_missing_groups():
    X, y = rows(errors=((0.0, 0.0),) * 2)
    X.loc[:400, "group"] = None
    fitted = SelectiveClassifier(frozen(), 0.05, by="group").fit(X, y)
    assert "missing" in fitted.promise_.controls
    new = pd.DataFrame({"trust": [1.0] * 3, "group": ["a", "z", np.nan]})
    assert fitted.decide(new).accepted.tolist() == [True, False, True]


def test_groups_need_not_be_features():
    (X, y), inside = rows(errors=((0.01, 0.02), (0.02, 0.4))), by_group()
    bare = X[["trust"]].assign(other=0.0)
    for groups in (X["group"], X[["group"]], {"group": list(X["group"])}, X["group"].to_numpy()[:, None]):
        fitted = SelectiveClassifier(frozen(), 0.05, by="group").fit(bare, y, groups=groups)
        assert fitted.promise_.controls == inside.promise_.controls
        assert (fitted.decide(bare, groups=groups).accepted == inside.decide(X).accepted).all()
    with pytest.raises(ValueError, match="'group'"):
        fitted.decide(bare)
    with pytest.raises(ValueError, match="5 rows"):
        fitted.decide(bare, groups=X["group"][:5])


def test_two_columns_and_positions():
    X, y = rows(errors=((0.0, 0.0),) * 2)
    X["half"] = np.arange(len(X)) % 2
    fitted = SelectiveClassifier(frozen(), 0.05, by=["group", "half"]).fit(X, y)
    assert set(fitted.promise_.controls) == {("a", 0), ("a", 1), ("b", 0), ("b", 1)}
    assert "with group = a, half = 0 are wrong" in fitted.summary()
    array = np.column_stack([X["trust"], X["group"] == "a"]).astype(float)
    by_position = SelectiveClassifier(frozen(), 0.05, by=1).fit(array, y)
    assert set(by_position.promise_.controls) == {0.0, 1.0}
    assert "x1 = 1.0" in by_position.summary()


@pytest.mark.parametrize("one_threshold", [False, True])
def test_promises_of_all_groups_are_kept_together_over_many_draws(one_threshold):
    """Every group is wrong a little more often than promised at every threshold, so each promise made is broken."""
    rng, n_broken, n_draws, trust = np.random.default_rng(1), 0, 400, np.linspace(0.5, 0.99, 50)
    sizes = dict.fromkeys(range(5), 300)
    for _ in range(n_draws):
        code = np.repeat(np.arange(5), 300)
        wrong = rng.random(1500) < 0.0505
        drawn = trust[rng.integers(50, size=1500)]
        controls, _ = control_groups(drawn, wrong, code, sizes, fixed_grid(), 0.05, 0.95, one_threshold)[:2]
        n_broken += any(math.isfinite(control.threshold) for control in controls.values())
    assert not exceeds(n_broken, n_draws, 0.05)
    assert one_threshold or n_broken >= 4  # the level is used, not thrown away


def test_no_harm_is_shown_where_abstaining_helps_and_seldom_elsewhere():
    rng, n_shown, n_draws = np.random.default_rng(2), 0, 300
    sizes = dict.fromkeys(range(3), 400)
    for _ in range(n_draws):
        code, wrong = np.repeat(np.arange(3), 400), rng.random(1200) < 0.03
        found = control_groups(rng.random(1200), wrong, code, sizes, fixed_grid(), 0.1, 0.5, False)[1]
        n_shown += any(harm.is_shown for harm in found.values())
    assert n_shown <= 0.1 * n_draws
    X, y = rows(errors=((0.01, 0.3), (0.02, 0.4)))
    fitted = SelectiveClassifier(frozen(), 0.05, by="group").fit(X, y)
    for name, harm in fitted.promise_.groups.no_harm.items():
        own = X["group"] == name
        accepted = own & (X["trust"] >= fitted.threshold_[name])
        assert (harm.n_accepted, harm.n_errors) == (accepted.sum(), y[accepted].sum())
        assert (harm.n_refused, harm.n_refused_errors) == ((own & ~accepted).sum(), y[own & ~accepted].sum())
        assert harm.is_shown
        counts = harm.n_errors, harm.n_accepted, harm.n_refused_errors, harm.n_refused
        each = 2 * len(np.unique(fixed_grid())) * fewer_p_value(*counts)
        assert harm.p_value == pytest.approx(each, rel=1e-9, abs=0.0)
    assert fitted.summary().count("No harm") == 2
    table = [[3, 97], [20, 80]]
    assert fewer_p_value(3, 100, 20, 100) == pytest.approx(fisher_exact(table, alternative="less").pvalue, rel=1e-9)


def test_a_report_gives_the_results_of_each_group():
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=3000)
    X = pd.DataFrame(rng.normal(size=(3000, 2)) + 2.2 * y[:, None], columns=["p", "q"])
    group = np.where(X["p"] > 1.0, "high", "low")
    model = FrozenEstimator(SEPClassifier(random_state=0).fit(X[:1000], y[:1000]))
    fitted = SelectiveClassifier(model, 0.1, by="side").fit(X[1000:], y[1000:], groups=group[1000:])
    decided = fitted.decide(X[1000:], groups=group[1000:])
    shown = report(fitted, X[1000:], y[1000:], groups=group[1000:])
    (results,) = shown.figures.results
    assert [own.name for own in results.groups] == [check.about for check in shown.figures.checks]
    for own in results.groups:
        rows = decided[group[1000:] == own.name.removeprefix("side = ")]
        assert (own.n_rows, own.n_accepted) == (len(rows), rows.accepted.sum())
    assert "By group of the promise" in str(shown)


def test_saved_loaded_and_exported_with_one_threshold_only(tmp_path):
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=2400)
    X = pd.DataFrame(rng.normal(size=(2400, 2)) + 2.5 * y[:, None], columns=["p", "q"])
    model = FrozenEstimator(SEPClassifier(random_state=0).fit(X[:400], y[:400]))
    groups = {
        "sex": rng.choice(["f", "m"], size=2400),
        "land": rng.choice(["x", "y", "z"], size=2400, p=[0.6, 0.39, 0.01]),
    }
    part = {name: values[400:] for name, values in groups.items()}
    parents = {("f", "z"): "rest", ("m", "z"): "rest"}
    fitted = SelectiveClassifier(model, 0.1, by=["sex", "land"], parents=parents).fit(X[400:], y[400:], groups=part)
    assert fitted.promise_.groups.small
    save(fitted, tmp_path / "groups.sepc")
    loaded = load(tmp_path / "groups.sepc")
    for name in ("by", "parents", "threshold_"):
        assert getattr(loaded, name) == getattr(fitted, name)
    assert loaded.promise_.risk_bound == fitted.promise_.risk_bound
    assert loaded.summary() == fitted.summary()
    new, old = (own.decide(X[400:], groups=part) for own in (loaded, fitted))
    assert (new.accepted == old.accepted).all()
    assert old.accepted.any()
    with pytest.raises(TypeError, match="one_threshold"):
        sql.export(fitted, "duckdb", "t")
    shared = SelectiveClassifier(model, 0.1, by="sex", one_threshold=True).fit(X[400:], y[400:], groups=part["sex"])
    assert repr(next(iter(shared.threshold_.values()))) in sql.export(shared, "duckdb", "t")
