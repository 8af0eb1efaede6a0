"""Listeners hear every round of a fit, whichever the estimator, and nothing afterwards."""

import numpy as np
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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Fitted on all 120 rows."),
        ({"trust": "counts"}, "Fitted on all 120 rows."),
        ({"fit_rows": 50}, "Partitioned 53 of 120 rows, counted all, and fitted weights to all."),
        ({"fit_rows": 50, "trust": "counts"}, "Partitioned 53 of 120 rows and counted all."),
    ],
)
def test_the_rows_used_are_told_in_words(options, words, capsys):
    """A sample has about `fit_rows` rows, since it is chosen by hashes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    classifier = SEPClassifier(**options, verbose=True).fit(X, X[:, 0] > 0)
    assert str(classifier.rows_used_) == words
    assert capsys.readouterr().out.splitlines()[-1] == f"[SEPClassifier] {words}"


@pytest.mark.parametrize(("n_features", "n_partitioned"), [(2, 4_000), (15, 6_000), (30, 10_000)])
def test_more_rows_are_partitioned_the_more_features_there_are(n_features, n_partitioned):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, n_features))
    used = SEPClassifier(trust="counts", max_ellipsoids=1, max_rounds=1).fit(X, X[:, 0] > 0).rows_used_
    assert used.n_partitioned == pytest.approx(n_partitioned, rel=0.05)


def test_the_rows_weighed_are_told_where_there_are_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 2))
    used = SEPClassifier(max_ellipsoids=2, fit_rows=500).fit(X, X[:, 0] > 0).rows_used_
    assert (used.n_rows, used.n_partitioned) == (60_000, pytest.approx(500, rel=0.05))
    assert used.n_weighed == pytest.approx(40_000, rel=0.01)
