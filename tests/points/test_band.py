"""Bands: rows that are certain stay on their side, and blocks change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sepc.points.band import Band, ScaledFrame, SideSums
from sepc.points.in_memory import ArrayPoints, BlockPoints

FRAME = ScaledFrame(np.array([1.0, -2.0, 0.5]), 0.5)


def band_of(max_rows: int = 1_000, radius: float = 0.2) -> Band:
    return Band(FRAME, np.array([0.6, 0.0, 0.8]), threshold=-0.1, slack=0.5, radius=radius, max_rows=max_rows)


def draw_rows(seed: int, n: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 3)) * 2 + FRAME.origin


@given(st.integers(0, 2**32), st.floats(0.0, 1.0), st.floats(-1.0, 1.0))
def test_certain_rows_stay_on_their_side(seed, share, step):
    rng = np.random.default_rng(seed)
    rows, band = draw_rows(seed, 300), band_of()
    divided = ArrayPoints(rows).reduce(band)
    tangent = np.cross(band.direction, rng.standard_normal(3))
    angle = share * 2 * np.arcsin(band.radius / 2)
    direction = np.cos(angle) * band.direction + np.sin(angle) * tangent / np.linalg.norm(tangent)
    threshold = band.threshold + 0.999 * step * band.radius * band.slack
    inside = FRAME.inside(rows)
    below = inside @ direction < threshold
    uncertain = (divided.rows @ direction < threshold).sum()
    assert band.covers(direction, threshold) or share > 0.999
    assert below.sum() == divided.n_certain + uncertain
    expected = inside[below].sum(axis=0)
    actual = divided.certain_sum + divided.rows[divided.rows @ direction < threshold].sum(axis=0)
    np.testing.assert_allclose(actual, expected, atol=1e-10)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 200), max_size=6))
def test_any_blocking_gives_the_same_band(seed, cuts):
    rows = draw_rows(seed, 200)
    blocks = BlockPoints(np.split(rows, sorted(cuts)))
    whole, parts = ArrayPoints(rows).reduce(band_of()), blocks.reduce(band_of())
    assert (whole.n_certain, whole.n_uncertain) == (parts.n_certain, parts.n_uncertain)
    np.testing.assert_allclose(whole.certain_sum, parts.certain_sum, atol=1e-12)
    np.testing.assert_array_equal(whole.rows, parts.rows)


@given(st.lists(st.integers(0, 200), max_size=6))
def test_too_many_rows_are_only_counted(cuts):
    rows = draw_rows(0, 200)
    n_uncertain = ArrayPoints(rows).reduce(band_of()).n_uncertain
    blocks = BlockPoints(np.split(rows, sorted(cuts)))
    divided = blocks.reduce(band_of(max_rows=n_uncertain - 1))
    assert divided.rows is None
    assert divided.n_uncertain == n_uncertain
    assert blocks.reduce(band_of(max_rows=n_uncertain)).rows.shape == (n_uncertain, 3)


def test_state_holds_no_more_rows_than_allowed():
    band = band_of(max_rows=10, radius=5.0)
    state = band.map(draw_rows(1, 10_000))
    assert sum(map(len, state.pieces)) == 0
    joined = band.combine(band.map(draw_rows(1, 8)), band.map(draw_rows(2, 8)))
    assert (joined.n_uncertain, joined.pieces) == (16, ())


def test_no_rows_at_all():
    divided = ArrayPoints(np.empty((0, 3))).reduce(band_of())
    assert (divided.n_certain, divided.n_uncertain, divided.rows.shape) == (0, 0, (0, 3))


@pytest.mark.parametrize(("moved", "covered"), [(0.0, True), (0.19, True), (0.21, False)])
def test_covers_directions_within_the_radius(moved, covered):
    band = band_of()
    direction = band.direction + moved * np.array([0.0, 1.0, 0.0])
    assert band.covers(direction, band.threshold) == covered
    assert not band.covers(direction, band.threshold + 0.11)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 200), max_size=6))
def test_side_sums_are_those_of_the_rows_below(seed, cuts):
    rows = draw_rows(seed, 200)
    directions, thresholds = np.eye(3)[:2], np.array([0.0, -0.3])
    counts, sums = BlockPoints(np.split(rows, sorted(cuts))).reduce(SideSums(FRAME, directions, thresholds))
    inside = FRAME.inside(rows)
    for j in range(2):
        below = inside[:, j] <= thresholds[j]
        assert counts[j] == below.sum()
        np.testing.assert_allclose(sums[j], inside[below].sum(axis=0), atol=1e-11)


def test_a_frame_goes_there_and_back():
    rows = draw_rows(4, 5)
    np.testing.assert_allclose(FRAME.outside(FRAME.inside(rows)), rows, atol=1e-14)
