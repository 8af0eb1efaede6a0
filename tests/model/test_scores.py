"""NormalScores: normal features are only standardised, all others ranked; what comes back occurs in training."""

import numpy as np
import pytest

from sepc.model.normal_scores import N_QUANTILES, NormalScores


def of(*columns, weights=None):
    rows = np.column_stack(columns).astype(float)
    weights = np.ones(len(rows)) if weights is None else weights
    return NormalScores.fit(rows, weights, np.nanmean(rows, axis=0), np.nanstd(rows, axis=0) + 1e-12), rows


def test_normal_features_are_standardised_and_others_are_ranked():
    rng = np.random.default_rng(0)
    normal, skewed = rng.normal(5, 2, 1000), rng.lognormal(0, 2, 1000)
    zeros, binary, constant = np.where(rng.random(1000) < 0.7, 0, skewed), rng.integers(0, 2, 1000), np.full(1000, 3)
    scores, rows = of(normal, skewed, zeros, binary, constant)
    assert scores.is_normal.tolist() == [True, False, False, False, False]
    found = scores.of(rows)
    np.testing.assert_allclose(found[:, 0], (normal - normal.mean()) / normal.std())
    assert np.corrcoef(found[:, 1], np.log(skewed))[0, 1] > 0.99
    assert len(np.unique(found[zeros == 0, 2])) == 1


def test_what_is_drawn_has_the_zeros_and_the_range_of_training():
    rng = np.random.default_rng(0)
    zeros = np.where(rng.random(2000) < 0.7, 0, rng.lognormal(0, 1, 2000))
    scores, _ = of(rng.normal(size=2000), zeros)
    drawn = scores.values(rng.standard_normal(5000), 1)
    assert abs((drawn == 0).mean() - 0.7) < 0.03
    assert set(drawn) <= set(zeros)
    assert drawn.max() == zeros.max()
    far = scores.values(np.array([-50.0, 50.0]), 0)
    assert far.tolist() == scores.quantiles[0][[0, -1]].tolist()


def test_ranks_there_and_back_give_the_value():
    values = np.repeat([0.0, 1.0, 5.0], [500, 300, 200])
    scores, rows = of(values)
    np.testing.assert_array_equal(scores.values(scores.of(rows)[:, 0], 0), values)


def test_gaps_stay_gaps_and_are_not_ranked():
    column = np.concatenate([np.full(10, np.nan), np.arange(90.0) ** 6])
    scores, rows = of(column)
    assert scores.quantiles.shape == (1, N_QUANTILES)
    assert scores.quantiles[0, [0, -1]].tolist() == [0.0, 89.0**6]
    np.testing.assert_array_equal(np.isnan(scores.of(rows)), np.isnan(rows))


def test_weights_are_copies():
    values, weights = np.array([0.0, 1.0, 2.0, 3.0]) ** 9, np.array([1, 5, 1, 3])
    weighted, _ = of(values, weights=weights.astype(float))
    copied, _ = of(np.repeat(values, weights))
    np.testing.assert_array_equal(weighted.quantiles, copied.quantiles)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_no_size_of_numbers_overflows(size):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 1)) * size
    scores = NormalScores.fit(rows, np.ones(200), np.zeros(1), np.full(1, size))
    assert scores.is_normal.all()
    np.testing.assert_allclose(scores.values(scores.of(rows)[:, 0], 0), rows[:, 0])
