"""Causes are those that were planted, on a small version of `benchmarks/causes.py`."""

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
def test_planted_causes_are_found(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    planted = pytest.importorskip("causes")
    scores = [planted.macro_f1(*planted.causes_given(d, seed)) for d in (2, 4) for seed in (200, 201, 202)]
    assert np.mean(scores) >= 0.9
