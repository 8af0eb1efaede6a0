"""Mean and spread of the training rows, estimated from the model."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from sepc import SEPClassifier
from sepc.model.place_moments import mean_and_covariance, mean_and_deviation
from sepc.model.sep_model import even_variance, mean_square_distance
from sepc.shapes.ellipsoid import Ellipsoid


@pytest.mark.parametrize("d", [1, 2, 5])
def test_rows_spread_evenly_have_that_variance(d):
    rng = np.random.default_rng(d)
    ellipsoid = Ellipsoid(rng.normal(size=d), np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    rows = ellipsoid.sample(200_000, rng)
    expected = even_variance(ellipsoid.inverse_root @ ellipsoid.inverse_root.T, d)
    np.testing.assert_allclose(np.atleast_2d(np.cov(rows.T)), expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("data", [load_iris(return_X_y=True), make_moons(300, noise=0.2, random_state=0)])
def test_three_ways_to_say_it_agree(data):
    model = SEPClassifier().fit(*data).model_
    mean, covariance = mean_and_covariance(model)
    same_mean, deviation = mean_and_deviation(model)
    np.testing.assert_allclose(same_mean, mean, atol=1e-12)
    np.testing.assert_allclose(deviation**2, np.diag(covariance))
    assert mean_square_distance(model) == pytest.approx(np.trace(covariance))


def test_the_model_knows_about_where_its_rows_lie():
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier().fit(X, y).model_
    rows = model.standardize(X)
    mean, deviation = mean_and_deviation(model)
    assert mean == pytest.approx(rows.mean(axis=0), abs=0.2)
    assert deviation == pytest.approx(rows.std(axis=0), rel=0.2)
