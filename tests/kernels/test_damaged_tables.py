"""Thousands of tables, most of them damaged: each ends in an answer with a certificate or in a readable error."""

import time

import cases
import numpy as np
import pytest
from weekly import weekly

from sepc import enclose
from sepc.geometry import Enclosure, nearest_points

EXPLAINED = ("NaN", "infinit", "0 row(s)", "which double precision cannot handle")


def poisoned(rng: np.random.Generator, rows: np.ndarray) -> np.ndarray:
    """One table in ten gets cells that are not numbers, or loses all its rows."""
    if rng.random() < 0.9:
        return rows
    if rng.random() < 0.2:
        return rows[:0]
    rows = rows.copy()
    rows[rng.integers(len(rows)), rng.integers(rows.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    return rows


def rounding_of_the_centre(enclosure: Enclosure) -> float:
    """How much of a radius the centre's last digit is: no certificate can be finer."""
    return float((np.spacing(np.abs(enclosure.ellipsoid.center)) * np.abs(enclosure.ellipsoid.root).max(axis=0)).max())


@pytest.mark.filterwarnings("ignore::sepc.errors.FlatSetWarning", "ignore::sepc.errors.NotConvergedWarning")
@pytest.mark.parametrize("n_tables", [150, weekly(10_000)])
def test_thousands_of_tables_end_in_an_answer_or_in_an_explanation(n_tables):
    n_answers, n_explained, slowest = 0, 0, 0.0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        rows = poisoned(rng, cases.adversarial(rng))
        started = time.process_time()
        try:
            enclosure = enclose(rows)
        except ValueError as error:
            assert any(text in str(error) for text in EXPLAINED), f"seed {seed}: {error}"  # noqa: PT017
            n_explained += 1
        else:
            n_answers += 1
            assert enclosure.ellipsoid.squared_radius(rows).max() <= 1 + 1e-9, seed
            assert np.isfinite(enclosure.gap), seed
            assert enclosure.converged or rounding_of_the_centre(enclosure) > 0.1 * enclosure.gap, seed
            if len(rows) > 1:
                cut = int(rng.integers(1, len(rows)))
                nearest = nearest_points(rows[:cut], rows[cut:])
                assert np.isfinite([nearest.near_pos, nearest.near_neg]).all(), seed
                assert nearest.gap >= 0, seed
                assert np.isfinite(nearest.distance), seed
                assert nearest.n_iterations <= 500, seed
                assert not np.isnan(nearest.gap), seed  # infinite where its square leaves the number range
                assert nearest.converged, seed
        slowest = max(slowest, time.process_time() - started)
    assert n_answers > 0.8 * n_tables
    assert n_explained > 0.05 * n_tables
    assert slowest < 5
