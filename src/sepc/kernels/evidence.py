"""Penalties for groups of weights, learned from the rows by maximising the evidence.

Weights of a group share a normal prior with mean zero, and its precision is the penalty. MacKay's fixed point, which is
also Fellner and Schall's for the smoothing parameters of additive models, sets each penalty to the number of weights
that the rows determine (the effective number) over the sum of their squares. A weak prior keeps penalties near each
other where the rows say little, but lets the penalty of a useless group grow without bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.special import softmax

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.kernels.numeric import single_threaded
from sepc.kernels.softmax import Softmax, fit_softmax
from sepc.kernels.stepped_columns import SteppedColumns

# The prior of a pool's penalty, and how many weights of the pool it counts as. The prior of a group's penalty is its
# pool's penalty, and counts as this many weights of the group, but at most as many as the group has.
PRIOR_PENALTY = 10.0
POOL_WEIGHTS, GROUP_WEIGHTS = 3.0, 1.5

# With many columns per row, penalties start higher, by this factor times columns per row, up to a limit: from low
# penalties, useless groups fade slowly, since their weights fit the noise.
START_PER_COLUMN, MOST_TIMES = 20.0, 30.0

# Where rows are linearly separable, weights would grow without bound, so penalties have a smallest value. At the
# largest, a group is as good as absent.
SMALLEST_PENALTY, LARGEST_PENALTY = 1.0, 1e6

# Penalties converge slowly. As long as one keeps moving in the same direction, each round takes a larger multiple of
# the plain step, on a logarithmic scale; once it turns, the plain step again. The last of these is the longest step.
LONGER, LONGEST_MULTIPLE, LONGEST_STEP = 1.5, 4.0, np.log(30.0)

# Tolerance, in scores, to which the weights of a round are solved for.
ROUND_TOL = 0.1

# A total effective number of weights below this counts as none.
FEWEST_EFFECTIVE = 0.1

# Decimal digits kept of the logarithms of penalties.
DIGITS = 2

# With more classes than this, effective numbers come from this many of them, evenly spaced by size: all classes share
# the same penalties.
MOST_CLASSES = 3


@dataclass(frozen=True, eq=False, repr=False)
class Penalties(ShownOnOneLine):
    """Penalties of groups of weights, and how far they are from convergence."""

    penalties: FloatArray
    n_effective: FloatArray
    change: float
    n_rounds: int
    converged: bool

    @classmethod
    def of_prior(cls, n_groups: int) -> Self:
        """The prior penalties, for when there is nothing to learn from."""
        return cls(np.full(n_groups, PRIOR_PENALTY), np.zeros(n_groups), 0.0, 0, True)


@single_threaded
def learn_penalties(
    columns: SteppedColumns,
    which: IntArray,
    n_classes: int,
    groups: IntArray,
    pools: IntArray,
    *,
    weights: FloatArray,
    tol: float = 0.1,
    max_rounds: int = 20,
    signs: IntArray | None = None,
    signs_for: int = 1,
) -> Penalties:
    """Learn a penalty for each group of columns of a multinomial logistic model."""
    n, P = columns.shape
    if n_classes == 1 or P == 0:
        return Penalties.of_prior(len(pools))
    examined = _classes_examined(which, n_classes)
    prior = np.clip(np.bincount(groups, minlength=len(pools)).astype(np.float64), 1.0, GROUP_WEIGHTS)
    pooled = np.full(pools.max(initial=0) + 1, PRIOR_PENALTY)
    penalties = np.full(len(pools), PRIOR_PENALTY * np.clip(START_PER_COLUMN * P / n, 1.0, MOST_TIMES))
    n_effective = np.zeros(len(pools))
    multiples, moves, last = np.ones(len(pools)), np.zeros(len(pools)), np.zeros(len(pools))
    fit, change, n_rounds = None, np.inf, 0
    while n_rounds < max_rounds and change > tol:
        if n_rounds:
            multiples = np.where(moves * last > 0.0, np.minimum(LONGER * multiples, LONGEST_MULTIPLE), 1.0)
            steps = np.clip(multiples * moves, -LONGEST_STEP, LONGEST_STEP)
            penalties, last = _clip_to_limits(penalties * np.exp(steps)), moves
        n_rounds += 1
        roots = np.sqrt(penalties)[groups]
        scaled = columns.scale_columns(1.0 / roots)
        start = None if fit is None else replace(fit, coefficients=fit.coefficients * roots[:, np.newaxis])
        fit = fit_softmax(
            scaled,
            which,
            n_classes,
            penalty=1.0,
            weights=weights,
            tol=ROUND_TOL,
            start=start,
            signs=signs,
            signs_for=signs_for,
        )
        effective = _n_effective(scaled, fit, examined, weights, signs, signs_for)
        n_effective = np.bincount(groups, effective, minlength=len(pools)).astype(np.float64)
        fit = replace(fit, coefficients=fit.coefficients / roots[:, np.newaxis])
        squares = np.bincount(groups, _squares(fit, examined, signs), minlength=len(pools)).astype(np.float64)
        wanted, pooled = _next_penalties(penalties, pooled, n_effective, squares, pools, prior)
        moves = np.log(_clip_to_limits(wanted) / penalties)
        change = float(n_effective @ np.abs(moves) / max(n_effective.sum(), FEWEST_EFFECTIVE))
    return Penalties(_round(penalties), n_effective, change, n_rounds, change <= tol)


def _clip_to_limits(penalties: FloatArray) -> FloatArray:
    return np.clip(penalties, SMALLEST_PENALTY, LARGEST_PENALTY)


def _round(penalties: FloatArray) -> FloatArray:
    """Round to `DIGITS` on a logarithmic scale: further digits mean nothing, and depend on the order of the rows."""
    return np.asarray(10.0 ** np.log10(penalties).round(DIGITS))


def _classes_examined(which: IntArray, n_classes: int) -> IntArray:
    """The classes to count effective weights for: one of two, and of very many a selection by size."""
    if n_classes == 2:
        return np.array([1])
    by_size = np.argsort(np.bincount(which, minlength=n_classes), kind="stable")
    return np.sort(by_size[np.linspace(0, n_classes - 1, min(n_classes, MOST_CLASSES)).round().astype(np.int64)])


def _squares(fit: Softmax, examined: IntArray, signs: IntArray | None) -> FloatArray:
    """Squares of each column's weights, summed over some classes; for two classes, those of their difference.

    With more classes, a signed column has a single weight, which counts once.
    """
    coefficients = fit.coefficients[:, examined]
    if fit.coefficients.shape[1] == 2:
        coefficients = 2.0 * coefficients
    squares = (coefficients**2).sum(axis=1)
    if signs is not None and fit.coefficients.shape[1] > 2:
        squares = np.where(signs != 0, (fit.coefficients**2).sum(axis=1), squares)
    return np.asarray(squares)


def _next_penalties(
    penalties: FloatArray,
    pooled: FloatArray,
    n_effective: FloatArray,
    squares: FloatArray,
    pools: IntArray,
    prior: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The next penalties of groups and of pools, by MacKay's rule; `prior` is the weight of each group's prior."""
    held = POOL_WEIGHTS * _prior_strength(pooled, PRIOR_PENALTY)
    n_pooled, pooled_squares = np.bincount(pools, n_effective), np.bincount(pools, squares)
    pooled = np.asarray((n_pooled + held) / (pooled_squares + held / PRIOR_PENALTY))
    around = pooled[pools]
    held = prior * _prior_strength(penalties, around)
    grouped = (n_effective + held) / (squares + held / around)
    is_alone = np.bincount(pools)[pools] == 1
    return np.where(is_alone, around, grouped), pooled


def _prior_strength(penalties: FloatArray, around: FloatArray | float) -> FloatArray:
    """The strength of the prior: 1 up to its own penalty, beyond it decreasing, and faster than that of the rows."""
    return np.asarray(np.minimum(1.0, 2.0 * around / (around + penalties)) ** 2)


def _n_effective(
    columns: SteppedColumns,
    fit: Softmax,
    examined: IntArray,
    weights: FloatArray,
    signs: IntArray | None,
    signs_for: int,
) -> FloatArray:
    """The effective number of weights of each column, if the penalty of every column is one."""
    p = softmax(fit.offsets[:, np.newaxis] + columns.scores(fit.coefficients.T), axis=0)
    is_out = None if signs is None else (signs != 0) & (fit.coefficients[:, signs_for] == 0.0)
    total = np.zeros(columns.shape[1])
    for curvature in weights * p[examined] * (1.0 - p[examined]):
        total += effective_degrees(columns, curvature, is_out)
    n_classes = len(fit.offsets)
    if signs is not None and n_classes > 2:
        # The weights of a signed column are one number times a vector of squared length (C - 1) / C.
        of_class = weights * p[signs_for] * (1.0 - p[signs_for]) * (n_classes / (n_classes - 1))
        total = np.where(signs != 0, effective_degrees(columns, of_class, is_out), total)
    return total


def effective_degrees(columns: SteppedColumns, curvature: FloatArray, is_out: BoolArray | None = None) -> FloatArray:
    """Effective degrees of freedom of each column, from 0 to 1, with a free offset and penalties of one.

    How far the rows determine its weight: one minus the diagonal of the inverse of the penalised Hessian. Columns that
    are out, such as those at a bound, have none.
    """
    n, P = columns.shape
    if not curvature.sum() > 0.0:
        return np.zeros(P)
    center, _ = columns.moments(curvature)
    centred = columns.standardise(center, np.ones(P + 1))
    if n < P:
        array = centred.to_array()[:, :P] * np.sqrt(curvature)[:, np.newaxis]
        if is_out is not None:
            array[:, is_out] = 0.0
        products = array @ array.T
        products.flat[:: n + 1] += 1.0
        factor = np.linalg.cholesky(products)
        shares = solve_triangular(factor, array, lower=True, check_finite=False)
        return np.asarray(np.einsum("ij,ij->j", shares, shares))
    products = centred.gram(np.arange(n), curvature)[:P, :P]
    if is_out is not None:
        products[is_out], products[:, is_out] = 0.0, 0.0
    products.flat[:: P + 1] += 1.0
    factor, _ = lapack.dpotrf(np.asfortranarray(products), lower=1, overwrite_a=1)
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    return np.asarray(1.0 - inverse.diagonal())
