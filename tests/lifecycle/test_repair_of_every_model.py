"""Audit and repair of every model we recommend, and of what stands around it."""

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from weekly import weekly
from zoo import fitted_once

import sepc
from sepc import FormatError, RepairedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor, audit, repair
from sepc.model_files import from_bytes, to_bytes

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
FIRST_TWO = FunctionTransformer(lambda rows: np.asarray(rows)[:, :2])
SELECTIVE = SelectiveClassifier(SEPClassifier(), 0.1, random_state=0)

MODELS = {
    "sep": SEPClassifier(),
    "trusted": TrustedClassifier(TREE, cv=2, min_trust=0.8),
    "trusted with a transformer": TrustedClassifier(TREE, transformer=FIRST_TWO, cv=2),
    "selective": SELECTIVE,
    "selective around trusted": SelectiveClassifier(TrustedClassifier(TREE, cv=2), 0.1, random_state=0),
    "selective around a pipeline": SelectiveClassifier(
        make_pipeline(StandardScaler(), SEPClassifier()), 0.1, random_state=0
    ),
    "pipeline": make_pipeline(StandardScaler(), SEPClassifier()),
    "pipeline with a promise": make_pipeline(StandardScaler(), SELECTIVE),
    "pipeline in a pipeline": make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), TrustedClassifier(TREE))),
    "search": GridSearchCV(SEPClassifier(), {"min_trust": [0.9]}, cv=2),
    "search over a pipeline": GridSearchCV(
        make_pipeline(StandardScaler(), SEPClassifier()), {"sepclassifier__min_trust": [0.9]}, cv=2
    ),
    "repaired": RepairedClassifier(SEPClassifier()),
    "repaired trusted": RepairedClassifier(TrustedClassifier(TREE, cv=2)),
}
# One for each way in which a model stands in another; the others are for the slow tests.
QUICK = {
    *("sep", "trusted with a transformer", "selective around a pipeline", "pipeline with a promise"),
    *("search over a pipeline", "repaired trusted"),
}
EVERY = [name if name in QUICK else weekly(name) for name in MODELS]
PROMISED = [name for name in MODELS if "selective" in name or "promise" in name]
IN_PIPELINES = [name for name in MODELS if "pipeline" in name]


def sides(n, seed, changed=False):
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, 3))
    y = np.where(X[:, 0] > 0.0, "right", "left")
    if changed:
        y[np.abs(X[:, :2] - 0.5).max(axis=1) < 0.25] = "left"
    return X, y


@fitted_once
def fitted(name):
    return clone(MODELS[name]).fit(*sides(900, 0))


@fitted_once
def repaired(name):
    return repair(fitted(name), *sides(1500, 1, changed=True), cv=2)


def classifier_in(model):
    while isinstance(model, Pipeline):
        model = model[-1]
    return model


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_repaired_regions_are_better_and_nothing_else_changes(name):
    X, y = sides(3000, 2, changed=True)
    before, after = sepc.decide(fitted(name), X), sepc.decide(repaired(name), X)
    own = after.repaired
    assert 0.0 < own.mean() < 0.7
    assert (after.label != y)[own].mean() < 0.6 * (before.label != y)[own].mean()
    for column in ("label", "trust", "probabilities", "region"):
        np.testing.assert_array_equal(getattr(after, column)[~own], getattr(before, column)[~own], column)
    if name not in PROMISED:
        np.testing.assert_array_equal(after.accepted[~own], before.accepted[~own])
        np.testing.assert_array_equal(after.cause[~own], before.cause[~own])
    np.testing.assert_array_equal(after.region, before.region)
    np.testing.assert_array_equal(repaired(name).predict(X), after.label)


@pytest.mark.parametrize("name", EVERY)
def test_one_trust_for_all_regions(name):
    decisions = sepc.decide(repaired(name), sides(2000, 3)[0])
    least = classifier_in(repaired(name)).estimator_.min_trust
    np.testing.assert_array_equal(decisions.accepted, decisions.trust >= least)


@pytest.mark.parametrize("name", EVERY)
def test_what_stands_around_stays(name):
    model, result = fitted(name), repaired(name)
    assert isinstance(classifier_in(result), RepairedClassifier)
    if name not in IN_PIPELINES:
        assert isinstance(result, RepairedClassifier)
        return
    around = getattr(model, "estimator_", getattr(model, "best_estimator_", model))
    assert type(result) is Pipeline
    assert result[0] is around[0]
    assert [step for step, _ in result.steps] == [step for step, _ in around.steps]
    anew = clone(result).fit(*sides(300, 4))
    assert classifier_in(anew).repaired_ == {}


@pytest.mark.parametrize("name", EVERY)
def test_an_old_promise_does_not_stand(name):
    own = classifier_in(repaired(name))
    assert own.lost_promise_ is (name in PROMISED)
    assert ("no longer holds. Make a new one on rows that were not used" in own.summary()) is (name in PROMISED)
    assert not hasattr(own, "controls_")
    again = repair(repaired(name), *sides(300, 5, changed=True))
    assert classifier_in(again).lost_promise_ is (name in PROMISED)


def test_a_new_promise_is_made_around_the_repaired_model():
    anew = SelectiveClassifier(FrozenEstimator(repaired("selective")), 0.1).fit(*sides(2000, 6, changed=True))
    X, y = sides(4000, 7, changed=True)
    decisions = anew.decide(X)
    assert decisions.accepted.any()
    assert (decisions.label != y)[decisions.accepted].mean() < 0.1
    assert classifier_in(repair(anew, *sides(300, 5, changed=True))).lost_promise_


@pytest.mark.parametrize("name", EVERY)
def test_audit_names_the_regions(name):
    X, y = sides(1500, 1, changed=True)
    found = audit(fitted(name), X, y)
    head = found.summary().split("\n")[0]
    assert found.overall.fails == head.startswith("The model as a whole is wrong more often than it claims: ")
    largest = int(np.argmax(np.where(found.regions.failing, found.regions.n_errors - found.regions.expected, -1.0)))
    assert f"{len(found.failing)} of {len(found.regions)} regions fail" in head
    assert f"the largest: {found.regions.where[largest]}, {found.regions.n_errors[largest]} of" in head
    changes = classifier_in(repaired(name)).changes_
    assert {change.region for change in changes} == set(found.to_repair.tolist())
    where = dict(zip(found.regions.region.tolist(), found.regions.where, strict=True))
    assert all(change.where == where[change.region] for change in changes)
    for disjunct in found.disjuncts:
        assert disjunct.where == tuple(where[region] for region in disjunct.regions)


def test_tables_name_the_regions():
    package_or_skip("pandas")
    found = audit(fitted("trusted"), *sides(1500, 1, changed=True))
    assert found.to_frame()["where"].tolist() == found.regions.where.tolist()
    assert found.disjuncts_to_frame()["where"].tolist() == [disjunct.where for disjunct in found.disjuncts]


@pytest.mark.slow
def test_old_rows_of_a_pipeline_are_given_as_they_are():
    X, y = sides(900, 0)
    again = repair(fitted("pipeline"), *sides(1500, 1, changed=True), X_train=X, y_train=y, cv=2)
    fresh = sides(3000, 2, changed=True)
    assert again.score(*fresh) > fitted("pipeline").score(*fresh)


@pytest.mark.slow
def test_an_audit_of_other_feedback_chooses_regions():
    found = audit(fitted("trusted"), *sides(1900, 8, changed=True))
    chosen = repair(fitted("trusted"), *sides(1500, 1, changed=True), audit=found, cv=2)
    assert {change.region for change in chosen.changes_} == set(found.to_repair.tolist())
    rows = sum(np.isin(fitted("trusted").decide(sides(1500, 1)[0]).region, found.to_repair))
    assert sum(change.n_judged for change in chosen.changes_) == rows


@pytest.mark.parametrize("name", ["trusted", "repaired trusted"])
def test_a_file_keeps_everything(name):
    X = sides(1000, 9)[0]
    data, base = to_bytes(repaired(name)), repaired(name).estimator_.estimator_
    again = from_bytes(data, estimator=base)
    for column in ("label", "trust", "cause", "probabilities", "region", "repaired", "rule", "counts"):
        np.testing.assert_array_equal(
            getattr(again.decide(X), column), getattr(repaired(name).decide(X), column), column
        )
    assert again.summary() == repaired(name).summary()
    assert to_bytes(again) == data


def test_a_lost_promise_is_lost_in_a_file_too():
    again = from_bytes(to_bytes(repaired("selective")))
    assert again.lost_promise_
    assert again.summary() == repaired("selective").summary()


def test_a_forged_region_of_a_trust_layer_is_refused():
    data, base = to_bytes(repaired("trusted")), fitted("trusted").estimator_
    arrays, content = decode(data)
    forged = dict(arrays) | {"model/regions": arrays["model/regions"] + 10**6}
    with pytest.raises(FormatError):
        from_bytes(encode(forged, content), estimator=base)


def test_a_repaired_trust_layer_is_watched():
    watching = Monitor(repaired("trusted"), *sides(2000, 10, changed=True))
    X, y = sides(2000, 11)
    assert any(alarm.kind == "error" for alarm in watching.update(X, np.where(y == "left", "right", "left")))


def test_reasons_of_a_repaired_trust_layer():
    decisions = repaired("trusted").decide(sides(1000, 9)[0])
    one, other = (int(np.flatnonzero(decisions.repaired == own)[0]) for own in (True, False))
    assert decisions.why(one).startswith("By the repaired model: ")
    assert decisions.why(other) == fitted("trusted").decide(sides(1000, 9)[0]).why(other)
