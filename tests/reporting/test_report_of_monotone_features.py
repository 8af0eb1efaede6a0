"""What a report and a card say of monotone and standalone features."""

from functools import cache

import numpy as np

import sepc
import sepc.lifecycle
from sepc import SEPClassifier

# Of so many features all are drawn, and of more only some.
FEW_FEATURES, N_CURVES = 9, 6
N_FEATURES = FEW_FEATURES + 1
WEAK = N_FEATURES - 1


def rows(n, seed):
    """Many features that count, and one, the last, that counts little."""
    X = np.random.default_rng(seed).standard_normal((n, N_FEATURES))
    score = 2.0 * X[:, :-1].sum(axis=1) / np.sqrt(WEAK) + 0.3 * X[:, -1]
    return X, np.where(score + np.random.default_rng(seed + 1).logistic(size=n) > 0.0, "good", "bad")


@cache
def model():
    made = SEPClassifier(monotone={WEAK: "up"}, monotone_for="good", features_alone=[0], max_ellipsoids=3)
    return made.fit(*rows(500, 0))


def test_the_report_draws_every_monotone_feature_and_says_how_it_goes():
    report = sepc.report(model(), *rows(200, 5))
    weak = f"x{WEAK}"
    curves = {curve.name: curve for curve in report.figures.weights.curves}
    assert list(curves)[-1] == weak, "it varies least, and would not be drawn otherwise"
    assert len(curves) == N_CURVES + 1
    assert [name for name, curve in curves.items() if curve.proved] == [weak]
    assert (np.diff(curves[weak].term) >= 0.0).all()
    assert f"{weak} (only rises)" in report.to_html()
    assert f"{weak} (only rises)" in str(report)


def test_card_and_report_name_standalone_features():
    standalone = f"x0, x{WEAK} (in no ellipsoid or region)"
    assert dict(sepc.report(model(), *rows(200, 5)).figures.facts)["standalone features"] == standalone
    card = str(sepc.lifecycle.model_card(model()))
    assert standalone in card
    assert f"'x{WEAK}' never lowers" in card


def test_of_few_features_all_are_drawn():
    X, y = rows(400, 0)
    report = sepc.report(SEPClassifier(max_ellipsoids=3).fit(X[:, :FEW_FEATURES], y), X[:, :FEW_FEATURES], y)
    assert len(report.figures.weights.curves) == FEW_FEATURES
