"""The model card: facts that are true, and names that stay in their cells."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from sepc import SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.documents.document import escape_cell
from sepc.metrics import aurc
from sepc.reporting.card import model_card


def cell(card, name):
    return re.search(rf"^\| {re.escape(name)} \| (.*) \|$", card, re.MULTILINE)[1]


def test_figures_are_those_of_the_decisions():
    X, y = load_iris(return_X_y=True)
    classifier = SEPClassifier().fit(X[::2], y[::2])
    card, decisions = model_card(classifier, X[1::2], y[1::2]), classifier.decide(X[1::2])
    right = decisions.label == y[1::2]
    assert cell(card, "training rows") == "75"
    assert cell(card, "classes") == "0 (25), 1 (25), 2 (25)"
    assert cell(card, "accuracy") == f"{right.mean():.3f}"
    assert cell(card, "AURC") == f"{aurc(right, decisions.trust):.4f}"
    assert cell(card, r"min\_trust") == "0.95"
    shares = [float(cell(card, f"not accepted: {name}").strip("%")) for name in ("OVERLAP", "UNSEEN", "THIN")]
    np.testing.assert_allclose(sum(shares) + 100 * decisions.accepted.mean(), 100, atol=0.2)


def test_every_estimator_has_a_card(moons, classifier):
    X, y = moons[:2]
    assert cell(model_card(classifier), "ellipsoids") == str(len(classifier.ellipsoids_))
    card = model_card(SelectiveClassifier(FrozenEstimator(classifier), 0.3).fit(X, y))
    assert "## Promise" in card
    assert cell(card, "around") == "SEPClassifier"
    forest = TrustedClassifier(RandomForestClassifier(5, random_state=0), cv=2).fit(X, y)
    assert cell(model_card(forest), "around") == "RandomForestClassifier"


def test_regions_are_those_of_the_report_and_need_held_out_rows(moons, classifier, made):
    card, regions = model_card(classifier, *moons[2:]), made.figures.regions
    assert regions.summary() in card
    assert cell(card, "regions") == str(classifier.model_.table.n_regions)
    for row in regions.rows[:10]:
        told = (row.region, escape_cell(row.name), row.n_rows, row.n_accepted, *row.right)
        assert f"| {' | '.join(map(str, told))} |" in card
    assert "## Regions" not in model_card(classifier)


def test_hostile_names_stay_in_their_cells():
    import pandas as pd

    X, y = make_moons(100, noise=0.3, random_state=0)
    names = ["a|b\n# title", "<script>alert(1)</script>"]
    table, labels = pd.DataFrame(X, columns=names), np.array(["x|y", "[z](w)"])[y]
    card = model_card(SEPClassifier().fit(table, labels), table, labels)
    assert "## Regions" in card
    assert "<script>" not in card
    assert "\n# title" not in card
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (3, 7) for line in rows)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a > b", "a &#62; b"), ("<b>#1", "&#60;b&#62;\\#1"), ("x\\|y", "x\\\\\\|y"), ("`code`", "&#96;code&#96;")],
)
def test_cells_are_escaped_once(text, escaped):
    assert escape_cell(text) == escaped
