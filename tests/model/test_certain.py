"""Certain labels: bounds over boxes hold for every row in them, and are exact at points."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from sepc import SEPClassifier
from sepc.model.certain import Lead, SectionBoxes, is_certain, sections_of


@pytest.fixture(scope="module")
def model():
    X, y = make_moons(300, noise=0.25, random_state=0)
    rng = np.random.default_rng(0)
    X = np.column_stack([X, X[:, 0] + rng.normal(size=300), rng.normal(size=300)])
    return SEPClassifier().fit(X, y).model_, X


def leads(model, row):
    for cut in sections_of(model, row).values():
        yield cut, Lead.of(model, model.weights, cut, np.empty(0), 0, 1, 0.0)


def difference(model, rows):
    """The score of the first class minus that of the second, by the model itself."""
    squares = np.einsum("kij,nkj->kni", model.roots, rows[:, None] - model.centers)
    scores = model.weights.scores(rows.T, (squares**2).sum(axis=2), model.isolated)
    return scores[0] - scores[1]


@pytest.mark.parametrize("missing", [[0], [0, 2], [1, 2, 3]])
def test_bounds_hold_in_boxes_and_are_exact_at_points(model, missing):
    model, X = model
    rng, row = np.random.default_rng(1), X[5].copy()
    row[missing] = np.nan
    for cut, lead in leads(model, row):
        m = len(missing)
        boxes = SectionBoxes(rng.uniform(-0.5, 0.5, (20, m)), rng.uniform(0, 0.3, (20, m)))
        least = lead.least(boxes)
        points = boxes.middles[:, None] + boxes.halves[:, None] * rng.uniform(-1, 1, (20, 200, m))
        rows = np.tile(cut.center, (20 * 200, 1))
        rows[:, cut.missing] += points.reshape(-1, m) @ cut.root.T
        real = difference(model, rows).reshape(20, 200)
        assert (real >= least[:, None] - 1e-9).all()
        at_points = lead.least(SectionBoxes(points.reshape(-1, m), np.zeros((4000, m))))
        np.testing.assert_allclose(at_points, real.ravel(), atol=1e-9)


def test_halved_boxes_hold_all_that_the_ball_has():
    rng = np.random.default_rng(0)
    boxes = SectionBoxes(np.zeros((1, 3)), np.ones((1, 3)))
    for _ in range(7):
        boxes = boxes.split(np.array([1.0, 2.0, 0.5]))
    u = rng.standard_normal((500, 3))
    u *= rng.random((500, 1)) / np.linalg.norm(u, axis=1, keepdims=True)
    inside = (np.abs(u[:, None] - boxes.middles) <= boxes.halves + 1e-12).all(axis=2)
    assert inside.any(axis=1).all()
    assert len(boxes.middles) < 2**7


def test_only_one_label_can_be_certain_and_a_row_that_another_filling_turns_has_none(model):
    model, X = model
    n_certain = 0
    for row in X[:40]:
        gone = np.where(np.arange(4) == 3, np.nan, row)
        n_labels = sum(is_certain(model, gone, label) for label in (0, 1))
        assert n_labels <= 1
        n_certain += n_labels
    assert n_certain > 10
    assert not any(is_certain(model, np.full(4, np.nan), label) for label in (0, 1))
