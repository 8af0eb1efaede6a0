"""Verdicts on known sets are kept with a model, and change nothing."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from zoo import fitted_once

from sepc import SEPClassifier

X, Y = make_classification(400, n_features=4, n_classes=3, n_informative=4, n_redundant=0, flip_y=0.2, random_state=0)
NEW = np.random.default_rng(0).normal(scale=2.0, size=(300, 4))


@fitted_once
def trained(trust):
    return SEPClassifier(trust=trust).fit(X, Y)


def fresh(trust):
    return pickle.loads(pickle.dumps(trained(trust)))


def same(left, right):
    for name in (field.name for field in fields(left)):
        if isinstance(getattr(left, name), np.ndarray):
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)


@pytest.mark.parametrize("trust", ["weights", "counts", "published"])
def test_a_model_decides_alike_when_fresh_used_and_shared_by_threads(trust):
    used, wanted = fresh(trust), fresh(trust).decide(NEW)
    for row in NEW[::3]:
        used.decide(row[None])
    same(used.decide(NEW), wanted)
    shared, starts = fresh(trust), range(0, 300, 30)
    with ThreadPoolExecutor(4) as pool:
        for start, decided in zip(starts, pool.map(lambda i: shared.decide(NEW[i : i + 30]), starts), strict=True):
            same(decided, wanted[start : start + 30])


def test_every_set_is_judged_once_and_a_changed_model_keeps_nothing_of_the_other():
    classifier = fresh("counts")
    first = classifier.decide(NEW)
    known = np.unique(first.region[first.place < 0])
    kept = classifier.model_.kept_verdicts
    # Only what was asked for is judged, besides the verdicts on no ellipsoid and on an unknown set.
    judged, members = np.flatnonzero(kept.is_known[:-1]), classifier.model_.table.memberships
    assert kept.is_known[known].all()
    assert (np.isin(judged, known) | ~members[judged].any(axis=1)).all()
    assert len(judged) < len(members)
    table = classifier.model_.table
    classifier.model_ = replace(classifier.model_, table=replace(table, counts=3 * table.counts))
    inside = first.place < 0
    np.testing.assert_array_equal(classifier.decide(NEW).counts[inside], 3 * first.counts[inside])


def test_what_is_kept_is_not_sent_along_and_goes_with_its_model():
    classifier = fresh("weights")
    decided = classifier.decide(NEW)
    sent = pickle.loads(pickle.dumps(classifier))
    assert classifier.model_.kept_verdicts.is_known.any()
    assert not sent.model_.kept_verdicts.is_known.any()
    same(sent.decide(NEW), decided)
    model, kept = weakref.ref(classifier.model_), weakref.ref(classifier.model_.kept_verdicts)
    del classifier, decided
    gc.collect()
    assert model() is None
    assert kept() is None
