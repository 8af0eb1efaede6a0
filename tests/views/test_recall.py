"""Recall of the classes, and the warning where a rare one is missed."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sepc import SelectiveClassifier, SEPClassifier, report
from sepc.views.outcomes import class_scores, missed

CLASSES = np.array(["common", "rare"])


def outcome(n_common, n_rare, n_found, n_accepted_found, n_accepted_missed):
    """The recall of two classes; all common rows are found and accepted."""
    truth = np.repeat(CLASSES, [n_common, n_rare])
    found = np.arange(n_rare) < n_found
    label = np.concatenate([np.repeat("common", n_common), np.where(found, "rare", "common")])
    place = np.where(found, np.arange(n_rare), np.arange(n_rare) - n_found)
    accepted = place < np.where(found, n_accepted_found, n_accepted_missed)
    return class_scores(label, np.concatenate([np.ones(n_common, dtype=bool), accepted]), truth, CLASSES)


@pytest.mark.parametrize(
    ("counts", "is_missed"),
    [
        ((990, 10, 1, 1, 9), True),
        ((990, 10, 0, 0, 1), True),
        ((990, 10, 5, 5, 5), False),
        ((990, 10, 0, 0, 0), False),
        ((90, 10, 0, 0, 4), False),
        ((90, 10, 1, 1, 9), True),
    ],
    ids=["missed", "none found", "half", "none accepted", "few, not rare", "not rare"],
)
def test_tells_whether_accepted_rows_miss_most_of_a_rare_class(counts, is_missed):
    n_common, n_rare, n_found, n_accepted_found, n_accepted_missed = counts
    found = outcome(*counts)
    common, rare = found
    assert (common.all_rows.n_true, common.all_rows.n_right, common.accepted.n_true) == (*[n_common] * 3,)
    assert (rare.all_rows.n_true, rare.all_rows.n_right, rare.accepted.n_right) == (n_rare, n_found, n_accepted_found)
    assert rare.accepted.n_true == n_accepted_found + n_accepted_missed
    assert (common.is_rare, rare.is_rare) == (False, n_common == 990)
    assert rare.all_rows.recall == n_found / n_rare
    assert bool(missed(found)) is is_missed


def test_a_report_warns_of_the_rare_class_unless_it_has_weight():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(1_500, 2)), rng.normal(size=(15, 2)) + 1.5])
    labels = np.repeat(CLASSES, [1_500, 15])
    others, truth = rng.normal(size=(1_000, 2)), np.repeat(CLASSES, [980, 20])
    others[truth == "rare"] += 1.5
    for class_weight, is_warned in ((None, True), ("balanced", False)):
        made = report(SEPClassifier(class_weight=class_weight).fit(rows, labels), others, truth)
        assert ("is missed" in str(made).replace("\n", " ")) == is_warned
        assert ("is missed" in made.to_html()) == is_warned


def test_a_report_on_a_promise_says_which_class_accepted_labels_miss():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6_000, 1))
    truth = np.where(rows[:, 0] + rng.normal(size=6_000) < -1.1, "default", "paid")
    promise = SelectiveClassifier(LogisticRegression(), 0.1, random_state=0).fit(rows[:4_000], truth[:4_000])
    made = report(promise, rows[4_000:], truth[4_000:])
    decisions, truth = promise.decide(rows[4_000:]), truth[4_000:]
    missed_rows = decisions.accepted & (truth == "default")
    n_wrong = (decisions.label[missed_rows] == "paid").sum()
    assert 2 * n_wrong > missed_rows.sum() > 20
    first = made.figures.actions[0]
    assert "'default'" in first.do
    assert f"{n_wrong} of {missed_rows.sum()} of 'default'" in first.why
    assert "by true label" in made.figures.promise[0]
    assert f"{missed_rows.sum()} accepted rows, {n_wrong} got" in " ".join(made.figures.warnings)
