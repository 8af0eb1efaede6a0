"""The user's own names in pictures, whatever they hold."""

import numpy as np
import pytest
from optional import package_or_skip

from sepc import SEPClassifier
from sepc.documents.drawing import for_matplotlib
from sepc.plot import PartitionDisplay, RiskCoverageDisplay, TrustDisplay

NAMES = ["price $ in $", "a_b^c", "50 %", "Größe_µ", "\\frac{1}{2}", "x" * 200, "two\nlines", "_hidden", "_", ""]


def test_names_are_written_as_they_are():
    pd = package_or_skip("pandas")
    names = NAMES[:6]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 6)), columns=names)
    y = np.array(["$x_1$", "_größer 5 %"])[(X.to_numpy()[:, 0] > 0).astype(int)]
    classifier = SEPClassifier().fit(X, y)
    for pair in (names[:2], names[2:4], names[4:6]):
        display = PartitionDisplay.from_estimator(classifier, X, y, features=tuple(pair))
        display.figure_.canvas.draw()
        for label in (display.ax_.xaxis.label, display.ax_.yaxis.label):
            assert not label._preprocess_math(label.get_text())[1]  # type: ignore[attr-defined]
    assert display.ax_.get_xlabel() == "\\frac{1}{2}"
    assert len(display.ax_.get_ylabel()) <= 48
    entries = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert entries[:2] == [r"\$x_1\$", " _größer 5 %"]
    TrustDisplay.from_estimator(classifier, X, y).figure_.canvas.draw()
    risk = RiskCoverageDisplay.from_predictions(y, y, np.ones(60), name="_mine: $5 or $6")
    assert risk.ax_.get_legend().get_texts()[0].get_text().startswith(r" _mine: \$5 or \$6 (AURC")


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_a_formula_or_too_long(name, plt):
    ax = plt.figure().add_subplot()
    text = ax.text(0, 0, for_matplotlib(name))
    plain, is_formula = text._preprocess_math(text.get_text())
    assert is_formula is False
    assert len(plain) <= 37
    assert "\n" not in plain
    if len(name) <= 36 and not name.startswith("_"):
        assert plain == name.replace("\n", " ")


def test_long_names_keep_their_start_and_end():
    assert for_matplotlib("abcdefghij" * 10, 10) == "abcde…ghij"
    assert for_matplotlib("abcdefghij", 10) == "abcdefghij"
