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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda offsets: np.append(offsets, 0.0), r"\.\w+ has size"),
        (lambda offsets: offsets.astype(np.float32), "float32"),
        (lambda offsets: offsets[:, None], "2 axes"),
        (lambda offsets: offsets.tolist(), "list"),
    ],
)
def test_a_wrong_array_fails(weights, change, said):
    with pytest.raises(AssertionError, match=said):
        replace(weights, offsets=change(weights.offsets))
