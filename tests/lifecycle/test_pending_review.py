"""Labels that come late: they count in the order of the draws, whenever they come."""

from __future__ import annotations

import numpy as np
import pytest
from monte_carlo import exceeds
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.lifecycle import ReviewQueue

X, Y = make_blobs(6000, centers=[[0, 0], [4, 0]], random_state=0)
DAYS = [slice(1000 * day, 1000 * (day + 1)) for day in (1, 2, 3)]


@fitted_once
def shared_model():
    return SEPClassifier().fit(X[:1000], Y[:1000])


def queue_with_reviews(certify_share=1.0):
    """A queue that has chosen for three days before any label comes; the same each time."""
    queue = ReviewQueue(shared_model(), 70, coverage=0.8, certify_share=certify_share, random_state=0)
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
    assert "(49 more wait for labels of review 1)" in str(found)
    found = queue.learn(second, truth(second))
    assert (found.n_labels, found.n_waiting) == (20, 119)
    found = queue.learn(first, [truth(first)[30]], [first.positions[30]], complete=False)
    assert (found.n_labels, found.n_waiting) == (140, 0)


def test_a_review_not_begun_holds_up_those_after_it_until_it_is_closed():
    queue, (first, second, third) = queue_with_reviews()
    found = queue.learn(second, truth(second))
    assert (found.n_labels, found.n_waiting, found.waits_for) == (0, 70, 1)
    assert (
        str(found) == "Nothing is certified yet, after 0 labels, 0 of them wrong (70 more wait for labels of review 1)."
    )
    again = ReviewQueue.from_bytes(queue.to_bytes(), shared_model())
    for held in (queue, again):
        assert "held back  70 labels, until review 1 has its labels" in repr(held)
        found = held.close(first)
        assert (found.n_labels, found.n_errors, found.n_waiting, found.waits_for) == (140, 70 + 8, 0, None)
        with pytest.raises(ValueError, match="Review 1 is complete already"):
            held.learn(first, truth(first))
        assert held.learn(third, truth(third)).n_labels == 210


@pytest.mark.slow  # attacks/test_known_breaks.py does the same in every run
def test_wrong_labels_that_come_late_prove_nothing():
    # Of all rows 4 % are wrong, and 2 % are promised. Whoever reviews keeps what shows an error for 30 days.
    n_false, model = 0, LogisticRegression().fit(X[:1000], Y[:1000])
    for seed in range(40):
        rng = np.random.default_rng(seed)
        queue = ReviewQueue(model, 20, coverage=1.0, rows=X[1000:], random_state=seed)
        late = []
        for day in range(60):
            rows = X[rng.integers(1000, 6000, size=200)]
            review = queue.choose(rows)
            wrong = rng.random(len(review)) < 0.04
            labels = np.where(wrong, 1 - review.label, review.label)
            late.append((day + 30 if wrong.any() else day, review, labels))
            for _, *given in [one for one in late if one[0] == day]:
                queue.learn(*given)
        n_false += queue.certificate().is_certified
    assert not exceeds(n_false, 40, 0.05)  # labels counted as they come would certify nearly all


def test_a_review_of_another_queue_is_refused():
    queue, (first, *_) = queue_with_reviews()
    other = ReviewQueue(shared_model(), 70, coverage=0.8, random_state=1)
    theirs = [other.choose(X[day]) for day in (*DAYS, *DAYS)]
    with pytest.raises(ValueError, match="Review 1 is not a review of this queue; those still open are in `reviews_`"):
        queue.learn(theirs[0], theirs[0].label)
    with pytest.raises(ValueError, match="Review 5 is not a review of this queue"):
        queue.learn(theirs[4], theirs[4].label)
    assert queue.learn(first, first.label).n_labels == 70


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
