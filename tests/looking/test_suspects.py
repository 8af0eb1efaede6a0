"""Flipped labels are found, ranked and shown, by probabilities of models that have not seen them."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier

import sepc
import sepc.metrics
from sepc import SEPClassifier


@pytest.fixture(scope="module")
def flipped():
    X, y = make_blobs(240, centers=3, cluster_std=1.0, random_state=0)
    names = np.array(["low", "mid", "high"])[y]
    rows = np.array([3, 50, 120, 200])
    names[rows] = np.array(["mid", "high", "low"])[y[rows]]
    return X, names, rows


def test_flipped_labels_are_found(flipped):
    X, y, rows = flipped
    found = sepc.metrics.suspects(SEPClassifier(out_of_fold=True).fit(X, y), y)
    assert len(set(rows) & set(found.rows)) >= 3
    assert found.n_judged == len(y)
    assert (found.given == y[found.rows]).all()
    assert (found.likely != found.given).all()
    assert (found.probability > 0.3).all()


def judged(p, y, classes):
    """Labels judged by out-of-fold probabilities that are given."""
    return sepc.metrics.suspects(SimpleNamespace(out_of_fold_=np.array(p), classes_=np.array(classes)), np.array(y))


def test_the_least_likely_labels_come_first():
    p = [[0.9, 0.1], [0.2, 0.8], [0.95, 0.05], [0.1, 0.9], [np.nan, np.nan], [0.6, 0.4]]
    found = judged(p, list("aabbab"), list("ab"))
    assert found.rows.tolist() == [2, 1, 5]
    assert found.likely.tolist() == ["a", "b", "a"]
    assert found.n_judged == 5
    pytest.importorskip("pandas")
    assert found.to_frame().iloc[0].to_dict() == {"row": 2, "given": "b", "likely": "a", "probability": 0.95}


def test_another_label_must_be_as_likely_as_it_usually_is():
    """Rows of "a" have it with 0.75 on average, so that 0.75 is enough and a little less is not."""
    of_a = np.array([0.875, 0.625, 0.75, 0.6875, 0.0])
    assert judged(np.column_stack([of_a, 1.0 - of_a]), list("aabbb"), list("ab")).rows.tolist() == [2]


def test_what_cannot_be_judged_is_said(flipped):
    X, y, _ = flipped
    others = SEPClassifier(), HistGradientBoostingClassifier(max_iter=2)
    for model in others:
        with pytest.raises(ValueError, match="out_of_fold=True"):
            sepc.metrics.suspects(model.fit(X, y), y)
    for given, message in (([0, 1, 1], "3 labels for 2 rows"), ([0, 7], "7")):
        with pytest.raises(ValueError, match=message):
            judged(np.full((2, 2), 0.5), given, [0, 1])
