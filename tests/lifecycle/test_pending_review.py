"""Labels that come late: they count in the order of the draws, whenever they come."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from sepc import SEPClassifier
from sepc.lifecycle import ReviewQueue

X, Y = make_blobs(6000, centers=[[0, 0], [4, 0]], random_state=0)
MODEL = SEPClassifier().fit(X[:1000], Y[:1000])
DAYS = [slice(1000 * day, 1000 * (day + 1)) for day in (1, 2, 3)]


def queue_with_reviews(certify_share=1.0):
    """A queue that has chosen for three days before any label comes; the same each time."""
    queue = ReviewQueue(MODEL, 70, coverage=0.8, certify_share=certify_share, random_state=0)
    return queue, [queue.choose(X[day]) for day in DAYS]


def truth(review):
    """Labels of the review, every ninth of them made to contradict the model."""
    labels = Y[DAYS[review.number - 1]][review.positions]
    return np.where(np.arange(len(labels)) % 9 == 4, 1 - review.label, labels)


def evidence_of(queue):
    return np.concatenate([getattr(queue.evidence_, name) for name in ("n_labels", "n_errors", "log_now", "log_peak")])


def test_evidence_does_not_depend_on_when_labels_come():
    at_once, reviews = queue_with_reviews()
    for review in reviews:
        at_once.learn(review, truth(review))
    rng = np.random.default_rng(0)
    for _ in range(5):
        late, reviews = queue_with_reviews()
        for review in reviews:
            late.learn(review, [], [], complete=False)
        parts = [(review, some) for review in reviews for some in np.array_split(rng.permutation(70), 6)]
        for i in rng.permutation(len(parts)):
            review, some = parts[i]
            late.learn(review, truth(review)[some], review.positions[some], complete=False)
        np.testing.assert_array_equal(evidence_of(late), evidence_of(at_once))
        assert late.certificate() == at_once.certificate()


def test_labels_wait_for_one_that_was_drawn_before_them():
    queue, (first, second, _) = queue_with_reviews()
    without = np.delete(np.arange(70), 30)
    found = queue.learn(first, truth(first)[without], first.positions[without], complete=False)
    assert (found.n_labels, found.n_waiting) == (20, 49)
    assert "(49 more wait for labels of rows drawn earlier)" in str(found)
    found = queue.learn(second, truth(second))
    assert (found.n_labels, found.n_waiting) == (20, 119)
    found = queue.learn(first, [truth(first)[30]], [first.positions[30]], complete=False)
    assert (found.n_labels, found.n_waiting) == (140, 0)


def test_what_is_open_at_the_end_counts_as_an_error():
    queue, (first, *_) = queue_with_reviews()
    queue.learn(first, first.label[:60], first.positions[:60], complete=False)
    found = queue.learn(first, [], [])
    assert (found.n_labels, found.n_errors, found.n_waiting) == (70, 10, 0)
    with pytest.raises(ValueError, match="is complete already"):
        queue.learn(first, first.label)


def test_a_label_given_again_changes_nothing():
    queue, (first, *_) = queue_with_reviews()
    queue.learn(first, first.label[:65], first.positions[:65], complete=False)
    found = queue.learn(first, np.concatenate([1 - first.label[:65], first.label[65:]]), complete=False)
    assert (found.n_labels, found.n_errors) == (70, 0)


def test_open_rows_to_decide_hold_nothing_up():
    queue, (first, second, _) = queue_with_reviews(certify_share=0.5)
    assert queue.learn(first, first.label[:35], first.positions[:35], complete=False).n_labels == 35
    assert queue.learn(second, second.label).n_labels == 70
    assert queue.learn(first, first.label[35:], first.positions[35:]).n_labels == 70
