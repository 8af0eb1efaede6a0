"""Multinomial logistic regression with an L2 penalty, solved to machine precision, with a certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_softmax, softmax

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.kernels._directions import Curvature, Linear
from sepc.kernels._newton import ConvexLoss, Signed, minimise
from sepc.kernels.numeric import single_threaded
from sepc.kernels.stepped_columns import Columns, DenseColumns, Floats, SteppedColumns

# The penalty of the offset in a factor of rows, per unit of weight: small against the curvature, but not zero.
OFFSET_PRIOR = 1e-4
# Up to this many entries, a matrix is faster as a plain array.
FEW_ENTRIES = 3 * 10**6
# A gradient within this many rounding errors of the terms it sums counts as zero.
ROUNDINGS = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False, repr=False)
class Softmax(ShownOnOneLine):
    """The minimiser of a penalised multinomial loss, and the proof that it is one.

    Attributes
    ----------
    coefficients : (P, C) array
        A column for each class; columns sum to zero. Scores are ``offsets + features @ coefficients``.
    offsets : (C,) array
        They sum to zero.
    gap : float
        The certificate, a duality gap computed from the rows and the numbers above: the objective is at most `gap`
        above the smallest possible, and the coefficients, as one long vector, at most ``sqrt(2 * gap / penalty)``
        from the optimum. Infinite if the offsets are too far off for a bound, which happens only after an early stop.
    n_rounds : int
        How many Newton steps were taken.
    converged : bool
        Whether another step would move no score by more than `tol`, or the gradient is zero up to rounding.
    """

    coefficients: FloatArray
    offsets: FloatArray
    gap: float
    n_rounds: int
    converged: bool


@single_threaded
def fit_softmax(
    features: ArrayLike | SteppedColumns,
    which: ArrayLike,
    n_classes: int,
    *,
    penalty: float,
    weights: ArrayLike | None = None,
    tol: float = 1e-9,
    max_rounds: int = 100,
    start: Softmax | None = None,
    signs: ArrayLike | None = None,
    signs_for: int = 1,
) -> Softmax:
    """Fit weights of features for each class, like scikit-learn's `LogisticRegression` with ``C = 1 / penalty``.

    Minimises ``sum_i w_i (logsumexp(s_i) - s_i[which_i]) + penalty / 2 * sum of squares`` over coefficients and
    offsets of the scores ``s_i``. The squares are those of the coefficients; for two classes those of their difference,
    which is the binomial problem. Offsets are free. The result does not depend on the order of the rows, nor on
    duplicated, constant or badly scaled columns, beyond rounding.

    Parameters
    ----------
    features : (n, P) array, or SteppedColumns
        Finite numbers, in either memory order: they are centred in one copy. If most columns are steps or categories,
        `SteppedColumns` are several times as fast.
    which : (n,) array of int
        The class of each row, from 0 to ``n_classes - 1``; each must have a row of positive weight.
    n_classes : int
        Number of classes. With a single class, everything is zero.
    penalty : float
        Above zero.
    weights : (n,) array, default=None
        The weight of each row, not negative; 1 for every row if None.
    tol : float, default=1e-9
        Converged once another Newton step would move no score by more than this.
    max_rounds : int, default=100
        The largest number of Newton steps. 7 to 15 are usual.
    start : Softmax, default=None
        A warm start, such as the solution for a similar penalty; by default all weights start at zero.
    signs : (P,) array of int, default=None
        1 for a column that may only raise the log-odds of the class `signs_for` against every other class, -1 for one
        that may only lower them, 0 for a free column. The coefficients of such a column are equal for all other
        classes. All columns are free if None.
    signs_for : int, default=1
        The class that signs refer to.

    Returns
    -------
    Softmax
        The coefficients and the certificate. There are no warnings: the caller judges the certificate.

    Raises
    ------
    ValueError
        If shapes do not match, values are not finite or out of range, or a class has no row of positive weight.

    Examples
    --------
    >>> from sepc.geometry import fit_softmax
    >>> fit = fit_softmax([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], 2, penalty=1.0)
    >>> fit.coefficients.round(4)
    array([[-0.4791,  0.4791]])
    >>> fit.converged, fit.gap < 1e-20
    (True, True)
    """
    F, classes, w = _check(features, which, n_classes, penalty, weights)
    if n_classes == 1:
        return Softmax(np.zeros((F.shape[1], 1)), np.zeros(1), 0.0, 0, True)
    targets = (classes == np.arange(n_classes)[:, None]).astype(np.float64)
    shares = targets @ w / w.sum()
    # One score is enough for two classes: that of the second minus that of the first.
    loss: ConvexLoss = _Binomial(targets[1], w) if n_classes == 2 else _Multinomial(targets, w)
    linear, center, scale = _standardise(F, w, penalty)
    if start is None:
        first = np.concatenate([np.zeros((F.shape[1], n_classes)), np.log(shares)[np.newaxis]]).T
    else:
        offsets = start.offsets + center @ start.coefficients
        first = np.concatenate([start.coefficients, offsets[np.newaxis]]).T
    first = first[1:] - first[0] if n_classes == 2 else first - first.mean(axis=0)
    signed = None if signs is None else _signed(signs, signs_for, F.shape[1], n_classes)
    first = first / scale if signed is None else signed.within(first / scale)
    minimum = minimise(loss, linear, first, tol=tol, max_rounds=max_rounds, signed=signed)
    V = minimum.coefficients * scale
    V[:, -1] -= V[:, :-1] @ center
    V = np.concatenate([-V, V]) / 2 if n_classes == 2 else V - V.mean(axis=0)
    B, offsets = np.ascontiguousarray(V[:, :-1].T), V[:, -1].copy()
    # The binomial penalty in terms of both columns: (b / 2)^2 + (b / 2)^2 = b^2 / 2.
    of_classes = None if signed is None else Signed(np.asarray(signs, dtype=np.float64), _along(signs_for, n_classes))
    proof = _Proof(F, targets, w, 2 * penalty if n_classes == 2 else penalty, B, offsets, of_classes)
    gap = proof.gap()
    converged = math.isfinite(gap) and (minimum.next_step <= tol or proof.is_at_rounding())
    return Softmax(B, offsets, gap, minimum.n_rounds, converged)


def _check(
    features: ArrayLike | SteppedColumns, which: ArrayLike, n_classes: int, penalty: float, weights: ArrayLike | None
) -> tuple[Columns, IntArray, FloatArray]:
    given = features if isinstance(features, SteppedColumns) else np.asarray(features, dtype=np.float64)
    classes = np.asarray(which)
    w = np.ones(len(classes)) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(given.shape) != 2 or classes.shape != given.shape[:1] or w.shape != given.shape[:1]:
        raise ValueError(
            f"`features` has shape {given.shape}, `which` {classes.shape} and `weights` {w.shape}; "
            "give (n, P), (n,) and (n,)."
        )
    F: Columns = given if isinstance(given, SteppedColumns) else DenseColumns(given)
    if not (F.is_finite() and np.isfinite(w).all()):
        raise ValueError("features or weights contain NaN or infinity. Fill missing values first.")
    if not (penalty > 0 and np.isfinite(penalty)):
        raise ValueError(
            f"penalty is {penalty}; it must be positive, since separable classes have no best fit without one."
        )
    if (w < 0).any():
        raise ValueError(f"weights must not be negative; the smallest is {w.min():g}.")
    if not np.issubdtype(classes.dtype, np.integer):
        raise ValueError(f"which must hold class numbers as integers, not {classes.dtype}.")
    if len(classes) and not (classes.min() >= 0 and classes.max() < n_classes):
        raise ValueError(f"which ranges from {classes.min()} to {classes.max()}; it must be from 0 to {n_classes - 1}.")
    empty = np.flatnonzero(np.bincount(classes, weights=w, minlength=n_classes) == 0)
    if len(empty):
        raise ValueError(
            f"Class {empty[0]} of {n_classes} has no row of positive weight: its offset would be minus infinity. "
            "Leave it out and renumber the others."
        )
    return F, classes.astype(np.int64, copy=False), w


def _along(signs_for: int, n_classes: int) -> FloatArray:
    """The direction of the scores in which a class gains on every other class alike."""
    along = np.full(n_classes, -1.0 / n_classes)
    along[signs_for] += 1.0
    return along


def _signed(signs: ArrayLike, signs_for: int, n_columns: int, n_classes: int) -> Signed | None:
    """Signs of the columns and of the offset, for the scores that are solved for; None if all are free."""
    given = np.asarray(signs, dtype=np.float64)
    if given.shape != (n_columns,) or not np.isin(given, (-1.0, 0.0, 1.0)).all():
        raise ValueError(f"signs must be -1, 0 or 1 for each of the {n_columns} columns.")
    if not 0 <= signs_for < n_classes:
        raise ValueError(f"signs_for is {signs_for}; it must be a class, from 0 to {n_classes - 1}.")
    if not given.any():
        return None
    every = np.append(given, 0.0)
    return (
        Signed(every * (2 * signs_for - 1), np.ones(1))
        if n_classes == 2
        else Signed(every, _along(signs_for, n_classes))
    )


def _standardise(F: Columns, w: FloatArray, penalty: float) -> tuple[Linear, FloatArray, FloatArray]:
    """Centre and scale the columns, and add one for the offset; `scale` converts coefficients back to the features.

    With many rows, columns are scaled to similar curvature, which single precision needs. With few rows they are scaled
    so that the penalty of each is one, which `Linear` requires.
    """
    n, P = F.shape
    total = w.sum()
    center, variance = F.moments(w)
    scale = np.ones(P + 1)
    if n <= P:
        scale[:P], scale[P] = penalty**-0.5, (OFFSET_PRIOR * total) ** -0.5
    else:
        scale[:P] = (variance + 4 * penalty / total) ** -0.5
    if n <= P or n * P <= FEW_ENTRIES:
        F = DenseColumns(F.to_array())
    penalties = penalty * scale**2
    penalties[P] = 0.0
    return Linear(F.standardise(center, scale), penalties), center, scale


@dataclass(frozen=True, eq=False)
class _Binomial:
    """Loss of one score per row: that of class one, where class zero has score zero."""

    is_one: FloatArray
    weights: FloatArray

    def value(self, scores: FloatArray) -> float:
        return float(self.weights @ (np.logaddexp(0.0, scores[0]) - self.is_one * scores[0]))

    def slopes(self, scores: FloatArray) -> FloatArray:
        side = 1 - 2 * self.is_one
        # The probability of the other class directly: one minus a probability near one would lose all digits.
        slopes: FloatArray = self.weights * side * expit(side * scores)
        return slopes

    def curvature(self, scores: FloatArray, dtype: type) -> Curvature:
        return _OneEach((self.weights * expit(scores) * expit(-scores)).astype(dtype))


@dataclass(frozen=True, eq=False)
class _OneEach:
    rows: Floats

    def times(self, direction: Floats) -> Floats:
        return self.rows * direction


@dataclass(frozen=True, eq=False)
class _Multinomial:
    """Loss of a score for each class, of shape (C, n)."""

    targets: FloatArray
    weights: FloatArray

    def value(self, scores: FloatArray) -> float:
        return -float((self.targets * log_softmax(scores, axis=0)).sum(axis=0) @ self.weights)

    def slopes(self, scores: FloatArray) -> FloatArray:
        slopes: FloatArray = self.weights * (softmax(scores, axis=0) - self.targets)
        return slopes

    def curvature(self, scores: FloatArray, dtype: type) -> Curvature:
        p = softmax(scores, axis=0)
        rows = self.weights * p * (1 - p)
        return _Covariances(rows.astype(dtype), p.astype(dtype), self.weights.astype(dtype))


@dataclass(frozen=True, eq=False)
class _Covariances:
    rows: Floats
    p: Floats
    weights: Floats

    def times(self, direction: Floats) -> Floats:
        weighted = self.p * direction
        product: Floats = (weighted - self.p * weighted.sum(axis=0)) * self.weights
        return product


@dataclass(frozen=True, eq=False)
class _Proof:
    """The certificate of some coefficients, computed from the rows alone."""

    features: Columns
    targets: FloatArray
    weights: FloatArray
    penalty: float
    coefficients: FloatArray
    offsets: FloatArray
    signed: Signed | None = None

    def probabilities(self) -> FloatArray:
        """Class probabilities of the rows, of shape (C, n)."""
        probabilities: FloatArray = softmax(self.offsets[:, None] + self.features.scores(self.coefficients.T), axis=0)
        return probabilities

    def gap(self) -> float:
        """The duality gap: the objective minus that of a dual point.

        For any probabilities `q` whose weighted sums are those of the targets, the smallest objective is at least
        ``sum_i w_i entropy(q_i) - |F' W (targets - q)|^2 / (2 penalty)``. At the model's own `p` the sums are off by
        the residual gradient of the offsets; ``q = p (1 - t)``, with `t` the change of ``log p`` in a Newton step of
        the offsets, corrects this exactly. The difference from the objective is then
        ``sum_i w_i KL(q_i, p_i) + |penalty B - F' W (targets - q)|^2 / (2 penalty)``, free of cancellation. For a
        signed column of size `s`, `g` is the part of the last product along its direction, of squared length `l`: where
        it is negative, the best size is zero, and the second term is ``penalty l s^2 / 2 - s g``.
        """
        p, w = self.probabilities(), self.weights
        excess = (p - self.targets) @ w
        moments = np.diag(p @ w) - (p * w) @ p.T
        # A constant added to all offsets changes nothing; this term makes the solution the one that sums to zero.
        moments += np.trace(moments) / len(p) ** 2
        try:
            shift = np.linalg.solve(moments, excess)
        except np.linalg.LinAlgError:
            return math.inf
        t = shift[:, None] - shift @ p
        if not t.max() < 1:
            return math.inf
        divergence = float((p * ((1 - t) * np.log1p(-t) + t)).sum(axis=0) @ w)
        pulls = self.features.sums(w * (self.targets - p * (1 - t)))
        miss = self.penalty * self.coefficients.T - pulls
        beyond = 0.0
        if self.signed is not None:
            miss = self.signed.project(miss)
            beyond = self._beyond_bounds(self.signed, pulls, miss)
        return max(divergence, 0.0) + float((miss**2).sum()) / (2 * self.penalty) + beyond

    def _beyond_bounds(self, signed: Signed, pulls: FloatArray, miss: FloatArray) -> float:
        """The gap of columns that are pulled beyond their bound; their part of `miss` is set to zero."""
        sizes, inwards = signed.sizes(self.coefficients.T), signed.slopes(pulls)
        is_beyond = signed.is_signed & (inwards < 0.0)
        miss[:, is_beyond] = 0.0
        length = float(signed.along @ signed.along)
        return float((0.5 * self.penalty * length * sizes**2 - sizes * inwards)[is_beyond].sum())

    def is_at_rounding(self) -> bool:
        """Whether no entry of the gradient exceeds the rounding of the terms in its sum and of their scores."""
        p, w, B = self.probabilities(), self.weights, self.coefficients.T
        slopes, sizes = w * (p - self.targets), self.features.sizes()
        terms = sizes.scores(np.abs(B)) + np.abs(self.offsets)[:, None]
        within = w * (1 + (p * (1 - p) * terms).max(axis=0))
        gradient = self.features.sums(slopes) + self.penalty * B
        if self.signed is not None:
            is_held = self.signed.is_signed & (self.signed.sizes(B) <= 0.0) & (self.signed.slopes(gradient) > 0.0)
            gradient = np.where(is_held, 0.0, self.signed.project(gradient))
        miss = np.abs(gradient)
        # The coefficients of a constant column are mere rounding, so they are compared with the largest.
        is_zero = miss <= ROUNDINGS * (sizes.sums(within[np.newaxis]) + self.penalty * np.abs(B).max(initial=0.0))
        return bool(is_zero.all() and (np.abs(slopes.sum(axis=1)) <= ROUNDINGS * within.sum()).all())
