"""Attacks that once broke a promise, each by a cause of its own."""

import numpy as np
import pytest
from few_draws import BROKEN_ONCE, LATE_LABELS, MERGED_AGAIN, RARE_LABELS, holds
from sepc_benchmarks.attacking.every_attack import every_attack
from sepc_benchmarks.attacking.monitors import labels_of, normal, started
from sepc_benchmarks.attacking.overall_labels import groups
from sepc_benchmarks.attacking.reviews import CONSTANT, desk
from sklearn.neighbors import KNeighborsClassifier

from sepc import Costs, SelectiveClassifier

COSTS = Costs(5.0 * (1 - np.eye(3)), review=1.0)
ATTACKS = {attack.tried: attack for attack in every_attack()}


@pytest.mark.slow_cases("300 rare codes in 4 % of rows")
@pytest.mark.parametrize("tried", RARE_LABELS)
def test_rare_labels_are_errors_that_calibration_sees(tried):
    """Their only row once always trained the model: broken in 212 and 300 of 300 draws."""
    assert holds(ATTACKS[tried], BROKEN_ONCE[tried])


def with_a_class_of_two(seed):
    rng = np.random.default_rng(seed)
    X, y = groups(rng, 400)
    y[rng.choice(400, size=2, replace=False)] = 2
    return X, y


@pytest.mark.parametrize("max_risk", [{0: 0.1, 2: 0.1}, COSTS], ids=["mapping", "costs"])
def test_a_class_of_two_rows_raises_by_no_chance(max_risk):
    """A plain split often leaves it out of training."""
    lacking = 0
    for seed in range(30):
        selective = SelectiveClassifier(KNeighborsClassifier(5), max_risk, random_state=seed)
        selective.fit(*with_a_class_of_two(seed))
        assert list(selective.classes_) == [0, 1, 2]
        if 2 not in selective.estimator_.classes_:
            lacking += 1
            assert isinstance(max_risk, Costs) or selective.threshold_[2] == np.inf
            assert "does not know 2" in selective.summary()
    assert lacking > 2


@pytest.mark.slow_cases("4 % wrong, reviews with an error 30 days late", "short reviews with an error 10 days late")
@pytest.mark.parametrize("tried", LATE_LABELS)
def test_labels_prove_nothing_before_those_drawn_earlier(tried):
    """They once counted in the order of `learn`: 30 days late, nearly every stream got a false certificate."""
    assert holds(ATTACKS[tried], BROKEN_ONCE[tried])


def test_a_review_nobody_began_holds_up_those_after_it():
    people = desk(np.random.default_rng(0), CONSTANT)
    first, labels = people.choose()
    for _ in range(3):
        later, known = people.choose()
        certificate = people.queue.learn(later, known)
    assert (certificate.n_labels, certificate.n_waiting, certificate.waits_for) == (0, 60, first.number)
    assert people.queue.learn(first, labels).n_labels == 80
    review, labels = people.choose()
    before = people.queue.certificate().n_errors
    assert people.queue.close(review).n_errors == before + len(review)  # its rows count as wrong for good
    with pytest.raises(ValueError, match="complete already"):
        people.queue.learn(review, labels)


@pytest.mark.slow
@pytest.mark.parametrize("tried", MERGED_AGAIN)
def test_workers_that_go_on_may_be_merged_again(tried):
    """Their rows once counted again at every merge: 51 and 85 of 100 streams had a false alarm."""
    assert holds(ATTACKS[tried], BROKEN_ONCE[tried])


def test_merging_again_adds_only_new_rows():
    rng = np.random.default_rng(0)
    start = started(rng)
    workers = [start.fresh() for _ in range(3)]
    for i in range(1, 4):
        for worker in workers:
            X = normal(rng, 50)
            worker.update(X, labels_of(rng, X))
        total = start.merge(*workers)
        assert total.n_rows == 150 * i
    with pytest.raises(ValueError, match="common"):
        total.merge(workers[0])
