"""Flipped labels are found, ranked and shown, by probabilities of models that have not seen them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier

import sepc
from sepc import SEPClassifier
from sepc.looking.suspects import doubt, suspected_labels, usual_confidence


@pytest.fixture(scope="module")
def flipped():
    X, y = make_blobs(240, centers=3, cluster_std=1.0, random_state=0)
    names = np.array(["low", "mid", "high"])[y]
    rows = np.array([3, 50, 120, 200])
    names[rows] = np.array(["mid", "high", "low"])[y[rows]]
    return X, names, rows


def test_flipped_labels_are_found(flipped):
    X, y, rows = flipped
    found = sepc.suspects(SEPClassifier(out_of_fold=True).fit(X, y), y)
    assert len(set(rows) & set(found.rows)) >= 3
    assert found.n_judged == len(y)
    assert (found.given == y[found.rows]).all()
    assert (found.likely != found.given).all()
    assert (found.probability > 0.3).all()


def test_the_least_likely_labels_come_first():
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.95, 0.05], [0.1, 0.9], [np.nan, np.nan], [0.6, 0.4]])
    found = suspected_labels(p, np.array(["a", "a", "b", "b", "a", "b"]), np.array(["a", "b"]))
    assert found.rows.tolist() == [2, 1, 5]
    assert found.likely.tolist() == ["a", "b", "a"]
    assert found.n_judged == 5
    assert doubt(p[:2], np.array([0, 0])).tolist() == pytest.approx([0.1, 0.8])


def test_another_label_must_be_as_likely_as_it_usually_is():
    """Rows of "a" have it with 0.75 on average, so that 0.75 is enough and a little less is not."""
    of_a = np.array([0.875, 0.625, 0.75, 0.6875, 0.0])
    p = np.column_stack([of_a, 1.0 - of_a])
    assert usual_confidence(p, np.array([0, 0, 1, 1, 1]))[0] == 0.75
    found = suspected_labels(p, np.array(["a", "a", "b", "b", "b"]), np.array(["a", "b"]))
    assert found.rows.tolist() == [2]


def test_shown_as_a_card_and_a_frame():
    pytest.importorskip("pandas")
    p = np.array([[0.9, 0.1], [0.05, 0.95], [0.1, 0.9]])
    found = suspected_labels(p, np.array([0, 0, 1]), np.array([0, 1]))
    assert repr(found).startswith("1 label of 3 may be wrong")
    assert found.to_frame().to_dict("records") == [{"row": 1, "given": 0, "likely": 1, "probability": 0.95}]
    none = suspected_labels(p, np.array([0, 1, 1]), np.array([0, 1]))
    assert repr(none) == "0 labels of 3 may be wrong"


def test_what_cannot_be_judged_is_said(flipped):
    X, y, _ = flipped
    with pytest.raises(
        ValueError, match="^SEPClassifier has no out-of-fold probabilities; fit it with out_of_fold=True"
    ):
        sepc.suspects(SEPClassifier().fit(X, y), y)
    other = r"^HistGradientBoostingClassifier has .*; fit an SEPClassifier\(out_of_fold=True\) to the same rows"
    with pytest.raises(ValueError, match=other):
        sepc.suspects(HistGradientBoostingClassifier(max_iter=2).fit(X, y), y)
    p = np.full((2, 2), 0.5)
    with pytest.raises(ValueError, match="3 labels for 2 rows"):
        suspected_labels(p, np.array([0, 1, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match="7 is not a class"):
        suspected_labels(p, np.array([0, 7]), np.array([0, 1]))
