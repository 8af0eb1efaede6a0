import time
import warnings

import cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optional import package_or_skip
from weekly import weekly

from sepc import enclose
from sepc.errors import FlatSetWarning, NotConvergedWarning
from sepc.kernels.enclose import Enclosure, enclose_points
from sepc.points.in_memory import ArrayPoints, BlockPoints
from sepc.points.pass_log import CountedPoints

cp, pd = package_or_skip("cvxpy"), package_or_skip("pandas")

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
@pytest.mark.parametrize(("n", "d"), SIZES)
@pytest.mark.parametrize("seed", [0, weekly(1), weekly(2)])
def test_certificate_holds_when_recomputed_from_support_and_weights(kind, n, d, seed):
    rows = cases.KINDS[kind](np.random.default_rng([seed, n, d]), n, d)
    enclosure = quietly(rows)
    assert enclosure.converged
    assert enclosure.weights.min() > 0
    assert enclosure.weights.sum() == pytest.approx(1, abs=1e-12)
    assert certificate(rows, enclosure) <= 1e-6
    assert enclosure.ellipsoid.squared_radius(rows).max() <= 1 + 1e-9
    assert enclosure.gap <= 1e-6


def log_volume_by_clarabel(rows: np.ndarray) -> float:
    d = rows.shape[1]
    A, b = cp.Variable((d, d), PSD=True), cp.Variable(d)
    problem = cp.Problem(cp.Maximize(cp.log_det(A)), [cp.norm(rows @ A + b[None, :], 2, axis=1) <= 1])
    with warnings.catch_warnings():
        # Asked for more digits than it may reach, it says so; the comparison needs six.
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return -float(np.linalg.slogdet(A.value)[1])


@pytest.mark.parametrize("kind", [k for k in cases.KINDS if k != "rank_deficient"])
@pytest.mark.parametrize(("n", "d"), [(30, 1), (12, 2), (80, 2), (40, 3), (60, 5)])
def test_volume_agrees_with_clarabel(kind, n, d):
    rows = cases.KINDS[kind](np.random.default_rng([7, n, d]), n, d)
    # The oracle needs well-scaled rows; the ellipsoid follows the map, as another test shows.
    scale = np.linalg.cholesky(np.cov(rows.T).reshape(d, d))
    white = np.linalg.solve(scale, (rows - rows.mean(axis=0)).T).T
    ours = -np.linalg.slogdet(quietly(rows, tol=1e-9).ellipsoid.root)[1] - np.log(np.diag(scale)).sum()
    assert abs(ours - log_volume_by_clarabel(white)) / d <= 1e-6


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


@pytest.mark.parametrize("kind", cases.KINDS)
def test_reductions_alone_find_the_ellipsoid_of_the_whole_array(kind):
    rows = cases.KINDS[kind](np.random.default_rng(5), 3000, 4)
    blocks = BlockPoints(tuple(np.array_split(rows, [10, 10, 500, 1777])))
    local = enclose_points(ArrayPoints(rows), tol=1e-8)
    pooled = enclose_points(blocks, tol=1e-8, local_rows=400)
    assert pooled.converged
    np.testing.assert_allclose(pooled.ellipsoid.gauge(rows), local.ellipsoid.gauge(rows), atol=1e-6)


@pytest.mark.parametrize("kind", ["gaussian", "heavy_tailed", "near_degenerate", "in_ball", "clustered"])
def test_few_passes_over_many_rows(kind):
    rows = cases.KINDS[kind](np.random.default_rng(6), 250_000, 10)
    points = CountedPoints(ArrayPoints(rows))
    assert enclose_points(points, tol=1e-6).converged
    assert points.log.n_passes <= 8


def test_names_the_constant_and_the_collinear_features():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.random(50), "gain": np.full(50, 7.3), "pay": rng.random(50)})
    table["total"] = table["age"] + 2 * table["pay"]
    with pytest.warns(FlatSetWarning, match="Feature 'gain' is constant; Features 'age', 'pay', 'total' are collinear"):
        enclosure = enclose(table)
    assert enclosure.rank == 2
    assert enclosure.ellipsoid.contains(table.to_numpy()).all()
    assert enclosure.ellipsoid.center[1] == 7.3


def test_thickness_of_a_flat_set_is_stated_relative_to_its_longest_axis():
    rows = np.column_stack([np.linspace(-1, 1, 9), np.linspace(-1, 1, 9) ** 2, np.full(9, 3.0)])
    with pytest.warns(FlatSetWarning, match="x2"):
        axes = enclose(rows).ellipsoid.semi_axes
    assert 0.3e-6 <= axes[2] / axes[0] <= 3e-6


def test_one_row_is_a_point_with_thickness():
    with pytest.warns(FlatSetWarning, match="1 rows span only 0 of 2"):
        enclosure = enclose([[3.0, 0.0]])
    assert enclosure.rank == 0
    assert enclosure.ellipsoid.contains(np.array([[3.0, 0.0]])).all()
    assert not enclosure.ellipsoid.contains(np.array([[3.0, 0.1]])).any()


def test_stops_at_the_round_limit_and_says_so():
    rows = cases.in_ball(np.random.default_rng(1), 5000, 10)
    with pytest.warns(NotConvergedWarning, match="stopped after 1 rounds with gap"):
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
        ([[-1.7e308], [1.7e308]], "Column 0 ranges from -1.7e.308 to 1.7e.308"),
    ],
)
def test_refuses_in_the_users_terms(rows, message):
    with pytest.raises(ValueError, match=message):
        enclose(rows)


@pytest.mark.parametrize("size", [1e-300, 1e-150, 1e150, 1e300])
def test_extreme_magnitudes_scale_the_ellipsoid(size):
    rows = cases.gaussian(np.random.default_rng(2), 100, 3)
    enclosure = enclose(rows * size)
    assert enclosure.converged
    np.testing.assert_allclose(enclosure.ellipsoid.gauge(rows * size), enclose(rows).ellipsoid.gauge(rows), rtol=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_any_table_ends_in_an_answer_with_a_certificate(seed):
    rows = cases.adversarial(np.random.default_rng(seed))
    started = time.process_time()
    try:
        enclosure = enclose_points(ArrayPoints(rows), tol=1e-6)
    except ValueError as error:
        assert "which double precision cannot handle" in str(error)  # noqa: PT017
        return
    assert time.process_time() - started < 5
    assert enclosure.ellipsoid.squared_radius(rows).max() <= 1 + 1e-9
    assert enclosure.converged or rounding_of_the_centre(enclosure) > 0.1 * enclosure.gap


def rounding_of_the_centre(enclosure: Enclosure) -> float:
    """How much of a radius the centre's last digit is: no certificate can be finer."""
    return float((np.spacing(np.abs(enclosure.ellipsoid.center)) * np.abs(enclosure.ellipsoid.root).max(axis=0)).max())


def test_rows_far_from_zero_leave_a_gap_that_is_explained():
    rows = 1e7 + 1e-6 * cases.gaussian(np.random.default_rng(0), 60, 2)
    with pytest.warns(NotConvergedWarning, match="Feature 'x[01]' hardly varies around 1e.07"):
        enclosure = enclose(rows)
    assert enclosure.ellipsoid.squared_radius(rows).max() <= 1 + 1e-9
