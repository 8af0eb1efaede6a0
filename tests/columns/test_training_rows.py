"""Rows of the sample are found again and have their cross-fitted encodings; other rows are encoded as new ones."""

import pickle

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip

from sepc.columns.kinds import read_columns
from sepc.columns.preparation import Preparation
from sepc.columns.training_rows import TrainingRows

pd = package_or_skip("pandas")
N = 600


@pytest.fixture
def sample():
    return patients(N, gaps=False, key=False)


@pytest.fixture
def fitted(sample):
    table, y = sample
    classes = np.unique(y, return_inverse=True)[1]
    return Preparation.fit(*read_columns(table, (), ()), classes, 1.0, 0)


def test_rows_of_the_sample_are_those_to_train_on(sample, fitted):
    preparation, cross_fitted = fitted
    training = TrainingRows.of(preparation, sample[0], cross_fitted)
    assert (cross_fitted != preparation.rows_of(sample[0])).any()
    shuffled = np.random.default_rng(0).permutation(N)
    np.testing.assert_array_equal(training.rows_of(sample[0].iloc[shuffled]), cross_fitted[shuffled])


def test_other_rows_are_encoded_as_new_ones(sample, fitted):
    preparation, cross_fitted = fitted
    training = TrainingRows.of(preparation, sample[0], cross_fitted)
    others = patients(N, seed=1, gaps=True, key=False)[0]
    others.loc[others.index[0], "ward"] = "nowhere"
    np.testing.assert_array_equal(training.rows_of(others), preparation.rows_of(others))
    assert training.rows_of(others[:0]).shape == (0, cross_fitted.shape[1])


def test_copies_of_a_row_have_one_encoding_whatever_their_labels():
    table = pd.DataFrame({"colour": ["red", "blue", "green"] * 20, "size": [1.0, 2.0, 3.0, 4.0] * 15})
    classes = np.random.default_rng(0).integers(0, 2, size=60)
    preparation, rows = Preparation.fit(*read_columns(table, (), ()), classes, 1.0, 0)
    given = TrainingRows.of(preparation, table, rows).rows_of(table)
    assert len(np.unique(given, axis=0)) == len(table.drop_duplicates())


def test_what_is_sent_to_workers_is_small(sample, fitted):
    preparation, cross_fitted = fitted
    training = TrainingRows.of(preparation, sample[0], cross_fitted)
    assert len(pickle.dumps(training.columns)) + training.hashes.nbytes < 0.3 * cross_fitted.nbytes
