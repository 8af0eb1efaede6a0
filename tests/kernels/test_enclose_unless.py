"""An ellipsoid may be refused before it is known exactly, but only if the exact one would be refused as well."""

from __future__ import annotations

import numpy as np
import pytest

from sepc.kernels._core_set import RefusedError, certified_size, enclose_whitened
from sepc.kernels.enclose import enclose_points, enclose_unless
from sepc.points.in_memory import ArrayPoints
from sepc.shapes.ellipsoid import Ellipsoid


def rows(kind, n, d, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) if kind == "normal" else rng.standard_t(2, size=(n, d))
    return Z if kind != "skewed" else np.exp(Z / 4)


def white(Z):
    centred = Z - Z.mean(axis=0)
    return centred @ np.linalg.inv(np.linalg.cholesky(np.cov(centred.T, bias=True))).T


@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed"])
@pytest.mark.parametrize(("n", "d"), [(300, 2), (500, 5), (2_000, 10), (6_000, 4), (400, 25)])
def test_what_is_shown_lies_in_the_smallest_ellipsoid(kind, n, d):
    Z = white(rows(kind, n, d))
    shown = []
    solution = enclose_whitened(Z, 1e-10, 200, lambda *inner: bool(shown.append(inner)))
    smallest = Ellipsoid(solution.center, np.linalg.inv(solution.factor))
    sphere = np.random.default_rng(1).normal(size=(2_000, d))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    assert shown
    for center, factor in shown:
        assert smallest.squared_radius(center + sphere @ factor.T).max() <= 1.0


def test_the_first_look_is_not_in_vain():
    """After the first round most of the smallest ellipsoid is known; otherwise nothing would be gained."""
    shown = []
    solution = enclose_whitened(white(rows("normal", 1_000, 6)), 1e-10, 200, lambda *inner: bool(shown.append(inner)))
    sizes = [(np.linalg.det(factor) / np.linalg.det(solution.factor)) ** (1 / 6) for _, factor in shown]
    assert sizes[0] > 0.5
    assert sizes[-1] > 0.9


def test_less_is_held_the_less_is_known():
    held = [certified_size(excess, 5) for excess in (0.0, 1e-6, 1e-3, 0.1, 1.0)]
    assert held == sorted(held, reverse=True)
    assert 0.99 < held[0] < 1.0
    assert held[-1] < 0.2


def test_a_refusal_ends_the_search():
    with pytest.raises(RefusedError):
        enclose_whitened(white(rows("normal", 300, 3)), 1e-10, 200, lambda *_: True)


@pytest.mark.parametrize("shift", np.linspace(0.0, 4.0, 9))
def test_none_is_returned_only_for_what_would_be_refused(shift):
    own, other = rows("normal", 400, 3), rows("normal", 300, 3, seed=1) + shift
    enclosure = enclose_points(ArrayPoints(own))
    n_inside = np.count_nonzero(enclosure.ellipsoid.contains(other))
    for n_most in (0, n_inside - 1, n_inside, n_inside + 1, 300):
        found = enclose_unless(
            ArrayPoints(own),
            lambda inner, n_most=n_most: np.count_nonzero(inner.contains(other)) > n_most,
            tol=1e-10,
            local_rows=10_000,
            unit=np.ones(3),
        )
        if found is None:
            assert n_inside > n_most
        else:
            np.testing.assert_array_equal(
                found.ellipsoid.center, enclose_points(ArrayPoints(own), unit=np.ones(3)).ellipsoid.center
            )


def test_most_hopeless_sets_are_refused_early():
    own, other = rows("normal", 400, 3), rows("normal", 300, 3, seed=1)
    asked = []

    def is_refused(inner):
        asked.append(inner)
        return np.count_nonzero(inner.contains(other)) > 80

    assert enclose_unless(ArrayPoints(own), is_refused, tol=1e-10, local_rows=10_000, unit=np.ones(3)) is None
    assert len(asked) == 1


def test_a_set_too_thin_for_another_look_is_enclosed_all_the_same(monkeypatch):
    """Rows of one-hot columns were seen to end in a singular matrix."""

    def fails(_):
        raise np.linalg.LinAlgError

    thin = rows("normal", 300, 3) @ np.diag([1.0, 1.0, 1e-7])
    thin[:, 2] += thin[:, 0]
    exact = enclose_points(ArrayPoints(thin))
    monkeypatch.setattr(np.linalg, "inv", fails)
    enclosure = enclose_points(ArrayPoints(thin))
    assert enclosure.ellipsoid.squared_radius(thin).max() <= 1.0 + 1e-9
    np.testing.assert_allclose(enclosure.ellipsoid.center, exact.ellipsoid.center, atol=1e-3)


@pytest.mark.parametrize("r", [1, 3, 10, 40])
@pytest.mark.parametrize("excess", [1e-6, 1e-3, 0.05, 0.5, 3.0])
def test_no_eigenvalue_allowed_by_the_proof_exceeds_the_one_assumed(excess, r):
    """The bound follows from ``x - 1 - log x <= k``; the eigenvalue behind `certified_size` must lie beyond that."""
    largest = (r + 1) / (certified_size(excess, r) * r + 1)
    assert largest - 1 - np.log(largest) >= (r + 1) * np.log1p(excess * r / (r + 1))
