"""Edited curves against brute force: what an edit asks for holds at every value, and the rest stays."""

import numpy as np
import pytest
from zoo import fitted_once

from sepc import Edit, SEPClassifier

# Where an edit asks for a constant piece, the line of a feature becomes steps; they may differ by so much.
LINE_ERROR = 0.01
SIGNED = {"author": "A. Wu", "reason": "a reason", "date": "2026-05-04"}


def rows_and_labels(n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    score = 2.0 * np.sin(2.0 * X[:, 0]) + 0.8 * X[:, 0] + X[:, 1] + rng.logistic(size=600)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


@fitted_once
def fitted(n_classes=2):
    return SEPClassifier(max_ellipsoids=2).fit(*rows_and_labels(n_classes))


def curve(model, values, label=1):
    """What the first feature adds to the log-odds of a label against the first other one."""
    rows = np.column_stack([values, np.zeros(len(values))])
    terms = model.model_.weights.feature_terms(np.ascontiguousarray(model.model_.standardize(rows).T))[:, 0]
    return terms[:, label] - terms[:, int(label == 0)]


RANGES = [(-1.0, 0.7), (None, 0.2), (0.3, None), (None, None), (9.0, 11.0), (0.1, 0.1)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_an_edit_holds_in_its_range_and_the_curve_elsewhere(low, high):
    model, X = fitted(), rows_and_labels()[0]
    first, last = -np.inf if low is None else low, np.inf if high is None else high
    ends = [end + step for end in (first, last) if np.isfinite(end) for step in (-1e-6, 0.0, 1e-6)]
    values = np.sort(np.concatenate([np.linspace(-12, 12, 2_001), X[:, 0], ends]))
    here, before = (values >= first) & (values <= last), curve(fitted(), values)

    def after(edit):
        edited = curve(model.edited(edit, **SIGNED), values)
        slack = 1e-12 if edit.kind == "shift" else LINE_ERROR + 1e-12
        np.testing.assert_allclose(edited[~here], before[~here], atol=slack)
        return edited[here]

    np.testing.assert_allclose(after(Edit.flatten("x0", low, high, to=0.25)), 0.25, atol=1e-12)
    np.testing.assert_allclose(after(Edit.shift("x0", low, high, by=0.75)), before[here] + 0.75, atol=1e-12)
    clipped = after(Edit.clip("x0", low, high, least=-0.5, most=0.4))
    assert ((clipped >= -0.5 - 1e-12) & (clipped <= 0.4 + 1e-12)).all()
    np.testing.assert_allclose(clipped, np.clip(before[here], -0.5, 0.4), atol=LINE_ERROR + 1e-12)
    assert (np.diff(after(Edit.monotone("x0", "increasing", low, high))) >= -1e-12).all()
    assert (np.diff(after(Edit.monotone("x0", "decreasing", low, high))) <= 1e-12).all()


def test_the_mean_over_training_rows_is_the_default_level_and_a_monotone_curve_stays():
    model, X = fitted(), rows_and_labels()[0]
    own = X[(X[:, 0] >= -0.5) & (X[:, 0] <= 1.0), 0]
    edited = model.edited(Edit.flatten("x0", -0.5, 1.0), **SIGNED)
    assert curve(edited, np.zeros(1))[0] == pytest.approx(curve(model, own).mean(), abs=0.1)
    climbing = model.edited(Edit.monotone("x0", "increasing"), **SIGNED)
    again = climbing.edited(Edit.monotone("x0", "increasing"), **SIGNED)
    np.testing.assert_allclose(curve(again, X[:, 0]), curve(climbing, X[:, 0]), atol=1e-12)


def test_only_the_score_of_the_label_changes():
    model, values = fitted(3), np.linspace(-3, 3, 601)
    edited = model.edited(Edit.shift("x0", -0.5, 0.5, by=1.5, label=1), **SIGNED)
    for label, by in ((1, 1.5), (2, 0.0)):
        moved = curve(edited, values, label) - curve(model, values, label)
        np.testing.assert_allclose(moved, np.where(np.abs(values) <= 0.5, by, 0.0), atol=1e-12)
