"""What gaps are filled from: normal features are standardised, others ranked; what comes back occurs in training."""

import numpy as np
from zoo import fitted_once

from sepc import SEPClassifier


def columns():
    rng = np.random.default_rng(0)
    normal, skewed, other = rng.normal(5, 2, 1000), rng.lognormal(0, 2, 1000), rng.lognormal(0, 1, 1000)
    zeros = np.where(rng.random(1000) < 0.7, 0, other)
    levels, gaps = rng.choice([0.0, 1.0, 5.0], 1000, p=[0.5, 0.3, 0.2]), normal + rng.normal(size=1000)
    gaps[::10] = np.nan
    X = np.column_stack([normal, skewed, zeros, levels, gaps, 1e200 * rng.normal(size=1000)])
    return X, np.arange(1000) % 2


@fitted_once
def scores():
    return SEPClassifier(max_ellipsoids=2, random_state=0).fit(*columns()).model_.row_kinds.scores


def test_normal_features_are_standardised_and_others_are_ranked():
    X, found = columns()[0], scores().of(columns()[0])
    assert scores().is_normal.tolist() == [True, False, False, False, True, True]
    assert (np.diff(scores().quantiles, axis=1) >= 0.0).all()
    assert scores().quantiles[:, 0].tolist() == np.nanmin(X, axis=0).tolist()
    assert scores().quantiles[:, -1].tolist() == np.nanmax(X, axis=0).tolist()
    np.testing.assert_allclose(np.corrcoef(found[:, 0], X[:, 0])[0, 1], 1.0)
    assert np.corrcoef(found[:, 1], np.log(X[:, 1]))[0, 1] > 0.98
    assert len(np.unique(found[X[:, 2] == 0, 2])) == 1
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X))


def test_what_is_drawn_has_the_zeros_and_the_range_of_training():
    X, rng = columns()[0], np.random.default_rng(1)
    drawn = scores().values(rng.standard_normal(5000), 2)
    assert abs((drawn == 0).mean() - (X[:, 2] == 0).mean()) < 0.03
    assert set(drawn) <= set(X[:, 2])
    assert drawn.max() == X[:, 2].max()
    for j in (0, 4, 5):
        assert scores().values(np.array([-50.0, 50.0]), j).tolist() == scores().quantiles[j, [0, -1]].tolist()
    there = scores().of(X)
    np.testing.assert_array_equal(scores().values(there[:, 3], 3), X[:, 3])
    np.testing.assert_allclose(scores().values(there[:, 5], 5), X[:, 5])
