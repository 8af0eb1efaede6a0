"""Comparing two models gives exactly the decisions that differ, found row by row without the library's help."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from optional import package_or_skip
from scipy.stats import beta
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from zoo import fitted_once

import sepc
from sepc import SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.lifecycle import repair

N = 700


@fitted_once
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(3 * N, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=3 * N) > 0.0, "right", "left")
    corner = np.abs(X[:, :2] - 0.5).max(axis=1) < 0.3
    later = np.where(corner, "left", y)
    return X, y, later


@fitted_once
def first():
    X, y, _ = rows()
    return SEPClassifier().fit(X[:N], y[:N])


def with_model(classifier, **changes):
    """The same classifier with parts of its fitted model replaced."""
    made = copy.copy(classifier)
    made.model_ = replace(classifier.model_, **changes)
    return made


@fitted_once
def repaired():
    X, _, later = rows()
    return repair(first(), X[N : 2 * N], later[N : 2 * N])


def other_curve():
    """The curve of the first feature halved, as an expert might edit it."""
    weights = first().model_.weights
    lines, levels = weights.lines.copy(), weights.levels.copy()
    lines[0] *= 0.5
    levels[: weights.n_knots[0] + 1] *= 0.5
    return with_model(first(), weights=replace(weights, lines=lines, levels=levels))


@fitted_once
def other_threshold():
    return sepc.SEPClassifier(min_trust=0.8).fit(*(part[:N] for part in rows()[:2]))


@fitted_once
def refitted():
    X, _, later = rows()
    return SEPClassifier().fit(X[N : 2 * N], later[N : 2 * N])


PLANTED = {
    "regions": repaired,
    "weights": other_curve,
    "threshold": other_threshold,
    "model": refitted,
}


def by_brute_force(old, new, X):
    """The rows whose label, acceptance or cause differs, asked one at a time."""
    found = []
    for i in range(len(X)):
        before, after = (sepc.decide(model, X[i : i + 1])[0] for model in (old, new))
        if (before.label, before.accepted, before.cause) != (after.label, after.accepted, after.cause):
            found.append(i)
    return found


@pytest.mark.slow_cases("regions")
@pytest.mark.parametrize("part", PLANTED)
def test_exactly_the_decisions_that_differ(part):
    X, _, later = rows()
    old, new = first(), PLANTED[part]()
    some = slice(2 * N, 2 * N + 300)
    found = sepc.compare(old, new, X[some], later[some])
    expected = by_brute_force(old, new, X[some])
    assert found.rows.position.tolist() == expected
    assert 0 < len(expected) < 300
    assert part in found.parts
    assert set(found.rows.part) <= {part, *found.parts}
    assert (found.rows.part == part).any()


def test_counts_add_up_and_match_the_rows():
    """And intervals are those of Clopper and Pearson; labels may be missing."""
    X, _, later = rows()
    group = np.where(X[2 * N :, 1] > 0, "up", "down")
    found = sepc.compare(first(), refitted(), X[2 * N :], later[2 * N :], group)
    before, after = first().decide(X[2 * N :]), refitted().decide(X[2 * N :])
    total, changed = found.total, np.isin(np.arange(N), found.rows.position)
    assert total.n_label[0] == (before.label != after.label).sum()
    assert total.n_acceptance[0] == (before.accepted != after.accepted).sum()
    assert (total.n_accepted_before[0], total.n_accepted_after[0]) == (before.accepted.sum(), after.accepted.sum())
    for counts, keys in ((found.regions, before.region), (found.groups, group), (found.classes, before.label)):
        for i, key in enumerate(counts.key):
            here = keys == key
            assert (counts.n_rows[i], counts.n_changed[i]) == (here.sum(), (here & changed).sum())
            assert counts.n_right_after[i] == (here & changed & (after.label == later[2 * N :])).sum()
        assert counts.n_changed.sum() == found.n_changed
    n, right = int(total.n_labelled[0]), int(total.n_right_after[0])
    low, high = total.intervals()["after"]
    assert low[0] == pytest.approx(beta.ppf(0.025, right, n - right + 1))
    assert high[0] == pytest.approx(beta.ppf(0.975, right + 1, n - right))
    y = later[2 * N :].astype(object)
    y[::2] = None
    assert sepc.compare(first(), refitted(), X[2 * N :], y).total.n_labelled[0] == changed[1::2].sum()


def test_the_same_model_changes_nothing():
    X = rows()[0][2 * N :]
    found = sepc.compare(first(), FrozenEstimator(first()), X)
    assert found.is_same
    assert found.parts == frozenset()
    assert "No decision changes" in found.summary()


def test_other_classifiers_are_compared_by_their_decisions():
    X, y, _ = rows()
    foreign = LogisticRegression().fit(X[:N], y[:N])
    pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X[:N], y[:N])
    for old, new in ((first(), foreign), (foreign, pipeline), (pipeline, first())):
        found = sepc.compare(old, new, X[2 * N :])
        before, after = sepc.decide(old, X[2 * N :]), sepc.decide(new, X[2 * N :])
        differs = (before.label != after.label) | (before.cause != after.cause)
        assert found.rows.position.tolist() == np.flatnonzero(differs).tolist()
        assert "model" in found.parts


def test_a_layer_of_trust_may_move_its_threshold():
    X, y, _ = rows()
    old = TrustedClassifier(LogisticRegression(), random_state=0).fit(X[:300], y[:300])
    new = copy.copy(old)
    new.min_trust = 0.7
    found = sepc.compare(old, new, X[2 * N :])
    assert found.parts == {"threshold"}
    assert set(found.rows.part) == {"threshold"}
    assert found.thresholds == ("trust >= 0.950", "trust >= 0.700")


def test_promises_stand_side_by_side():
    X, y, _ = rows()
    frozen = FrozenEstimator(first())
    old, new = (
        SelectiveClassifier(frozen, risk, random_state=0).fit(X[N : 2 * N], y[N : 2 * N]) for risk in (0.05, 0.1)
    )
    found = sepc.compare(old, new, X[2 * N :], y[2 * N :])
    assert found.parts == {"threshold"}
    assert [promises[0][:11] for promises in found.promises] == ["At most 5 %", "At most 10 "]
    assert all(promises[0] in found.summary() for promises in found.promises)
    assert (found.rows.accepted_after & ~found.rows.accepted_before).all()


def test_groups_of_a_promise_come_from_what_is_given():
    X, y, _ = rows()
    ward = np.where(X[:, 1] > 0, "a", "b")
    frozen = FrozenEstimator(first())
    old, new = (
        SelectiveClassifier(frozen, risk, by="ward").fit(X[N : 2 * N], y[N : 2 * N], groups={"ward": ward[N : 2 * N]})
        for risk in (0.1, 0.15)
    )
    found = sepc.compare(old, new, X[2 * N :], groups={"ward": ward[2 * N :]})
    before, after = (model.decide(X[2 * N :], groups={"ward": ward[2 * N :]}) for model in (old, new))
    assert found.total.n_acceptance[0] == (before.accepted != after.accepted).sum() > 0
    assert set(found.groups.name) == {"ward = a", "ward = b"}


def test_tables_keep_their_index_and_name_groups_by_column():
    pd = package_or_skip("pandas")
    X, y, later = rows()
    table = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"row {i}" for i in range(len(X))])
    table["side"] = np.where(X[:, 1] > 0, "up", "down")
    old, new = (SEPClassifier().fit(table[:N].drop(columns="side"), labels[:N]) for labels in (y, later))
    found = sepc.compare(old, new, table[2 * N :], groups="side")
    frame = found.to_frame()
    assert frame.index.tolist() == [f"row {2 * N + i}" for i in found.rows.position]
    assert set(frame["group"]) <= {"up", "down"}
    assert found.to_frame("group")["n_changed"].sum() == len(frame)
    assert found.to_frame("part")["n_changed"].sum() == len(frame)
    with pytest.raises(ValueError, match="by is 'rows'"):
        found.to_frame("rows")


def test_models_of_other_labels_are_refused():
    X, y, _ = rows()
    numbers = SEPClassifier().fit(X[:N], (y[:N] == "left").astype(int))
    with pytest.raises(ValueError, match="same labels"):
        sepc.compare(first(), numbers, X[2 * N :])
    with pytest.raises(ValueError, match="X is empty"):
        sepc.compare(first(), first(), X[:0])
    with pytest.raises(ValueError, match="one label"):
        sepc.compare(first(), first(), X[2 * N :], y)
