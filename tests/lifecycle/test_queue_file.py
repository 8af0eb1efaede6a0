"""A review queue saved and read back, also with labels still to come; files that are no queue are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from zoo import fitted_once

import sepc
from sepc import SEPClassifier
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import ReviewQueue

X, Y = make_blobs(6000, centers=[[0, 0], [4, 0]], random_state=0)
Y = np.array(["blue", "red"])[Y]
DAYS = [slice(1000 * day, 1000 * (day + 1)) for day in (1, 2, 3, 4)]


@fitted_once
def shared_model():
    return SEPClassifier().fit(X[:1000], Y[:1000])


@pytest.fixture
def queue():
    """With a review learnt, one begun, and one of which no label has come."""
    queue = ReviewQueue(shared_model(), 60, coverage=0.8, certify_share=0.8, random_state=0)
    first, second, _ = (queue.choose(X[day]) for day in DAYS[:3])
    queue.learn(first, Y[DAYS[0]][first.positions])
    some = np.r_[0:22, 25:40]
    queue.learn(second, Y[DAYS[1]][second.positions[some]], second.positions[some], complete=False)
    return queue


def finished(queue):
    """The certificate after all labels that are out, and those of another day."""
    for number in list(queue.reviews_):
        review = queue.reviews_[number]
        queue.learn(review, Y[DAYS[number - 1]][review.positions])
    review = queue.choose(X[DAYS[3]])
    return review.positions.tolist(), queue.learn(review, Y[DAYS[3]][review.positions])


def test_a_saved_queue_goes_on_as_if_nothing_had_been(queue, tmp_path):
    queue.save(tmp_path / "queue.sepc")
    again = ReviewQueue.load(tmp_path / "queue.sepc", shared_model())
    assert again.to_bytes() == queue.to_bytes()
    assert again.certificate() == queue.certificate()
    assert again.certificate().n_waiting > 0
    assert list(again.reviews_) == [2, 3]
    assert str(again.reviews_[3]) == str(queue.reviews_[3])
    assert again.reviews_[3].why(0) == queue.reviews_[3].why(0)
    np.testing.assert_array_equal(again.reviews_[3].label, queue.reviews_[3].label)
    assert finished(again) == finished(queue)
    assert again.to_bytes() == queue.to_bytes()


def test_a_queue_before_its_first_day(tmp_path):
    queue = ReviewQueue(shared_model(), np.int64(10), random_state=3)
    again = ReviewQueue.from_bytes(queue.to_bytes(), shared_model())
    assert again.choose(X[1000:2000]).positions.tolist() == queue.choose(X[1000:2000]).positions.tolist()


def test_the_model_must_be_the_same(queue):
    with pytest.raises(ValueError, match="for another model"):
        ReviewQueue.from_bytes(queue.to_bytes(), SEPClassifier().fit(X[:500], Y[:500]))
    with pytest.raises(ValueError, match="for another model"):
        ReviewQueue.from_bytes(queue.to_bytes(), LogisticRegression().fit(X[:500], Y[:500]))


def test_models_without_regions_are_not_compared():
    model = LogisticRegression().fit(X[:500], Y[:500])
    queue = ReviewQueue(model, 10, random_state=0)
    queue.choose(X[1000:2000])
    again = ReviewQueue.from_bytes(queue.to_bytes(), model)
    assert again.reviews_[1].region is None
    assert again.to_bytes() == queue.to_bytes()


def test_other_files_are_refused_both_ways(queue, tmp_path):
    sepc.save(shared_model(), tmp_path / "model.sepc")
    with pytest.raises(FormatError, match="is not a review queue"):
        ReviewQueue.load(tmp_path / "model.sepc", shared_model())
    queue.save(tmp_path / "queue.sepc")
    with pytest.raises(FormatError):
        sepc.load(tmp_path / "queue.sepc")


def test_draws_of_another_generator_cannot_be_saved():
    queue = ReviewQueue(shared_model(), 10, random_state=np.random.Generator(np.random.MT19937(0)))
    with pytest.raises(TypeError, match="MT19937 cannot be saved"):
        queue.to_bytes()


def no_array(arrays, node):
    del arrays["queue/log_peak"]


def more_errors_than_labels(arrays, node):
    arrays["queue/n_errors"] = arrays["queue/n_labels"] + 1.0


def bands_out_of_order(arrays, node):
    arrays["queue/least_trust"] = arrays["queue/least_trust"][::-1].copy()


def a_target_that_is_none(arrays, node):
    node["target"] = 99


def draws_above_one(arrays, node):
    arrays["queue/begun/0/drawn"] = arrays["queue/begun/0/drawn"] + 1.0


def other_draws_than_those_of_its_labels(arrays, node):
    arrays["queue/reviews/0/drawn"] /= 2.0


def counted_but_open(arrays, node):
    node["begun"][0]["n_counted"] = 25


def a_review_of_the_future(arrays, node):
    node["reviews"][0]["number"] = 4


def a_row_twice(arrays, node):
    arrays["queue/reviews/0/positions"][:] = 1


def an_even_increment(arrays, node):
    node["draws"]["inc"] = "2"


def a_risk_of_one(arrays, node):
    node["settings"]["max_risk"] = 1.0


def a_strange_array(arrays, node):
    arrays["queue/strange"] = np.zeros(1)


CHANGES = {
    "log_peak is missing": no_array,
    "more errors than labels": more_errors_than_labels,
    "trust bands that are not nested": bands_out_of_order,
    "trust bands that are not nested, or a wrong target": a_target_that_is_none,
    "are not probabilities": draws_above_one,
    "draws that do not match those of their review": other_draws_than_those_of_its_labels,
    "counts labels that it does not have": counted_but_open,
    "never chosen": a_review_of_the_future,
    "not a review of this queue": a_row_twice,
    "impossible generator state": an_even_increment,
    "shares out of range": a_risk_of_one,
    "an array that no queue has": a_strange_array,
}


@pytest.mark.parametrize("told", CHANGES)
def test_what_no_queue_has_is_refused(queue, told):
    arrays, content = decode(queue.to_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    content = json.loads(json.dumps({name: part for name, part in content.items() if name in ("library", "queue")}))
    CHANGES[told](arrays, content["queue"])
    with pytest.raises(FormatError, match=told):
        ReviewQueue.from_bytes(encode(arrays, content), shared_model())


def test_damaged_bytes_are_refused(queue):
    data = bytearray(queue.to_bytes())
    data[-5] ^= 1
    with pytest.raises(FormatError):
        ReviewQueue.from_bytes(bytes(data), shared_model())
