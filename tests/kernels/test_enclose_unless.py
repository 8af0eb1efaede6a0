"""An ellipsoid may be refused before it is known exactly, but only if the exact one would be refused as well."""

from __future__ import annotations

import numpy as np
import pytest

from sepc.partition import sequence
from sepc.partition.sequence import Settings
from sepc.points.in_memory import ArrayPoints


def rows(kind, n, d, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) if kind == "normal" else rng.standard_t(2, size=(n, d))
    return Z if kind != "skewed" else np.exp(Z / 4)


def white(Z):
    centred = Z - Z.mean(axis=0)
    return centred @ np.linalg.inv(np.linalg.cholesky(np.cov(centred.T, bias=True))).T


def settings(d):
    return Settings(0, False, 1000, 1000, np.ones(d))


NOBODY = ArrayPoints(np.zeros((0, 1)))


@pytest.fixture
def shown(monkeypatch):
    """A function that sets how many rows lie in each ellipsoid; it returns the list of ellipsoids asked about."""

    def counting(n_inside):
        ellipsoids = []

        def counted(points, ellipsoid):
            ellipsoids.append(ellipsoid)
            return n_inside

        monkeypatch.setattr(sequence, "n_inside", counted)
        return ellipsoids

    return counting


@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed"])
@pytest.mark.parametrize(("n", "d"), [(300, 2), (500, 5), (2_000, 10), (6_000, 4), (400, 25)])
def test_what_is_shown_lies_in_the_smallest_ellipsoid_and_is_not_much_smaller(kind, n, d, shown):
    own, ellipsoids = ArrayPoints(white(rows(kind, n, d))), shown(n_inside=0)
    smallest = settings(d).enclose_few(own, NOBODY, 0).ellipsoid
    np.testing.assert_array_equal(smallest.center, settings(d).enclose(own).ellipsoid.center)
    sphere = np.random.default_rng(1).normal(size=(2_000, d))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    assert ellipsoids
    for inner in ellipsoids:
        assert smallest.squared_radius(inner.center + sphere @ inner.inverse_root.T).max() <= 1.0
    # After the first round most of the ellipsoid is known; otherwise nothing would be gained.
    sizes = [np.exp((inner.log_volume - smallest.log_volume) / d) for inner in ellipsoids]
    assert sizes[-1] < 1.0
    if kind == "normal" and d <= 5:
        assert sizes[0] > 0.5
        assert sizes[-1] > 0.6


@pytest.mark.parametrize("shift", np.linspace(0.0, 4.0, 9))
def test_none_is_returned_only_for_what_would_be_refused(shift):
    own, other = ArrayPoints(rows("normal", 400, 3)), rows("normal", 300, 3, seed=1) + shift
    exact = settings(3).enclose(own).ellipsoid
    n_inside = np.count_nonzero(exact.contains(other))
    for n_most in (0, n_inside - 1, n_inside, n_inside + 1, 300):
        found = settings(3).enclose_few(own, ArrayPoints(other), n_most)
        if found is None:
            assert n_inside > n_most
        else:
            np.testing.assert_array_equal(found.ellipsoid.center, exact.center)


def test_hopeless_sets_are_refused_at_the_first_look(shown):
    ellipsoids = shown(n_inside=81)
    assert settings(3).enclose_few(ArrayPoints(rows("normal", 400, 3)), NOBODY, 80) is None
    assert len(ellipsoids) == 1


def test_a_set_too_thin_for_another_look_is_enclosed_all_the_same(monkeypatch):
    """Rows of one-hot columns were seen to end in a singular matrix."""

    def fails(_):
        raise np.linalg.LinAlgError

    thin = rows("normal", 300, 3) @ np.diag([1.0, 1.0, 1e-7])
    thin[:, 2] += thin[:, 0]
    exact = settings(3).enclose(ArrayPoints(thin))
    monkeypatch.setattr(np.linalg, "inv", fails)
    enclosure = settings(3).enclose(ArrayPoints(thin))
    assert enclosure.ellipsoid.squared_radius(thin).max() <= 1.0 + 1e-9
    np.testing.assert_allclose(enclosure.ellipsoid.center, exact.ellipsoid.center, atol=1e-3)
