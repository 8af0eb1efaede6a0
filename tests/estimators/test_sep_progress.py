"""Listeners hear every round of a fit, whichever the estimator, and nothing afterwards."""

import pytest
from sklearn.datasets import load_iris, make_moons

from sepc import SelectiveClassifier, SEPClassifier
from sepc.estimators.sep.progress import listen_to_rounds

MOONS = make_moons(400, noise=0.1, random_state=0)


def rounds_of(classifier):
    return [left for partition in classifier.history_ for left in partition.rows_left]


@pytest.mark.parametrize("data", [MOONS, load_iris(return_X_y=True)], ids=["two classes", "three classes"])
def test_rounds_are_those_of_the_history(data):
    heard = []
    with listen_to_rounds(lambda left: heard.append((left.n_pos, left.n_neg))):
        classifier = SEPClassifier().fit(*data)
    assert heard == rounds_of(classifier)


def test_partitions_inside_a_wrapper_are_heard():
    heard = []
    with listen_to_rounds(heard.append):
        selective = SelectiveClassifier(SEPClassifier(), max_risk=0.1, random_state=0).fit(*MOONS)
    assert len(heard) > len(rounds_of(selective.estimator_))  # the fits that place the thresholds are heard as well


def test_several_may_listen_and_each_until_its_end():
    outer, inner = [], []
    with listen_to_rounds(outer.append):
        with listen_to_rounds(inner.append):
            SEPClassifier().fit(*MOONS)
        SEPClassifier().fit(*MOONS)
    SEPClassifier().fit(*MOONS)
    assert inner
    assert outer == inner * 2


def test_what_a_listener_raises_ends_the_fit():
    def stop(left):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listen_to_rounds(stop):
        SEPClassifier().fit(*MOONS)
    SEPClassifier().fit(*MOONS)
