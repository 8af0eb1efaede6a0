"""The review queue as a query strategy of scikit-activeml."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_blobs
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.lifecycle import ReviewQueue
from sepc.lifecycle.reviewing.query_strategy import _strategy_class, query_strategy

base = package_or_skip("skactiveml.base")
exceptions = package_or_skip("skactiveml.exceptions")

X, Y = make_blobs(4000, centers=[[0, 0], [4, 0]], random_state=0)
POOL, TRUTH = X[1000:], Y[1000:]


@fitted_once
def shared_model():
    return SEPClassifier().fit(X[:1000], Y[:1000])


def strategy_and_queue():
    kind = base.SingleAnnotatorPoolQueryStrategy
    queue = ReviewQueue(shared_model(), 1, coverage=0.8, random_state=0)
    strategy = query_strategy(queue, random_state=0)
    assert isinstance(strategy, kind)
    return strategy, queue


def test_a_loop_over_a_pool_certifies():
    strategy, queue = strategy_and_queue()
    y = np.full(len(POOL), np.nan)
    for _ in range(9):
        asked = strategy.query(POOL, y, batch_size=50)
        assert len(set(asked.tolist())) == 50
        assert np.isnan(y[asked]).all()
        y[asked] = TRUTH[asked]
    assert queue.certificate().n_labels == 400
    assert queue.certificate().coverage >= 0.8


def test_utilities_are_those_of_the_rows_left():
    strategy, _ = strategy_and_queue()
    y = np.full(len(POOL), np.nan)
    y[:10] = TRUTH[:10]
    asked, utilities = strategy.query(POOL, y, batch_size=5, return_utilities=True)
    assert utilities.shape == (5, len(POOL))
    assert np.isnan(utilities[:, :10]).all()
    assert np.isnan(utilities[4, asked[:4]]).all()
    assert all(utilities[i, one] > 0.0 for i, one in enumerate(asked))
    assert np.nansum(utilities[0]) == pytest.approx(1.0)


def test_labels_wait_until_all_of_a_batch_and_of_those_before_are_known():
    strategy, queue = strategy_and_queue()
    y = np.full(len(POOL), np.nan)
    asked = strategy.query(POOL, y, batch_size=20)
    y[asked[:19]] = TRUTH[asked[:19]]
    second = strategy.query(POOL, y, batch_size=20)
    assert queue.certificate().n_labels == 0
    y[second] = TRUTH[second]
    strategy.query(POOL, y, batch_size=20)
    assert queue.certificate().n_labels == 0
    y[asked] = TRUTH[asked]
    strategy.query(POOL, y, batch_size=20)
    assert queue.certificate().n_labels == 40


def test_candidates_may_be_positions_only():
    strategy, _ = strategy_and_queue()
    y, some = np.full(len(POOL), np.nan), np.arange(500, 900)
    assert np.isin(strategy.query(POOL, y, candidates=some, batch_size=10), some).all()
    with pytest.raises(exceptions.MappingError, match="Use index array"):
        strategy.query(POOL, y, candidates=POOL[:100])


def test_the_batch_is_filled_when_nothing_is_left_to_certify():
    strategy = query_strategy(ReviewQueue(shared_model(), 20, coverage=0.8, rows=POOL, random_state=0))
    y = np.full(20, np.nan)
    assert sorted(strategy.query(POOL[:20], y, batch_size=20)) == list(range(20))


def test_without_scikit_activeml_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skactiveml.base", None)
    _strategy_class.cache_clear()
    with pytest.raises(ImportError, match="pip install scikit-activeml"):
        query_strategy(ReviewQueue(shared_model(), 1))
