import warnings

import cases
import numpy as np
import pytest
from optional import package_or_skip
from threadpoolctl import threadpool_info, threadpool_limits
from weekly import weekly

from sepc import enclose
from sepc.errors import FlatSetWarning, NotConvergedWarning
from sepc.geometry import Enclosure
from sepc.kernels import enclose as enclosing

pd = package_or_skip("pandas")

SIZES = [(4, 1), (30, 1), (12, 2), (200, 2), (40, 3), (60, 5), (500, 5), (30, 10), (400, 10), (70, 20), (300, 30)]


def quietly(rows: np.ndarray, **options: float) -> Enclosure:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlatSetWarning)
        return enclose(rows, **options)


def certificate(rows: np.ndarray, enclosure: Enclosure) -> float:
    """The gap, recomputed from support and weights alone: in long doubles, in coordinates of the affine hull."""
    scale = np.maximum(np.abs(rows - rows[0]).max(axis=0), np.finfo(float).tiny)
    centred = ((rows - rows[0]) / scale).astype(np.longdouble)
    support = ((enclosure.support - rows[0]) / scale).astype(np.longdouble)
    weights = enclosure.weights.astype(np.longdouble)
    _, sizes, directions = np.linalg.svd(centred.astype(float), full_matrices=False)
    basis = directions[sizes > 1e-8 * sizes[0]].T / sizes[sizes > 1e-8 * sizes[0]]
    centred, support = centred @ basis, support @ basis
    mean = weights @ support
    covariance = ((support - mean).T * weights) @ (support - mean)
    factor = np.linalg.cholesky(covariance.astype(float))
    # One step of refinement gives the whitening the digits of the long doubles.
    root = np.linalg.inv(factor).astype(np.longdouble)
    root = np.linalg.inv(np.linalg.cholesky((root @ covariance @ root.T).astype(float))).astype(np.longdouble) @ root
    squared = (((centred - mean) @ root.T) ** 2).sum(axis=1)
    return float(squared.max() / basis.shape[1] - 1)


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("seed", [0, weekly(1), weekly(2)])
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_certificate_holds_when_recomputed_from_support_and_weights(kind, n, d, seed):
    rows = cases.KINDS[kind](np.random.default_rng([seed, n, d]), n, d)
    enclosure = quietly(rows)
    assert enclosure.converged
    assert enclosure.weights.min() > 0
    assert enclosure.weights.sum() == pytest.approx(1, abs=1e-12)
    assert certificate(rows, enclosure) <= 1e-6
    assert enclosure.ellipsoid.squared_radius(rows).max() <= 1 + 1e-9
    assert enclosure.gap <= 1e-6


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("d", [1, 3, 8])
def test_affine_map_of_the_rows_maps_the_ellipsoid(kind, d):
    rng = np.random.default_rng([3, d])
    rows = cases.KINDS[kind](rng, 150, d)
    # Features 1e12 apart cannot be mixed without losing the small ones to rounding.
    rotation = np.eye(d) if kind == "far_scales" else np.linalg.qr(rng.standard_normal((d, d)))[0]
    matrix, shift = rotation * np.linspace(1, 3, d), rng.standard_normal(d) * rows.std(axis=0)
    plain, mapped = quietly(rows, tol=1e-9), quietly(rows @ matrix + shift, tol=1e-9)
    probes = rows + rng.standard_normal(rows.shape) * rows.std(axis=0)
    if plain.rank == d:  # across a flat set the thickness belongs to the features, not to the set
        expected = plain.ellipsoid.gauge(probes)
        np.testing.assert_allclose(mapped.ellipsoid.gauge(probes @ matrix + shift), expected, rtol=2e-5)
    assert mapped.rank == plain.rank


def test_box_has_the_known_ellipsoid():
    corners = np.array([[x, y, z] for x in (0, 2) for y in (0, 4) for z in (-3, 3)], dtype=float)
    ellipsoid = enclose(corners, tol=1e-12).ellipsoid
    np.testing.assert_allclose(ellipsoid.center, [1, 2, 0], atol=1e-9)
    np.testing.assert_allclose(ellipsoid.semi_axes, np.sqrt(3) * np.array([3, 2, 1]), rtol=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "heavy_tailed", "near_degenerate"])
def test_many_rows(kind):
    rows = cases.KINDS[kind](np.random.default_rng(6), 250_000, 10)
    enclosure = quietly(rows)
    assert enclosure.converged
    assert certificate(rows, enclosure) <= 1e-6


def n_threads() -> list[int]:
    return [own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"]


@pytest.mark.parametrize("fails", [False, True])
def test_one_thread_inside_and_as_many_as_before_outside_even_after_an_error(fails, monkeypatch):
    rows, inside, solve = cases.gaussian(np.random.default_rng(6), 500, 3), [], enclosing.enclose_whitened

    def watched(*given):
        inside.append(set(n_threads()))
        if fails:
            raise ZeroDivisionError
        return solve(*given)

    monkeypatch.setattr(enclosing, "enclose_whitened", watched)
    with threadpool_limits(2, user_api="blas"):
        usual = n_threads()
        assert max(usual) == 2
        try:
            quietly(rows)
            assert not fails
        except ZeroDivisionError:
            assert fails
        assert n_threads() == usual
    assert inside == [{1}]


def test_flat_sets_have_a_stated_thickness_and_the_features_are_named():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.random(50), "gain": np.full(50, 7.3), "pay": rng.random(50)})
    table["total"] = table["age"] + 2 * table["pay"]
    with pytest.warns(FlatSetWarning, match="'gain' is constant; Features 'age', 'pay', 'total'"):
        enclosure = enclose(table)
    assert enclosure.rank == 2
    assert enclosure.ellipsoid.contains(table.to_numpy()).all()
    assert enclosure.ellipsoid.center[1] == 7.3
    rows = np.column_stack([np.linspace(-1, 1, 9), np.linspace(-1, 1, 9) ** 2, np.full(9, 3.0)])
    axes = quietly(rows).ellipsoid.semi_axes
    assert 0.3e-6 <= axes[2] / axes[0] <= 3e-6
    with pytest.warns(FlatSetWarning, match="0 of 2"):
        alone = enclose([[3.0, 0.0]])
    assert alone.rank == 0
    assert alone.ellipsoid.contains(np.array([[3.0, 0.0], [3.0, 0.1]])).tolist() == [True, False]


def test_stops_at_the_round_limit_and_says_so():
    rows = cases.in_ball(np.random.default_rng(1), 5000, 10)
    with pytest.warns(NotConvergedWarning, match="1 rounds"):
        enclosure = enclose(rows, max_rounds=1)
    assert not enclosure.converged
    assert enclosure.gap > 1e-6
    assert enclosure.ellipsoid.squared_radius(rows).max() <= 1 + 1e-9


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((0, 3)), "row"),
        ([[1.0, np.nan], [2.0, 3.0]], "NaN"),
        ([[1.0, np.inf], [2.0, 3.0]], "infinit"),
        ([1.0, 2.0], "reshape"),
        ([[-1.7e308], [1.7e308]], "Column 0"),
    ],
)
def test_refuses_in_the_users_terms(rows, message):
    with pytest.raises(ValueError, match=message):
        enclose(rows)


def test_rows_far_from_zero_leave_a_gap_that_is_explained():
    rows = 1e7 + 1e-6 * cases.gaussian(np.random.default_rng(0), 60, 2)
    with pytest.warns(NotConvergedWarning, match="hardly varies"):
        enclosure = enclose(rows)
    assert enclosure.ellipsoid.squared_radius(rows).max() <= 1 + 1e-9
