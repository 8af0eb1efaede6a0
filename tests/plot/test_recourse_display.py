"""The picture of an answer shows what changes, in words and in place."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import sepc
from sepc.plot import RecourseDisplay


@pytest.fixture(scope="module")
def found():
    X, y = load_iris(return_X_y=True)
    return sepc.recourse(sepc.SEPClassifier().fit(X, y), X[60], to=2, n_answers=2)


def test_marks_are_at_the_values(found):
    display = RecourseDisplay.from_recourse(found)
    changes = found.answers[0].changes
    marks = [line.get_xdata().tolist() for line in display.ax_.lines]
    assert marks == [[change.deviations.before, change.deviations.after] for change in changes]
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert all(label.startswith(change.feature) for label, change in zip(labels, changes, strict=True))
    assert f"{found.answers[0].cost:.3g}" in display.ax_.get_title(loc="left")


def test_usual_ranges_are_those_of_the_label(found):
    X, y = load_iris(return_X_y=True)
    change = found.answers[0].changes[0]
    j = int(change.feature.removeprefix("x"))
    mean, deviation = (getattr(sepc.SEPClassifier().fit(X, y).model_, name)[j] for name in ("shift", "scale"))
    low, high = (mean + deviation * np.array([change.deviations.low, change.deviations.high])).tolist()
    share = np.mean((X[y == 2, j] >= low - 1e-9) & (X[y == 2, j] <= high + 1e-9))
    assert 0.78 <= share <= 0.9


def test_another_answer_and_axes_of_the_user(found, plt):
    axes = plt.subplots()[1]
    display = RecourseDisplay.from_recourse(found, -1, ax=axes)
    assert display.ax_ is axes
    assert display.answer is found.answers[-1]
    with pytest.raises(ValueError, match="answer 7"):
        RecourseDisplay.from_recourse(found, 7)
