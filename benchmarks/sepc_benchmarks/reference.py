"""Does the partition that `as_published` finds equal the paper's pseudo-code, written out in CVXPY? Two minutes.

`partition_by_cvxpy` follows Algorithms 1 and 2 and gives every convex program to Clarabel at its defaults. Where the
paper leaves a choice it is made as `trust="published"` makes it: carve while more than `n_impure` rows of the other
class are inside, recompute the ellipsoid after every cut, stop where the hulls meet, remove only the rows carved.
"Log-volume off" and "centre off" are the largest differences between the ellipsoids of the two partitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from sepc.partition.sequence import Partition, Settings, partition
from sepc.points.in_memory import ArrayPoints
from sepc_benchmarks.measure import Parts

Rows = NDArray[np.float64]

# Clarabel solves to 1e-8, and rows that fix an ellipsoid lie on its boundary.
INSIDE = 1.0 + 1e-6
# Of the spread of the rows. Where hulls meet, Clarabel leaves the nearest points at most 1e-7 apart.
COINCIDENCE = 1e-5
# The same, for a row that lies on the hyperplane through a nearest point.
ON_THE_PLANE = 1e-7


class Ellipsoid(NamedTuple):
    """All `z` with ``||A @ z + b|| <= 1``."""

    A: Rows
    b: Rows

    @property
    def center(self) -> Rows:
        """The middle."""
        return np.asarray(-np.linalg.solve(self.A, self.b), dtype=float)

    def n_inside(self, rows: Rows) -> int:
        """How many rows it holds."""
        return int(np.sum(np.sum((rows @ self.A.T + self.b) ** 2, axis=1) <= INSIDE))


class FoundByCvxpy(NamedTuple):
    """An ellipsoid of one class, as the algorithm found it."""

    center: Rows
    A: Rows
    is_pos: bool
    is_terminal: bool


class Separated(NamedTuple):
    """What Algorithm 2 returns; an ellipsoid is None if there are too few rows for one."""

    X_plus: Rows
    Y_minus: Rows
    E_plus: Ellipsoid | None
    E_minus: Ellipsoid | None


def solution(variable: Any) -> Rows:
    """The value of a variable after its problem was solved; an error if the solver found none."""
    if variable.value is None:
        raise RuntimeError("The solver found no solution.")
    return np.asarray(variable.value)


def mve(Z: Rows) -> Ellipsoid | None:
    """Program (1), if the independence-dimension inequality holds."""
    n, d = Z.shape
    if n <= d:
        return None
    A, b = cp.Variable((d, d), PSD=True), cp.Variable(d)
    radii = cp.norm(Z @ A + b[None, :], 2, axis=1)
    cp.Problem(cp.Maximize(cp.log_det(A)), [radii <= 1]).solve(solver=cp.CLARABEL)
    return Ellipsoid(solution(A), solution(b))


def nearest_points(X: Rows, Y: Rows) -> tuple[Rows, Rows]:
    """Program (3), with D = 1 / min(N, M)."""
    D = 1 / min(len(X), len(Y))
    u, v = cp.Variable(len(X)), cp.Variable(len(Y))
    distance = cp.sum_squares(X.T @ u - Y.T @ v) / 2
    hulls = [cp.sum(u) == 1, cp.sum(v) == 1, u >= 0, u <= D, v >= 0, v <= D]
    cp.Problem(cp.Minimize(distance), hulls).solve(solver=cp.CLARABEL)
    return X.T @ solution(u), Y.T @ solution(v)


def are_disjoint(first: Ellipsoid, second: Ellipsoid) -> bool:
    """Whether both ellipsoids must be enlarged for them to have a point in common."""
    z, scale = cp.Variable(len(first.b)), cp.Variable()
    reached = [cp.norm(one.A @ z + one.b) <= scale for one in (first, second)]
    return bool(cp.Problem(cp.Minimize(scale), reached).solve(solver=cp.CLARABEL) > 1)


def partition_by_cvxpy(pos: Rows, neg: Rows, n_impure: int, max_rounds: int = 1_000) -> tuple[list[FoundByCvxpy], Rows]:
    """Algorithm 1: the ellipsoids in the order found, and the rows that stay isolated."""
    found: list[FoundByCvxpy] = []
    isolated: list[Rows] = []
    X, Y, d = pos, neg, pos.shape[1]
    for _ in range(max_rounds):
        if len(X) <= d or len(Y) <= d:
            break
        separated = rch(X, Y)
        if len(separated.X_plus) == 0 or len(separated.Y_minus) == 0:
            break
        X_plus, E_plus = carve(separated.X_plus, separated.E_plus, Y, n_impure)
        Y_minus, E_minus = carve(separated.Y_minus, separated.E_minus, X, n_impure)
        if len(X_plus) == 0 and len(Y_minus) == 0:
            break
        for Z, E, is_pos in ((X_plus, E_plus, True), (Y_minus, E_minus, False)):
            if E is None:
                isolated.append(Z)
            else:
                found.append(FoundByCvxpy(E.center, E.A, is_pos, is_terminal=False))
        X, Y = without(X, X_plus), without(Y, Y_minus)
    for Z, is_pos in ((X, True), (Y, False)):
        if 0 < len(Z) < d:
            isolated.append(Z)
        elif len(Z) == d:
            # Program (1) is unbounded for so few rows: of the flat ellipsoid only the centre is known.
            found.append(FoundByCvxpy(Z.mean(axis=0), np.full((d, d), np.nan), is_pos, is_terminal=True))
        elif E := mve(Z) if len(Z) > 0 else None:
            found.append(FoundByCvxpy(E.center, E.A, is_pos, is_terminal=True))
    return found, np.concatenate([np.empty((0, d)), *isolated])


def carve(own: Rows, E: Ellipsoid | None, other: Rows, n_impure: int) -> tuple[Rows, Ellipsoid | None]:
    """The inner loops of Algorithm 1; no rows if the classes cannot be separated further."""
    while E is not None and E.n_inside(other) > n_impure:
        kept, _, E, _ = rch(own, other)
        if len(kept) == len(own):
            return own[:0], None
        own = kept
    return own, E


def rch(X: Rows, Y: Rows) -> Separated:
    """Algorithm 2; no rows if the hulls meet."""
    E_X, E_Y = mve(X), mve(Y)
    assert E_X is not None
    assert E_Y is not None
    if are_disjoint(E_X, E_Y):
        return Separated(X, Y, E_X, E_Y)
    c, d = nearest_points(X, Y)
    w = c - d
    spread = np.linalg.norm(np.concatenate([X, Y]).std(axis=0))
    if np.linalg.norm(w) <= COINCIDENCE * spread:
        return Separated(X[:0], Y[:0], None, None)
    slack = ON_THE_PLANE * spread * np.linalg.norm(w)
    X_plus, Y_minus = X[X @ w >= c @ w - slack], Y[Y @ w <= d @ w + slack]
    return Separated(X_plus, Y_minus, mve(X_plus), mve(Y_minus))


def without(Z: Rows, taken: Rows) -> Rows:
    """The difference of two sets of rows; equal rows are always cut alike, so they leave together."""
    return Z[~(Z[:, None] == taken[None]).all(axis=2).any(axis=1)]


def ours(pos: Rows, neg: Rows, n_impure: int, max_rounds: int) -> Partition:
    unit = np.concatenate([pos, neg]).std(axis=0)
    settings = Settings(n_impure, published=True, max_rounds=max_rounds, max_ellipsoids=10_000, unit=unit)
    return partition(ArrayPoints(pos), ArrayPoints(neg), settings)


class Agreement(NamedTuple):
    """How far two partitions differ; infinitely far if they do not have the same ellipsoids."""

    same: bool
    log_volume_off: float
    center_off: float


def compare(found: Sequence[FoundByCvxpy], isolated: Rows, own: Partition) -> Agreement:
    labels = [(one.is_pos, one.is_terminal) for one in found]
    own_isolated = np.concatenate([own.isolated_pos, own.isolated_neg])
    same = labels == [(one.is_pos, one.is_terminal) for one in own.ellipsoids]
    if not same or sorted(isolated.tolist()) != sorted(own_isolated.tolist()):
        return Agreement(False, np.inf, np.inf)
    pairs = [(one, other.ellipsoid) for one, other in zip(found, own.ellipsoids, strict=True)]
    volumes = [log_determinant(one.A) - log_determinant(e.root) for one, e in pairs if np.isfinite(one.A).all()]
    centers = [one.center - e.center for one, e in pairs]
    return Agreement(True, float(np.abs(volumes).max()), float(np.abs(centers).max()))


def log_determinant(matrix: Rows) -> float:
    return float(np.linalg.slogdet(matrix)[1])


def overlapping(n_pos: int, n_neg: int, d: int) -> tuple[Rows, Rows]:
    rng = np.random.default_rng([n_pos, n_neg, d])
    pos, neg = rng.standard_normal((n_pos, d)), rng.standard_normal((n_neg, d))
    neg[:, 0] += 2.0
    return pos, neg


def parts(smallest: bool) -> Parts:
    return {"same partition": lambda: {"same partition": list(cases(smallest))}}


def cases(smallest: bool) -> Iterator[dict[str, Any]]:
    for n_impure in (10,) if smallest else (10, 2):
        yield record_of("60 + 40 x 2", *overlapping(60, 40, 2), n_impure)
    if not smallest:
        rows, classes = load_iris(return_X_y=True)
        for k, name in enumerate(load_iris().target_names):
            yield record_of(f"iris, {name}", rows[classes == k], rows[classes != k], 2)


def record_of(name: str, pos: Rows, neg: Rows, n_impure: int) -> dict[str, Any]:
    found, isolated = partition_by_cvxpy(pos, neg, n_impure)
    own = ours(pos, neg, n_impure, max_rounds=1_000)
    agreement = compare(found, isolated, own)
    head = {"rows": name, "n_impure": n_impure, "rounds": len(own.rounds), "ellipsoids": len(found)}
    apart = {"log-volume off": agreement.log_volume_off, "centre off": agreement.center_off}
    return head | {"sepc, ellipsoids": len(own.ellipsoids), "same": agreement.same} | apart
