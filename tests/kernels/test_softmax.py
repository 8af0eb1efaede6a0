import warnings

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression
from weekly import weekly

from sepc.geometry import Softmax, fit_softmax


def plain(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def steps(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return (rng.standard_normal((n, 1 + d // 8)).repeat(8, axis=1)[:, :d] >= rng.standard_normal(d)).astype(float)


def mixed_scales(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d)) * np.where(np.arange(d) % 2, 1e3, 1e-3)


def duplicated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.repeat(rng.standard_normal((n, d // 2 + 1)), 2, axis=1)[:, :d]


def constant(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.where(np.arange(d) % 3, rng.standard_normal((n, d)), 7.1)


def far_away(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d)) + 1e4


KINDS = {f.__name__: f for f in (plain, steps, mixed_scales, duplicated, constant, far_away)}
SIZES, MORE_SIZES = [(200, 5), (40, 60)], [(60, 59), (59, 60), (200, 50)]


def every_pair(*n_classes):
    """Each kind with each number of classes and, in turn, with each size."""
    pairs = [(kind, C, i + j) for i, kind in enumerate(KINDS) for j, C in enumerate(n_classes)]
    quick = [(kind, *SIZES[k % 2], C) for kind, C, k in pairs]
    slow = [weekly(kind, *MORE_SIZES[k % 3], C) for kind, C, k in pairs]
    return pytest.mark.parametrize(("kind", "n", "d", "n_classes"), [*quick, *slow])


def draw(kind: str, n: int, d: int, n_classes: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, d, n_classes])
    rows = KINDS[kind](rng, n, d)
    spread = np.maximum(rows.std(axis=0), 1e-9)
    truth = ((rows - rows.mean(axis=0)) / spread) @ rng.standard_normal((d, n_classes)) * 2 / np.sqrt(d)
    which = (truth + noise * rng.gumbel(size=truth.shape)).argmax(axis=1)
    which[:n_classes] = np.arange(n_classes)
    return rows, which


def probabilities(rows: np.ndarray, fit: Softmax) -> np.ndarray:
    return softmax(fit.offsets + rows @ fit.coefficients, axis=1)


def exact_probabilities(rows: np.ndarray, fit: Softmax) -> np.ndarray:
    """Class probabilities in long doubles."""
    scores = fit.offsets.astype(np.longdouble) + rows.astype(np.longdouble) @ fit.coefficients
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def objective(rows, which, fit, penalty, weights=None):
    w = np.ones(len(rows)) if weights is None else weights
    logs = np.log(exact_probabilities(rows, fit)[np.arange(len(rows)), which])
    # Two classes are the binomial problem: its one vector of coefficients is the difference of ours.
    B = np.diff(fit.coefficients, axis=1) if fit.coefficients.shape[1] == 2 else fit.coefficients
    return float(penalty / 2 * (B.astype(np.longdouble) ** 2).sum() - w @ logs)


def dual_bound(rows, which, fit, penalty, weights=None):
    """A number no objective is below, in long doubles: from probabilities whose sums are put right here, one by one.

    Any q with the classes' own sums will do. Mixing into p a little of a matrix that has what p lacks gives one.
    """
    w = (np.ones(len(rows)) if weights is None else weights).astype(np.longdouble)
    F, targets = rows.astype(np.longdouble), np.eye(len(fit.offsets))[which].astype(np.longdouble)
    p = exact_probabilities(rows, fit)
    for _ in range(3):
        excess = w @ (p - targets)
        moments = np.diag(w @ p) - (p * w[:, None]).T @ p
        shift = np.linalg.lstsq(moments.astype(float), excess.astype(float), rcond=1e-13)[0].astype(np.longdouble)
        p = p * (1 - shift + (p @ shift)[:, None])
    assert p.min() >= 0
    assert np.abs(w @ (p - targets)).max() <= 1e-15 * float(w.sum())
    entropy = -(w @ np.where(p > 0, p * np.log(np.maximum(p, np.finfo(np.longdouble).tiny)), 0).sum(axis=1))
    strength = 2 * penalty if len(fit.offsets) == 2 else penalty
    return float(entropy - ((F.T @ (w[:, None] * (targets - p))) ** 2).sum() / (2 * strength))


def reference(rows, which, penalty, weights=None):
    center = rows.mean(axis=0)
    model = LogisticRegression(C=1 / penalty, solver="newton-cholesky", tol=1e-12, max_iter=200)
    with warnings.catch_warnings():
        # Asked for more digits than its line search can see, it says so; the comparison needs seven.
        warnings.simplefilter("ignore")
        return model.fit(rows - center, which, sample_weight=weights).predict_proba(rows - center)


@every_pair(2, 3, 6)
def test_probabilities_are_those_of_scikit_learn(kind, n, d, n_classes):
    rows, which = draw(kind, n, d, n_classes)
    for penalty in (0.1, 10.0):
        fit = fit_softmax(rows, which, n_classes, penalty=penalty)
        assert fit.converged
        np.testing.assert_allclose(fit.coefficients.sum(axis=1), 0, atol=1e-12 * np.abs(fit.coefficients).max())
        assert abs(fit.offsets.sum()) <= 1e-12 * np.abs(fit.offsets).max()
        if kind != "mixed_scales":  # which scikit-learn does not solve
            np.testing.assert_allclose(probabilities(rows, fit), reference(rows, which, penalty), atol=1e-7)


@every_pair(2, 3, 6)
def test_gap_bounds_the_objective_when_recomputed_from_the_rows(kind, n, d, n_classes):
    rows, which = draw(kind, n, d, n_classes)
    weights = np.random.default_rng(1).uniform(0.0, 2, n)
    weights[:n_classes] = 1.0
    for max_rounds in (1, 3, 100):
        fit = fit_softmax(rows, which, n_classes, penalty=2.0, weights=weights, max_rounds=max_rounds)
        rounding = 1e-13 * (1 + weights.sum())
        best = fit_softmax(rows, which, n_classes, penalty=2.0, weights=weights)
        excess = objective(rows, which, fit, 2.0, weights) - objective(rows, which, best, 2.0, weights)
        assert -rounding <= excess <= fit.gap + rounding
        distance = np.linalg.norm(fit.coefficients - best.coefficients)
        assert distance <= np.sqrt(2 * fit.gap / 2.0) + np.sqrt(2 * best.gap / 2.0) + 1e-13
    gap = objective(rows, which, fit, 2.0, weights) - dual_bound(rows, which, fit, 2.0, weights)
    assert gap == pytest.approx(fit.gap, abs=rounding)
    assert fit.gap <= 1e-14 * (1 + weights.sum())


def test_gap_of_an_unfinished_fit_is_the_duality_gap():
    rows, which = draw("plain", 300, 10, 4)
    fit = fit_softmax(rows, which, 4, penalty=1.0, max_rounds=3)
    assert 1e-6 < fit.gap < np.inf
    gap = objective(rows, which, fit, 1.0) - dual_bound(rows, which, fit, 1.0)
    # The bound here refines the sums three times over, the solver's once: close, not equal.
    assert gap == pytest.approx(fit.gap, rel=0.05)


@every_pair(2, 5)
def test_order_and_rounding_of_rows_move_no_probability(kind, n, d, n_classes):
    rows, which = draw(kind, n, d, n_classes, noise=float(d == 5))  # without noise classes are separable
    rng = np.random.default_rng(2)
    order = rng.permutation(n)
    for penalty in (0.01, 10.0):
        fit = fit_softmax(rows, which, n_classes, penalty=penalty)
        again = fit_softmax(rows[order], which[order], n_classes, penalty=penalty)
        assert fit.converged
        assert again.converged
        np.testing.assert_allclose(probabilities(rows, again), probabilities(rows, fit), atol=1e-8)
    rounded = rows + 1e-10 * rng.uniform(-1, 1, rows.shape) * rows.std(axis=0)
    nearby = fit_softmax(rounded, which, n_classes, penalty=10.0)
    np.testing.assert_allclose(probabilities(rounded, nearby), probabilities(rows, fit), atol=1e-8)


@pytest.mark.parametrize(
    ("kind", "n", "d", "n_classes"),
    [("plain", 100, 12, 2), ("plain", 30, 60, 4), ("steps", 100, 12, 4), ("mixed_scales", 30, 60, 2)],
)
def test_weight_is_repetition_and_no_weight_is_absence(kind, n, d, n_classes):
    rows, which = draw(kind, n, d, n_classes)
    times = np.random.default_rng(3).integers(0, 4, n)
    times[:n_classes] = 1
    weighted = fit_softmax(rows, which, n_classes, penalty=1.0, weights=times)
    repeated = fit_softmax(np.repeat(rows, times, axis=0), np.repeat(which, times), n_classes, penalty=1.0)
    np.testing.assert_allclose(probabilities(rows, weighted), probabilities(rows, repeated), atol=1e-9)


@pytest.mark.quick_cases("plain-*", "*-1.0-2", "*-1e-08-2")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", [1e-8, weekly(1e-3), 1.0, weekly(1e8)])
@pytest.mark.parametrize("kind", KINDS)
def test_every_step_lowers_the_objective(kind, penalty, n_classes):
    rows, which = draw(kind, 80, 10, n_classes, noise=0.1)
    fits = [fit_softmax(rows, which, n_classes, penalty=penalty, max_rounds=k) for k in range(30)]
    assert [(fit.n_rounds, fit.converged) for fit in fits[:2]] == [(0, False), (1, False)]
    values = [objective(rows, which, fit, penalty) for fit in fits]
    assert np.diff(values).max() <= 1e-12 * values[0]
    assert fit_softmax(rows, which, n_classes, penalty=penalty).converged


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_digits_than_there_are_end_at_rounding(kind, n_classes):
    rows, which = draw(kind, 120, 8, n_classes)
    fit = fit_softmax(rows, which, n_classes, penalty=1.0, tol=0.0)
    assert fit.converged
    assert fit.n_rounds < 30


def test_repeated_runs_and_orders_of_memory_agree_and_change_nothing_given():
    rows, which = draw("steps", 300, 60, 3)
    copy = rows.copy()
    first, second = (fit_softmax(rows, which, 3, penalty=10.0) for _ in range(2))
    np.testing.assert_array_equal(rows, copy)
    np.testing.assert_array_equal(first.coefficients, second.coefficients)
    assert first.gap == second.gap
    third = fit_softmax(np.asfortranarray(rows), which, 3, penalty=10.0)
    np.testing.assert_allclose(third.coefficients, first.coefficients, atol=1e-10)


def test_one_class_has_nothing_to_weigh():
    fit = fit_softmax(np.ones((3, 2)), [0, 0, 0], 1, penalty=1.0)
    assert fit.coefficients.shape == (2, 1)
    assert not fit.coefficients.any()
    assert (fit.offsets, fit.gap, fit.converged) == (0.0, 0.0, True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_features_leave_the_shares_of_the_classes(n_classes):
    which = np.arange(30) % n_classes * (np.arange(30) % 4 > 0)
    fit = fit_softmax(np.zeros((30, 0)), which, n_classes, penalty=1.0)
    np.testing.assert_allclose(softmax(fit.offsets), np.bincount(which) / 30, atol=1e-12)
    assert fit.converged


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_classes": 4}, "Class 3 of 4"),
        ({"weights": [1, 1, 0, 1]}, "Class 2 of 3"),
        ({"weights": [1, 1, 1]}, ".n, P."),
        ({"weights": [1, 1, 1, -2]}, "-2"),
        ({"penalty": 0.0}, "penalty"),
        ({"penalty": float("nan")}, "penalty"),
        ({"which": [0, 1, 2]}, ".n, P."),
        ({"which": [0, 1, 2, 3]}, "from 0 to 2"),
        ({"which": [0.0, 1.0, 2.0, 0.0]}, "integers"),
        ({"features": [[0.0], [1.0], [np.nan], [2.0]]}, "NaN"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_words(changes, message):
    given = {"features": np.arange(4.0)[:, None], "which": [0, 1, 2, 0], "n_classes": 3, "penalty": 1.0} | changes
    with pytest.raises(ValueError, match=message):
        fit_softmax(**given)
