"""Causes are those that were planted, on a small version of `sepc_benchmarks.causes`."""

import numpy as np
import pytest


@pytest.mark.slow
def test_planted_causes_are_found():
    planted = pytest.importorskip("sepc_benchmarks.causes")
    scores = [planted.macro_f1(*planted.causes_given(d, seed)) for d in (2, 4) for seed in (200, 201, 202)]
    assert np.mean(scores) >= 0.9
