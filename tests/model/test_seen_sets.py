"""Verdicts on known sets are kept with a model, and change nothing."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.datasets import make_classification

from sepc import SEPClassifier
from sepc.model import count_rules
from sepc.model.count_rules import judge_seen, judge_sets

X, Y = make_classification(400, n_features=4, n_classes=3, n_informative=4, n_redundant=0, flip_y=0.2, random_state=0)
NEW = np.random.default_rng(0).normal(scale=2.0, size=(300, 4))


@pytest.fixture(scope="module", params=["weights", "counts", "published"])
def fitted(request):
    return pickle.dumps(SEPClassifier(trust=request.param).fit(X, Y))


def same(left, right):
    for name in (field.name for field in fields(left)):
        if isinstance(getattr(left, name), np.ndarray):
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


@pytest.mark.slow
def test_a_model_decides_alike_when_fresh_and_when_used(fitted):
    used = pickle.loads(fitted)
    for row in NEW:
        used.decide(row[None])
    same(used.decide(NEW), pickle.loads(fitted).decide(NEW))


def test_every_set_is_judged_as_by_itself_and_once(fitted, monkeypatch):
    model, judged = pickle.loads(fitted).model_, []
    monkeypatch.setattr(count_rules, "judge_sets", lambda *args: judged.append(len(args[1])) or judge_sets(*args))
    every = np.arange(len(model.table.counts))
    for some in (every[::3], every, every[::-1]):
        kept = judge_seen(model, np.append(some, -1))
    for name, values in vars(judge_sets(model, model.table.memberships)).items():
        np.testing.assert_array_equal(getattr(kept, name)[:-1], values)
    assert sum(judged) == len(every) + 1


def test_a_changed_model_keeps_nothing_of_the_other(fitted):
    model = pickle.loads(fitted).model_
    region = np.array([0])
    first = judge_seen(model, region).counts[0].copy()
    other = replace(model, table=replace(model.table, counts=3 * model.table.counts))
    np.testing.assert_array_equal(judge_seen(other, region).counts[0], 3 * first)
    np.testing.assert_array_equal(judge_seen(model, region).counts[0], first)


@pytest.mark.quick_cases("weights")
def test_a_model_that_is_gone_leaves_nothing_behind(fitted):
    classifier = pickle.loads(fitted)
    classifier.decide(NEW)
    model, kept = weakref.ref(classifier.model_), weakref.ref(classifier.model_.kept_verdicts)
    del classifier
    gc.collect()
    assert model() is None
    assert kept() is None


@pytest.mark.quick_cases("weights")
def test_what_is_kept_is_not_sent_along(fitted):
    classifier = pickle.loads(fitted)
    classifier.decide(NEW)
    sent = pickle.loads(pickle.dumps(classifier))
    assert classifier.model_.kept_verdicts.is_known.any()
    assert not sent.model_.kept_verdicts.is_known.any()
    same(sent.decide(NEW), classifier.decide(NEW))


def test_threads_share_what_is_kept(fitted):
    shared, wanted = pickle.loads(fitted), pickle.loads(fitted).decide(NEW)
    starts = range(0, 300, 30)
    with ThreadPoolExecutor(4) as pool:
        for start, decided in zip(starts, pool.map(lambda i: shared.decide(NEW[i : i + 30]), starts), strict=True):
            same(decided, wanted[start : start + 30])
