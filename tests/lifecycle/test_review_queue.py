"""The review queue: draws that are fair, evidence that holds, reasons in words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from monte_carlo import exceeds
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.lifecycle import ReviewQueue
from sepc.lifecycle.reviewing.review_batch import Purpose
from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.lifecycle.reviewing.trust_bands import bands_of

X, Y = make_blobs(6000, centers=[[0, 0], [4, 0]], random_state=0)


@fitted_once
def shared_model():
    return SEPClassifier().fit(X[:1000], Y[:1000])


def days(queue, n_days, n_rows=1000):
    """Reviews and certificates of some days."""
    for day in range(n_days):
        today = slice(1000 + n_rows * day, 1000 + n_rows * (day + 1))
        review = queue.choose(X[today])
        yield review, queue.learn(review, Y[today][review.positions])


def test_certifies_and_then_aims_higher():
    queue = ReviewQueue(shared_model(), 100, coverage=0.8, random_state=0)
    found = list(days(queue, 4))
    coverages = [certificate.coverage for _, certificate in found]
    assert coverages[0] == 0.0
    assert coverages[-1] >= 0.8
    assert found[0][0].plan.coverage >= 0.8
    assert found[-1][0].plan.coverage > coverages[-1] - 1e-9
    accepted = shared_model().decide(X[1000:]).trust >= found[-1][1].threshold
    assert (shared_model().predict(X[1000:]) != Y[1000:])[accepted].mean() < 0.02


def test_certificate_is_said_in_words():
    queue = ReviewQueue(shared_model(), 200, coverage=0.8, random_state=0)
    assert str(queue.certificate()) == "Nothing is certified yet, after 0 labels, 0 of them wrong."
    (*_, (_, certificate)) = days(queue, 2)
    assert str(certificate).startswith("At most 2 % of rows with trust >= 0.9")
    assert str(certificate).endswith(f"after 400 labels, {certificate.n_errors} of them wrong.")


def test_rows_to_certify_are_drawn_and_the_rest_are_the_least_trusted():
    queue = ReviewQueue(shared_model(), 40, coverage=0.8, certify_share=0.5, random_state=0)
    review = queue.choose(X[1000:2000])
    assert len(set(review.positions.tolist())) == 40
    assert (review.purpose == np.repeat([Purpose.CERTIFY, Purpose.DECIDE], 20)).all()
    trust = shared_model().decide(X[1000:2000]).trust
    assert (review.trust == trust[review.positions]).all()
    assert review.trust[20:].tolist() == np.sort(trust)[:20].tolist()
    assert (review.band[:20] <= review.plan.aim).all()
    assert (review.region == shared_model().apply(X[1000:2000])[review.positions]).all()


def test_reasons_name_band_region_and_what_is_still_needed():
    review = ReviewQueue(shared_model(), 40, coverage=0.8, certify_share=0.5, random_state=0).choose(X[1000:2000])
    first, last = review.why(0), review.why(39)
    assert first.startswith(f"Row {review.positions[0]}: drawn at random from the ")
    assert "more labels are expected to certify the 8" in first
    assert f"of these rows lie ({review.regions.where[0]})" in first
    assert "region" not in first
    assert "least trusted" in last
    assert " training cases" in last
    assert str(review).startswith("40 rows to look at: 20 to certify, 20 to decide. About ")


def test_only_drawn_labels_are_evidence():
    queue = ReviewQueue(shared_model(), 40, coverage=0.8, certify_share=0.5, random_state=0)
    review = queue.choose(X[1000:2000])
    labels = Y[1000:2000][review.positions].copy()
    labels[20:] = 1 - review.label[20:]
    assert queue.learn(review, labels).n_labels == 20
    assert queue.certificate().n_errors == int((labels != review.label)[:20].sum())


def test_a_label_that_is_missing_counts_as_an_error():
    queue = ReviewQueue(shared_model(), 20, coverage=0.8, random_state=0)
    review = queue.choose(X[1000:2000])
    truth = Y[1000:2000]
    kept = review.positions[:-3]
    found = queue.learn(review, truth[kept][::-1], kept[::-1])
    assert found.n_errors == 3 + int((truth[kept] != review.label[:-3]).sum())


def test_labels_are_learnt_once_and_of_rows_that_were_asked_for():
    queue = ReviewQueue(shared_model(), 20, random_state=0)
    review = queue.choose(X[1000:2000])
    with pytest.raises(ValueError, match="There are 3 labels for 20 rows"):
        queue.learn(review, [0, 1, 0])
    stranger = int(np.setdiff1d(np.arange(1000), review.positions)[0])
    with pytest.raises(ValueError, match=f"Row {stranger} is not in this review"):
        queue.learn(review, [0], [stranger])
    with pytest.raises(ValueError, match="use the label type passed to fit"):
        queue.learn(review, review.label.astype(str))
    queue.learn(review, review.label)
    with pytest.raises(ValueError, match="is complete already"):
        queue.learn(review, review.label)


def test_draws_stop_before_a_band_has_run_out():
    queue = ReviewQueue(shared_model(), 50, coverage=0.8, rows=X[1000:], random_state=0)
    few = X[1000:1060]
    review = queue.choose(few)
    certify = review.purpose == Purpose.CERTIFY
    band = queue.evidence_.bands.of(shared_model().decide(few).trust)
    left = np.bincount(band, minlength=6) - np.bincount(review.band[certify], minlength=6)
    assert len(set(review.positions.tolist())) == len(review) <= 50
    assert certify.sum() < 50
    assert left[: review.plan.aim + 1].min() == 0


def test_no_row_of_a_band_means_no_draw():
    queue = ReviewQueue(shared_model(), 10, coverage=0.8, rows=X[1000:], random_state=0)
    trust = shared_model().decide(X[1000:]).trust
    review = queue.choose(X[1000:][np.argsort(trust)[-20:]])
    assert not (review.purpose == Purpose.CERTIFY).any()


def test_a_hopeless_target_gives_way_to_a_stricter_one():
    bands = bands_of(np.linspace(1.0, 0.5, 1000), 0.8, 0.02)
    evidence = Evidence.none(bands, 0.02, 0.95)
    drawn, _ = evidence.draws(bands.target)
    band = np.repeat(np.arange(bands.target + 1), 100)
    assert not evidence.is_hopeless(bands.target, 5000)
    after = evidence.after(band, (band == bands.target) & (np.arange(len(band)) % 2 == 0), drawn)
    assert after.is_hopeless(bands.target, 5000)
    assert not after.is_hopeless(0, 5000)
    assert after.is_hopeless(0, 10)


class Overconfident:
    """Sure of itself and often wrong: `X` has the trust, and is not looked at further."""

    classes_ = np.arange(2)

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def predict_proba(self, X):
        return np.column_stack([X[:, 0], 1.0 - X[:, 0]])


@pytest.mark.slow
def test_false_certificates_are_rare():
    rng = np.random.default_rng(0)
    n_false = 0
    for _ in range(100):
        queue = ReviewQueue(Overconfident(), 100, coverage=0.8, rows=rng.uniform(0.9, 1, (4000, 1)), random_state=rng)
        for _ in range(6):
            today = rng.uniform(0.9, 1.0, (800, 1))
            wrong = rng.random(800) < 0.05 * (1.0 - today[:, 0]) / 0.1  # 2.0 % of the most trusted 80 %
            review = queue.choose(today)
            queue.learn(review, wrong[review.positions].astype(int))
        n_false += queue.certificate().coverage >= 0.8
    assert not exceeds(n_false, 100, 0.05)


def test_any_classifier_with_probabilities_will_do():
    model = LogisticRegression().fit(X[:1000], Y[:1000])
    review = ReviewQueue(model, 10, random_state=0).choose(X[1000:2000])
    assert review.region is None
    assert "region" not in review.why(0)
    with pytest.raises(TypeError, match="RidgeClassifier has neither decide nor predict_proba"):
        ReviewQueue(RidgeClassifier().fit(X[:1000], Y[:1000]), 10).choose(X)


def test_review_is_a_frame_in_order():
    review = ReviewQueue(shared_model(), 5, random_state=0).choose(X[1000:2000])
    frame = review.to_frame()
    assert frame["position"].tolist() == review.positions.tolist()
    assert frame["why"][4] == review.why(4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"max_risk": 0.0}, "max_risk is 0.0"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"coverage": 1.5}, "coverage is 1.5"),
        ({"certify_share": -0.1}, "certify_share is -0.1"),
    ],
)
def test_parameters_are_checked(wrong, said):
    with pytest.raises(ValueError, match=said):
        ReviewQueue(shared_model(), **{"budget": 10} | wrong)


@pytest.mark.slow
def test_threads_share_a_queue():
    """Eight threads choose and learn at once: every label counts once, and in the order of the draws."""
    queue = ReviewQueue(shared_model(), 20, coverage=0.8, rows=X, random_state=0)

    def work(i):
        rows = X[i * 10 : i * 10 + 500]
        review = queue.choose(rows)
        queue.certificate()
        queue.to_bytes()
        return review, queue.learn(review, review.label)

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(work, range(200)))
    assert sorted(review.number for review, _ in done) == list(range(1, 201))
    n_certify = sum(int((review.purpose == Purpose.CERTIFY).sum()) for review, _ in done)
    found = queue.certificate()
    assert (found.n_labels, found.n_errors, found.n_waiting) == (n_certify, 0, 0)
    assert queue.reviews_ == {}


def test_few_rows_do_not_define_bands():
    with pytest.raises(
        ValueError, match="There are 299 rows to define bands of trust, and their shares take at least 300"
    ):
        ReviewQueue(shared_model(), 20).choose(X[:299])
    queue = ReviewQueue(shared_model(), 20, coverage=0.8, rows=X[:300], random_state=0)
    assert 0 < len(queue.choose(X[:40])) <= 20
