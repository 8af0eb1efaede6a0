"""Monitor and ReviewQueue take every model that we recommend, alone or wrapped, and name features as they came in."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import Cause, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor, Purpose, ReviewQueue, repair

pd = package_or_skip("pandas")

NAMES = ["length", "width", "depth"]
MODELS: dict[str, Any] = {
    "weights": SEPClassifier(),
    "counts": SEPClassifier(trust="counts"),
    "trusted": TrustedClassifier(LogisticRegression(), cv=2),
    "selective": SelectiveClassifier(SEPClassifier(), 0.1, random_state=0),
    "selective around trusted": SelectiveClassifier(TrustedClassifier(LogisticRegression(), cv=2), 0.1, random_state=0),
    "repaired": RoutedClassifier(SEPClassifier()),
    "repaired trusted": RoutedClassifier(TrustedClassifier(LogisticRegression(), cv=2)),
}
AROUND = ["alone", "frozen", "pipeline", "search", "selective around a pipeline"]


@cache
def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = pd.DataFrame(rng.normal(size=(n, 3)) + 2.2 * y[:, None], columns=NAMES)
    return X, np.array(["no", "yes"])[y]


def drifted():
    X, y = rows(1000, 3)
    return X + [0.0, 1.5, 0.0], y


def with_gaps_and_colours(n, seed):
    X, y = rows(n, seed)
    rng = np.random.default_rng(seed)
    X = X.assign(colour=np.where(rng.random(n) < 0.3, "red", "blue"))
    return X.mask(rng.random(X.shape) < 0.05), y


def fit_alone(name, X, y):
    if name.startswith("repaired"):
        inside = clone(MODELS[name].estimator).fit(X[:200], y[:200])
        return repair(inside, X[200:], y[200:], regions=[0, 1])
    return clone(MODELS[name]).fit(X, y)


@cache
def fitted(name, how):
    X, y = rows(400, 0)
    if how == "pipeline":
        scaler = StandardScaler().fit(X)
        return Pipeline([("scale", scaler), ("model", fit_alone(name, scaler.transform(X), y))])
    if how == "search":
        options = MODELS[name].get_params()
        knob = next(knob for knob in ("min_trust", "confidence", "estimator") if knob in options)
        return GridSearchCV(MODELS[name], {knob: [options[knob]]}, cv=2).fit(X, y)
    if how == "selective around a pipeline":
        pipeline = make_pipeline(StandardScaler(), clone(MODELS[name]))
        return SelectiveClassifier(pipeline, 0.1, random_state=0).fit(X, y)
    return fit_alone(name, X, y) if how == "alone" else FrozenEstimator(fit_alone(name, X, y))


@pytest.mark.quick_cases(
    *("weights-alone", "weights-pipeline", "counts-alone", "trusted-frozen", "selective-alone"),
    *("repaired-alone", "repaired trusted-alone"),
)
@pytest.mark.parametrize(("name", "how"), list(product(MODELS, AROUND)))
def test_every_model_is_monitored_and_has_reviews(name, how):
    model, calm = fitted(name, how), rows(1000, 2)
    monitor = Monitor(model, *rows(1500, 1))
    assert monitor.update(calm[0]) == monitor.update_labels(*calm) == []
    loaded = Monitor.from_bytes(monitor.to_bytes(), model)
    alarms = monitor.update(*drifted())
    assert loaded.update(*drifted()) == alarms
    assert {shift.name for alarm in alarms for shift in alarm.moved} <= set(NAMES)
    assert alarms[0].moved[0].name == "width"
    refused = monitor.decide(drifted()[0]).cause == Cause.DRIFTED
    assert refused.any()
    again = Monitor.from_bytes(monitor.to_bytes(), model)
    assert again.alarms == monitor.alarms
    assert again.to_bytes() == monitor.to_bytes()
    np.testing.assert_array_equal(again.decide(drifted()[0]).cause == Cause.DRIFTED, refused)
    assert "DRIFTED" in again.decide(drifted()[0])[int(np.flatnonzero(refused)[0])].why()
    wrong = np.where(model.predict(calm[0]) == "yes", "no", "yes")
    assert "error" in {alarm.kind for alarm in loaded.update_labels(calm[0], wrong)}
    workers = [again.fresh(), again.fresh()]
    for i, worker in enumerate(workers):
        worker.update(calm[0][i::2], calm[1][i::2])
    merged = again.fresh().merge(workers[0], Monitor.from_bytes(workers[1].to_bytes(), model))
    assert (merged.n_rows, merged.alarms) == (1000, ())
    queue = ReviewQueue(model, budget=40, certify_share=0.5, random_state=0)
    review = queue.choose(calm[0])
    assert set(review.purpose) == set(Purpose)
    assert list(review.to_frame()["where"]) == list(review.regions.where)
    some, left = review.positions[::2], review.positions[1::2]
    queue.learn(review, calm[1][some], some, complete=False)
    other = ReviewQueue.from_bytes(queue.to_bytes(), model)
    assert other.to_bytes() == queue.to_bytes()
    assert other.reviews_[1].why(0) == review.why(0)
    assert other.learn(other.reviews_[1], calm[1][left], left) == queue.learn(review, calm[1][left], left)
    assert queue.certificate().n_labels == (review.purpose == Purpose.CERTIFY).sum()


def test_tables_with_categories_and_gaps_are_watched():
    model = SEPClassifier().fit(*with_gaps_and_colours(600, 0))
    monitor = Monitor(model, *with_gaps_and_colours(1500, 1))
    monitor.update(*with_gaps_and_colours(500, 2))
    X, y = with_gaps_and_colours(1000, 3)
    assert monitor.update(X.assign(width=X["width"] + 1.5), y)[0].moved[0].name == "width"
    assert len(ReviewQueue(model, budget=10, random_state=0).choose(X)) == 10


def test_models_without_regions_have_reviews_and_no_monitor():
    X, y = rows(600, 0)
    table = X.assign(group=np.arange(len(X)) % 2)
    model = RoutedClassifier(SEPClassifier(), by=["group"], min_rows=100).fit(table, y)
    queue = ReviewQueue(model, budget=10, random_state=0)
    assert queue.choose(table).regions is None
    assert ReviewQueue.from_bytes(queue.to_bytes(), model).reviews_[1].regions is None
    with pytest.raises(TypeError, match="has none"):
        Monitor(model, table, y)


@pytest.mark.parametrize("features", [["length"], ["length", 3, "depth"], None])
def test_forged_names_of_features_are_refused(features):
    model = fitted("weights", "alone")
    queue = ReviewQueue(model, budget=10, random_state=0)
    queue.choose(rows(1000, 2)[0])
    for saved, kind in ((Monitor(model, *rows(1500, 1)), "monitor"), (queue, "queue")):
        arrays, content = decode(saved.to_bytes())
        content[kind]["features"] = features
        with pytest.raises(FormatError, match="features"):
            type(saved).from_bytes(encode(arrays, content), model)
