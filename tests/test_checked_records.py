"""The tests' own check of records, which must be able to fail."""

from dataclasses import replace

import numpy as np
import pytest

import sepc
from sepc import records


@pytest.fixture(scope="module")
def weights():
    rows = np.random.default_rng(0).normal(size=(60, 3))
    return sepc.SEPClassifier().fit(rows, rows[:, 0] > 0).decide(rows[:1]).model.weights


@pytest.mark.usefixtures("weights")  # which declares all of them
def test_every_record_checks_itself():
    assert len(records.RECORDS) > 10
    assert [kind for kind in records.RECORDS if not hasattr(kind.__init__, "__wrapped__")] == []


def test_a_wrong_size_fails(weights):
    with pytest.raises(AssertionError, match=r"Weights\.\w+ has size"):
        replace(weights, offsets=np.append(weights.offsets, 0.0))


def test_a_wrong_type_fails(weights):
    with pytest.raises(AssertionError, match=r"Weights.offsets holds float32, not float64"):
        replace(weights, offsets=weights.offsets.astype(np.float32))


def test_a_wrong_number_of_axes_fails(weights):
    with pytest.raises(AssertionError, match=r"Weights.offsets has 2 axes, not 1"):
        replace(weights, offsets=weights.offsets[:, None])


def test_a_list_instead_of_an_array_fails(weights):
    with pytest.raises(AssertionError, match=r"Weights.offsets is list, not an array"):
        replace(weights, offsets=weights.offsets.tolist())
