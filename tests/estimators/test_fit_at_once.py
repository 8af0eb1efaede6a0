"""A fit changes an estimator as a whole or not at all, whatever happens meanwhile."""

import pickle
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import sepc
from sepc.errors import NoPromiseWarning
from sepc.estimators.sep.estimator import listen_to_rounds

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SMALL = sepc.SEPClassifier(trust="counts", max_ellipsoids=2)
# Each estimator, and the parameters it is given before it is fitted to the other rows.
ESTIMATORS = {
    "sep": (sepc.SEPClassifier(max_ellipsoids=2), {"trust": "counts"}),
    "trusted": (sepc.TrustedClassifier(SMALL, partition=SMALL, cv=2), {"cv": 3}),
    "stratified": (sepc.RoutedClassifier(SMALL, by="k", min_rows=30), {"by": "z", "default": SMALL}),
    "selective": (sepc.SelectiveClassifier(SMALL, max_risk=0.2, random_state=0), {"max_risk": 0.3, "confidence": 0.9}),
}


def rows(n=120):
    """Columns and labels of two tables that have nothing in common, side by side."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    table["k"], table["z"] = rng.choice(["u", "v"], n), rng.choice(["p", "q", "r"], n)
    table["b"] += 2.0 * (table["k"] == "u")
    old = np.where(table["a"] + table["b"] > 1.0, "yes", "no")
    return table, old, np.digitize(table["c"] - table["d"], [-1.0, 1.0])


TABLE, OLD_LABELS, NEW_LABELS = rows()
OLD, NEW = TABLE[["a", "b", "k"]], TABLE[["z", "c", "d"]]


def answers(model, path):
    """All that a user can ask of a model, a pickle of it and a file of it."""
    sepc.save(model, path)
    found = []
    for each in (model, pickle.loads(pickle.dumps(model)), sepc.load(path)):
        decided = each.decide(TABLE).to_frame()
        names = list(each.feature_names_in_)
        found.append((decided, each.predict(TABLE[names]), each.predict_proba(TABLE[names]), each.classes_.tolist()))
    return [*found, model.summary() if hasattr(model, "summary") else ""]


def assert_same(left, right):
    for mine, other in zip(left[:-1], right[:-1], strict=True):
        pd.testing.assert_frame_equal(mine[0], other[0])
        for a, b in zip(mine[1:], other[1:], strict=True):
            assert_array_equal(a, b)
    assert left[-1] == right[-1]


class Interrupt:
    """Counts the calls of Python functions in this thread, and interrupts at one of them as Ctrl+C does."""

    def __init__(self, at=None):
        self.n, self.at = 0, at

    def __call__(self, frame, event, arg):
        self.n += 1
        if self.n == self.at:
            raise KeyboardInterrupt

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)


def interrupted_fits(name, n, path):
    """How many of `n` fits were interrupted; each leaves the model as it was."""
    estimator, changed = ESTIMATORS[name]
    model = clone(estimator).fit(OLD, OLD_LABELS)
    before = answers(model, path)
    model.set_params(**changed)
    with Interrupt() as every:
        clone(model).fit(NEW, NEW_LABELS)
    n_interrupted = 0
    for at in np.random.default_rng(0).integers(1, every.n, n):
        try:
            with Interrupt(int(at)):
                model.fit(NEW, NEW_LABELS)
        except KeyboardInterrupt:
            n_interrupted += 1
            assert_same(answers(model, path), before)
        else:  # the interruption fell into a callback that lets nothing out, so this is the new model
            model = clone(estimator).fit(OLD, OLD_LABELS).set_params(**changed)
    assert model.fit(NEW, NEW_LABELS).decide(TABLE).classes.tolist() == [0, 1, 2]
    return n_interrupted


@pytest.mark.slow_cases("out of fold", "trusted", "repaired", "selective")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupted_or_failed_fit_leaves_the_old_model(name, tmp_path):
    path = tmp_path / "model.sepc"
    assert interrupted_fits(name, 3, path) >= 2
    estimator, changed = ESTIMATORS[name]
    model = clone(estimator).fit(OLD, OLD_LABELS)
    before = answers(model, path)
    model.set_params(**changed)
    with listen_to_rounds(lambda left: 1 // 0), pytest.raises(ZeroDivisionError):
        model.fit(NEW, NEW_LABELS)
    assert_same(answers(model, path), before)


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_two_hundred_interruptions_leave_the_old_model(name, tmp_path):
    assert interrupted_fits(name, 200, tmp_path / "model.sepc") >= 190


def test_a_promise_that_cannot_be_made_leaves_the_old_model():
    """With warnings as errors, the last step of a fit fails."""
    model = sepc.SelectiveClassifier(SMALL, max_risk=0.2, random_state=0).fit(OLD, OLD_LABELS)
    before = model.decide(TABLE).to_frame(), model.summary()
    model.set_params(max_risk=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoPromiseWarning)
        with pytest.raises(NoPromiseWarning):
            model.fit(NEW, NEW_LABELS)
    pd.testing.assert_frame_equal(model.decide(TABLE).to_frame(), before[0])
    assert model.summary() == before[1]


@pytest.mark.slow_cases("out of fold", "stratified", "repaired", "selective")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_whoever_decides_during_fits_sees_one_model(name):
    estimator: Any = ESTIMATORS[name][0]
    by = {} if "by" not in estimator.get_params() else {"by": estimator.by}
    old = clone(estimator).fit(OLD, OLD_LABELS)
    other = {"by": "z"} if by.get("by") else {}
    new = clone(estimator).set_params(**other).fit(NEW, NEW_LABELS)
    wanted = [each.decide(TABLE).to_frame() for each in (old, new)]
    model, n_seen, wrong, stop = clone(estimator).fit(OLD, OLD_LABELS), [0, 0], [], threading.Event()

    def ask():
        while not stop.is_set() and not wrong:
            try:
                found = model.decide(TABLE).to_frame()
                same = [found.equals(each) for each in wanted]
                n_seen[same.index(True)] += 1
            except Exception as error:  # noqa: BLE001 - the main thread reports it
                wrong.append(error)

    thread, interval = threading.Thread(target=ask), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for _ in range(2):
            model.set_params(**other).fit(NEW, NEW_LABELS)
            model.set_params(**by).fit(OLD, OLD_LABELS)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert not wrong
    assert sum(n_seen) > 0


def test_every_pickle_protocol_takes_a_model_that_has_decided():
    model = clone(SMALL).fit(OLD, OLD_LABELS)
    decided = model.decide(TABLE).to_frame()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(model, protocol))
        pd.testing.assert_frame_equal(again.decide(TABLE).to_frame(), decided)
