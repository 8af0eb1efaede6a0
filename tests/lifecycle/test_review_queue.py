"""The review queue: draws that are fair, evidence that holds whenever labels come, reasons in words."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from blobs import DAYS, NUMBERS, X, shared_model
from monte_carlo import exceeds
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from sepc.lifecycle import Purpose, ReviewQueue
from sepc.lifecycle.reviewing.batch import bands_of
from sepc.lifecycle.reviewing.certificate import Evidence

Y, TODAY = NUMBERS, DAYS[0]


def queue_of(budget, **options):
    return ReviewQueue(shared_model(True), budget, **{"coverage": 0.8, "random_state": 0} | options)


def days(queue, n_days):
    """Reviews and certificates of some days."""
    for today in DAYS[:n_days]:
        review = queue.choose(X[today])
        yield review, queue.learn(review, Y[today][review.positions])


def test_certifies_and_then_aims_higher():
    found = list(days(queue_of(100), 4))
    coverages = [certificate.coverage for _, certificate in found]
    assert coverages[0] == 0.0
    assert coverages[-1] >= 0.8
    assert found[0][0].plan.coverage >= 0.8
    assert found[-1][0].plan.coverage > coverages[-1] - 1e-9
    accepted = shared_model(True).decide(X[1000:]).trust >= found[-1][1].threshold
    assert (shared_model(True).predict(X[1000:]) != Y[1000:])[accepted].mean() < 0.02


def test_rows_to_certify_are_drawn_and_the_rest_are_the_least_trusted():
    review = queue_of(40, certify_share=0.5).choose(X[TODAY])
    assert len(set(review.positions.tolist())) == 40
    assert (review.purpose == np.repeat([Purpose.CERTIFY, Purpose.DECIDE], 20)).all()
    trust = shared_model(True).decide(X[TODAY]).trust
    assert (review.trust == trust[review.positions]).all()
    assert review.trust[20:].tolist() == np.sort(trust)[:20].tolist()
    assert (review.band[:20] <= review.plan.aim).all()
    assert (review.region == shared_model(True).apply(X[TODAY])[review.positions]).all()
    first, last = review.why(0), review.why(39)
    assert first.startswith(f"Row {review.positions[0]}: drawn at random")
    assert f"({review.regions.where[0]})" in first
    assert "region" not in first
    assert "least trusted" in last
    frame = review.to_frame()
    assert frame["position"].tolist() == review.positions.tolist()
    assert frame["why"][39] == last


def test_only_drawn_labels_are_evidence():
    queue = queue_of(40, certify_share=0.5)
    review = queue.choose(X[TODAY])
    labels = Y[TODAY][review.positions].copy()
    labels[20:] = 1 - review.label[20:]
    assert queue.learn(review, labels).n_labels == 20
    assert queue.certificate().n_errors == int((labels != review.label)[:20].sum())


def test_labels_are_learnt_once_and_of_rows_that_were_asked_for():
    queue = queue_of(20)
    review = queue.choose(X[TODAY])
    stranger = int(np.setdiff1d(np.arange(1000), review.positions)[0])
    for given, said in (
        (([0, 1, 0],), "3 labels for 20"),
        (([0], [stranger]), f"Row {stranger}"),
        ((review.label.astype(str),), "label type"),
    ):
        with pytest.raises(ValueError, match=said):
            queue.learn(review, *given)
    queue.learn(review, review.label)
    with pytest.raises(ValueError, match="complete"):
        queue.learn(review, review.label)


def test_draws_stop_before_a_band_has_run_out():
    queue, few = queue_of(50, rows=X[1000:]), X[1000:1060]
    review = queue.choose(few)
    certify = review.purpose == Purpose.CERTIFY
    band = queue.evidence_.bands.of(shared_model(True).decide(few).trust)
    left = np.bincount(band, minlength=6) - np.bincount(review.band[certify], minlength=6)
    assert len(set(review.positions.tolist())) == len(review) <= 50
    assert certify.sum() < 50
    assert left[: review.plan.aim + 1].min() == 0
    trust = shared_model(True).decide(X[1000:]).trust
    none = queue_of(10, rows=X[1000:]).choose(X[1000:][np.argsort(trust)[-20:]])
    assert not (none.purpose == Purpose.CERTIFY).any()


def test_few_rows_do_not_define_bands():
    with pytest.raises(ValueError, match="299 rows"):
        ReviewQueue(shared_model(True), 20).choose(X[:299])
    assert 0 < len(queue_of(20, rows=X[:300]).choose(X[:40])) <= 20


# Labels that come late.


def queue_with_reviews(certify_share=1.0):
    """A queue that has chosen for three days before any label comes; the same each time."""
    queue = queue_of(70, certify_share=certify_share)
    return queue, [queue.choose(X[day]) for day in DAYS[:3]]


def truth(review):
    """Labels of the review, every ninth of them made to contradict the model."""
    labels = Y[DAYS[review.number - 1]][review.positions]
    return np.where(np.arange(len(labels)) % 9 == 4, 1 - review.label, labels)


def test_evidence_does_not_depend_on_when_labels_come():
    at_once, reviews = queue_with_reviews()
    for review in reviews:
        at_once.learn(review, truth(review))
    rng = np.random.default_rng(0)
    for _ in range(3):
        late, reviews = queue_with_reviews()
        parts = [(review, some) for review in reviews for some in np.array_split(rng.permutation(70), 6)]
        for i in rng.permutation(len(parts)):
            review, some = parts[i]
            late.learn(review, truth(review)[some], review.positions[some], complete=False)
        for name in ("n_labels", "n_errors", "log_now", "log_peak"):
            np.testing.assert_array_equal(getattr(late.evidence_, name), getattr(at_once.evidence_, name))
        assert late.certificate() == at_once.certificate()


def test_labels_wait_for_one_that_was_drawn_before_them():
    queue, (first, second, _) = queue_with_reviews()
    without = np.delete(np.arange(70), 30)
    found = queue.learn(first, truth(first)[without], first.positions[without], complete=False)
    assert (found.n_labels, found.n_waiting) == (20, 49)
    assert "49 more wait" in str(found)
    found = queue.learn(second, truth(second))
    assert (found.n_labels, found.n_waiting) == (20, 119)
    found = queue.learn(first, [truth(first)[30]], [first.positions[30]], complete=False)
    assert (found.n_labels, found.n_waiting) == (140, 0)


def test_a_review_not_begun_holds_up_those_after_it_until_it_is_closed():
    queue, (first, second, third) = queue_with_reviews()
    found = queue.learn(second, truth(second))
    assert (found.n_labels, found.n_waiting, found.waits_for) == (0, 70, 1)
    again = ReviewQueue.from_bytes(queue.to_bytes(), shared_model(True))
    for held in (queue, again):
        assert "held back" in repr(held)
        found = held.close(first)
        assert (found.n_labels, found.n_errors, found.n_waiting, found.waits_for) == (140, 70 + 8, 0, None)
        with pytest.raises(ValueError, match="complete"):
            held.learn(first, truth(first))
        assert held.learn(third, truth(third)).n_labels == 210


def test_what_is_missing_at_the_end_counts_as_an_error_and_what_is_given_again_changes_nothing():
    queue, (first, second, _) = queue_with_reviews()
    kept = first.positions[:-10]
    queue.learn(first, first.label[:-10][::-1], kept[::-1], complete=False)
    found = queue.learn(first, [], [])
    assert (found.n_labels, found.n_errors, found.n_waiting) == (70, 10, 0)
    queue.learn(second, second.label[:65], second.positions[:65], complete=False)
    found = queue.learn(second, np.concatenate([1 - second.label[:65], second.label[65:]]), complete=False)
    assert (found.n_labels, found.n_errors) == (140, 10)


def test_open_rows_to_decide_hold_nothing_up():
    queue, (first, second, _) = queue_with_reviews(certify_share=0.5)
    assert queue.learn(first, first.label[:35], first.positions[:35], complete=False).n_labels == 35
    assert queue.learn(second, second.label).n_labels == 70
    assert queue.learn(first, first.label[35:], first.positions[35:]).n_labels == 70


def test_a_review_of_another_queue_is_refused():
    queue, (first, *_) = queue_with_reviews()
    other = queue_of(70, random_state=1)
    theirs = [other.choose(X[day]) for day in (*DAYS, *DAYS)]
    for number in (1, 5):
        with pytest.raises(ValueError, match=f"Review {number} is not"):
            queue.learn(theirs[number - 1], theirs[number - 1].label)
    assert queue.learn(first, first.label).n_labels == 70


@pytest.mark.slow  # attacks/test_known_breaks.py does the same in every run
def test_wrong_labels_that_come_late_prove_nothing():
    # Of all rows 4 % are wrong, and 2 % are promised. Whoever reviews keeps what shows an error for 30 days.
    n_false, model = 0, LogisticRegression().fit(X[:1000], Y[:1000])
    for seed in range(40):
        rng = np.random.default_rng(seed)
        queue = ReviewQueue(model, 20, coverage=1.0, rows=X[1000:], random_state=seed)
        late = []
        for day in range(60):
            review = queue.choose(X[rng.integers(1000, 6000, size=200)])
            wrong = rng.random(len(review)) < 0.04
            labels = np.where(wrong, 1 - review.label, review.label)
            late.append((day + 30 if wrong.any() else day, review, labels))
            for _, *given in [one for one in late if one[0] == day]:
                queue.learn(*given)
        n_false += queue.certificate().is_certified
    assert not exceeds(n_false, 40, 0.05)  # labels counted as they come would certify nearly all


# Bands of trust, and the sets of rows that evidence certifies.


def test_bands_keep_ties_together_and_hold_the_target():
    bands = bands_of(np.repeat([0.99, 0.98, 0.9, 0.6], [400, 300, 200, 100]), 0.75, 0.02)
    assert bands.coverage[bands.target] == 0.9
    assert bands.coverage.tolist() == [0.4, 0.7, 0.9, 1.0]
    assert bands.of(np.array([1.0, 0.99, 0.985, 0.95, 0.9, 0.6, 0.1])).tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert bands.claimed_risk == pytest.approx([0.01, 0.02, 0.1, 0.4])
    without = bands_of(np.repeat([0.999, 0.8], [600, 400]), None, 0.02)  # the cheapest for its size is taken
    assert without.coverage[without.target] == 0.6


def test_sets_are_certified_in_order_and_stay_so():
    bands = bands_of(np.linspace(1.0, 0.9, 1000), 0.5, 0.02)
    evidence, wrong = Evidence.none(bands, 0.02, 0.95), np.zeros(400, dtype=bool)
    drawn, n_more = evidence.draws(bands.target)
    band = np.random.default_rng(0).permutation(np.repeat(np.arange(bands.target + 1), 100))
    after = evidence.after(band, wrong, drawn)
    assert 149 < n_more < 1000
    assert evidence.certified == -1
    assert after.certified == bands.target
    worse = after.after(band, ~wrong, drawn)
    assert worse.log_now[bands.target] < 0.0
    assert worse.certified == bands.target
    none = np.zeros(len(bands))
    peak = np.append(none[:-1], 100.0)  # of a larger set than the target, which waits for it
    assert Evidence(bands, 0.02, 0.95, none, none, peak, peak).certified == -1


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
    review = ReviewQueue(LogisticRegression().fit(X[:1000], Y[:1000]), 10, random_state=0).choose(X[TODAY])
    assert review.region is None
    assert "region" not in review.why(0)
    with pytest.raises(TypeError, match="RidgeClassifier"):
        ReviewQueue(RidgeClassifier().fit(X[:1000], Y[:1000]), 10).choose(X)


def test_parameters_are_checked():
    for name, value in {
        "budget": 0,
        "max_risk": 0.0,
        "confidence": 1.0,
        "coverage": 1.5,
        "certify_share": -0.1,
    }.items():
        with pytest.raises(ValueError, match=f"{name} is {value}"):
            queue_of(**{"budget": 10, name: value})


@pytest.mark.slow
def test_threads_share_a_queue():
    """Eight threads choose and learn at once: every label counts once, and in the order of the draws."""
    queue = queue_of(20, rows=X)

    def work(i):
        review = queue.choose(X[i * 10 : i * 10 + 500])
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
