"""Audit and repair of every model we recommend, and of what stands around it."""

import joblib
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
from sepc import RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import FormatError
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
    "repaired": RoutedClassifier(SEPClassifier()),
    "repaired trusted": RoutedClassifier(TrustedClassifier(TREE, cv=2)),
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
    own = after.is_repaired
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
def test_what_stands_around_stays_and_an_old_promise_does_not(name):
    model, result = fitted(name), repaired(name)
    own = classifier_in(result)
    assert isinstance(own, RoutedClassifier)
    decisions = sepc.decide(result, sides(2000, 3)[0])
    np.testing.assert_array_equal(decisions.accepted, decisions.trust >= own.default_.min_trust)
    assert own.lost_promise_ is ("no longer holds" in own.summary()) is (name in PROMISED)
    assert not hasattr(own, "promise_")
    again = classifier_in(repair(result, *sides(300, 5, changed=True), cv=2))
    assert again.lost_promise_ is (name in PROMISED)
    if name not in IN_PIPELINES:
        assert isinstance(result, RoutedClassifier)
        return
    around = getattr(model, "estimator_", getattr(model, "best_estimator_", model))
    assert type(result) is Pipeline
    assert joblib.hash(result[0]) == joblib.hash(around[0])  # not the same object, if another process made one of them
    assert [step for step, _ in result.steps] == [step for step, _ in around.steps]
    assert classifier_in(clone(result).fit(*sides(300, 4))).routes_ == {}


def test_a_new_promise_is_made_around_the_repaired_model():
    anew = SelectiveClassifier(FrozenEstimator(repaired("selective")), 0.1).fit(*sides(2000, 6, changed=True))
    X, y = sides(4000, 7, changed=True)
    decisions = anew.decide(X)
    assert decisions.accepted.any()
    assert (decisions.label != y)[decisions.accepted].mean() < 0.1
    assert classifier_in(repair(anew, *sides(300, 5, changed=True), cv=2)).lost_promise_


@pytest.mark.parametrize("name", EVERY)
def test_audit_names_the_regions(name):
    X, y = sides(1500, 1, changed=True)
    found = audit(fitted(name), X, y)
    head = found.summary().split("\n")[0]
    assert found.overall.fails == head.startswith("The model as a whole")
    largest = int(np.argmax(np.where(found.regions.failing, found.regions.n_errors - found.regions.expected, -1.0)))
    assert f"{len(found.failing)} of {len(found.regions)} regions" in head
    assert f"{found.regions.where[largest]}, {found.regions.n_errors[largest]} of" in head
    changes = classifier_in(repaired(name)).changes_
    assert {change.region for change in changes} == set(found.to_repair.tolist())
    where = dict(zip(found.regions.region.tolist(), found.regions.where, strict=True))
    assert all(change.where == where[change.region] for change in changes)
    for disjunct in found.disjuncts:
        assert disjunct.where == tuple(where[region] for region in disjunct.regions)
    package_or_skip("pandas")
    assert found.to_frame()["where"].tolist() == found.regions.where.tolist()
    assert found.disjuncts_to_frame()["where"].tolist() == [disjunct.where for disjunct in found.disjuncts]


@pytest.mark.slow
def test_old_rows_of_a_pipeline_are_given_as_they_are():
    X, y = sides(900, 0)
    again = repair(fitted("pipeline"), *sides(1500, 1, changed=True), X_train=X, y_train=y, cv=2)
    fresh = sides(3000, 2, changed=True)
    assert again.score(*fresh) > fitted("pipeline").score(*fresh)


@pytest.mark.parametrize("name", ["sep", "repaired trusted"])
def test_a_file_keeps_everything(name):
    X = sides(1000, 9)[0]
    data = to_bytes(repaired(name))
    trusted = {"estimator": repaired(name).default_.estimator_} if "trusted" in name else {}
    again = from_bytes(data, **trusted)
    for column in ("label", "trust", "cause", "probabilities", "region", "route"):
        np.testing.assert_array_equal(
            getattr(again.decide(X), column), getattr(repaired(name).decide(X), column), column
        )
    assert again.summary() == repaired(name).summary()
    assert to_bytes(again) == data
    lost = from_bytes(to_bytes(repaired("selective")))
    assert lost.lost_promise_
    assert lost.summary() == repaired("selective").summary()


def test_a_trust_layer_is_stored_watched_and_explained():
    data, base = to_bytes(repaired("trusted")), fitted("trusted").estimator_
    arrays, content = decode(data)
    forged = dict(arrays) | {"model/routes": arrays["model/routes"] + 10**6}
    with pytest.raises(FormatError):
        from_bytes(encode(forged, content), estimator=base)
    watching = Monitor(repaired("trusted"), *sides(2000, 10, changed=True))
    X, y = sides(2000, 11)
    assert any(alarm.kind == "error" for alarm in watching.update(X, np.where(y == "left", "right", "left")))
    decisions = repaired("trusted").decide(X)
    one, other = (int(np.flatnonzero(decisions.is_repaired == own)[0]) for own in (True, False))
    assert decisions.why(one).startswith("By the repaired model: ")
    assert decisions.why(other) == fitted("trusted").decide(X).why(other)
