"""Edited curves against brute force: what an edit asks for holds at every value, and the rest stays."""

import numpy as np
import pytest

from sepc.model.curve_edits import LINE_ERROR, Curves, contrast_of, edit_curves, put_contrast
from sepc.model.edits import Edit
from sepc.model.weights import LINE_END

GRID = np.sort(np.concatenate([np.linspace(-12, 12, 4001), np.random.default_rng(0).normal(0, 2, 2000)]))
RANGES = [(-1.0, 0.7), (-np.inf, 0.2), (0.3, np.inf), (-np.inf, np.inf), (9.0, 11.0), (0.1, 0.1)]


def curve(seed, slope, n=20):
    rng = np.random.default_rng(seed)
    knots = np.sort(rng.normal(size=n))
    return Curves(knots, np.array([slope]), rng.normal(size=(n + 1, 1)))


def edited(given, edit, low, high):
    """The curve after an edit of the closed range, and the grid with its ends and its neighbours."""
    end = np.nextafter(high, np.inf)
    ends = [
        near for at in (low, high) if np.isfinite(at) for near in (np.nextafter(at, -9e9), at, np.nextafter(at, 9e9))
    ]
    values = np.sort(np.append(GRID, ends))
    rows = np.random.default_rng(1).normal(size=41)
    return edit_curves(given, edit, low, end, rows), values, (values >= low) & (values <= high)


@pytest.mark.parametrize("slope", [0.0, 0.6, -0.6])
@pytest.mark.parametrize(("low", "high"), RANGES)
class TestRanges:
    def test_flat_in_the_range_and_as_before_elsewhere(self, slope, low, high):
        given = curve(0, slope)
        after, values, here = edited(given, Edit.flatten("x", to=0.25), low, high)
        assert (after.at(values[here]) == 0.25).all()
        np.testing.assert_allclose(after.at(values[~here]), given.at(values[~here]), atol=LINE_ERROR + 1e-12)

    def test_clipped_in_the_range(self, slope, low, high):
        given = curve(1, slope)
        after, values, here = edited(given, Edit.clip("x", least=-0.5, most=0.4), low, high)
        assert ((after.at(values[here]) >= -0.5) & (after.at(values[here]) <= 0.4)).all()
        wanted = np.where(here[:, None], np.clip(given.at(values), -0.5, 0.4), given.at(values))
        np.testing.assert_allclose(after.at(values), wanted, atol=LINE_ERROR + 1e-12)

    def test_shifted_exactly(self, slope, low, high):
        given = curve(2, slope)
        after, values, here = edited(given, Edit.shift("x", by=0.75), low, high)
        np.testing.assert_array_equal(after.at(values[~here]), given.at(values[~here]))
        np.testing.assert_allclose(after.at(values[here]), given.at(values[here]) + 0.75, atol=1e-12)

    @pytest.mark.parametrize("direction", ["increasing", "decreasing"])
    def test_monotone_in_the_range(self, slope, low, high, direction):
        given = curve(3, slope)
        after, values, here = edited(given, Edit.monotone("x", direction), low, high)
        steps = np.diff(after.at(values[here])[:, 0])
        assert (steps >= 0.0).all() if direction == "increasing" else (steps <= 0.0).all()
        np.testing.assert_allclose(after.at(values[~here]), given.at(values[~here]), atol=LINE_ERROR + 1e-12)


def test_a_monotone_curve_stays():
    given = Curves(np.array([0.0, 1.0]), np.array([0.3]), np.array([[-1.0], [0.0], [2.0]]))
    after, values, _ = edited(given, Edit.monotone("x", "increasing"), -np.inf, np.inf)
    np.testing.assert_array_equal(after.at(values), given.at(values))


def test_the_mean_over_training_rows_is_the_default_level():
    given, rows = curve(4, 0.5), np.random.default_rng(1).normal(size=41)
    after, _, _ = edited(given, Edit.flatten("x"), -0.5, 1.0)
    own = rows[(rows >= -0.5) & (rows <= 1.0)]
    np.testing.assert_allclose(after.at(np.array([0.0])), given.at(own).mean(axis=0, keepdims=True))


def test_a_steep_line_takes_a_limited_number_of_steps():
    given = curve(5, 40.0)
    after, values, _ = edited(given, Edit.flatten("x", to=0.0), -0.5, 0.5)
    assert len(after.knots) < 2_100
    outside = values[(values < -0.5) | (values > 0.5)]
    assert np.abs(after.at(outside) - given.at(outside)).max() <= 40.0 * LINE_END / 2_000 + 1e-9


@pytest.mark.parametrize("n_classes", [2, 4])
def test_only_the_score_of_the_label_changes(n_classes):
    rng = np.random.default_rng(6)
    given = Curves(np.sort(rng.normal(size=9)), rng.normal(size=n_classes), rng.normal(size=(10, n_classes)))
    before = contrast_of(given, 1)
    after, values, _ = edited(before, Edit.flatten("x", to=1.5), -0.5, 0.5)
    every = put_contrast(given, 1, after)
    np.testing.assert_allclose(contrast_of(every, 1).at(values), after.at(values), atol=1e-12)
    others = np.arange(n_classes) != 1
    pairs = [curves.at(values)[:, others] for curves in (given, every)]
    for scores in pairs:
        scores -= scores[:, :1]
    np.testing.assert_allclose(pairs[1], pairs[0], atol=1e-12)
