"""How fast are the nearest points of a reduced hull and a mean: `nearest_points` beside solvers of the same program.

Times are medians of interleaved runs on one thread. Both classes are Gaussian and their centres lie three deviations
apart, so that the hulls do not meet. "x bare" is the time over one bare product of the larger class's rows with a
direction. "reads" is how many rows of the larger class were read, over how many there are. "distance off" is a peer's
distance over ours, minus one: all of them solve the same problem.

The peers stop where their defaults tell them to, and get the problem ready in the form they take. scikit-learn's NuSVC
(linear kernel, tol 1e-3) solves a dual whose weights lie between 0 and 1 and sum up to nu (N + M) / 2 in each class;
divided by that sum they weigh at most D = 2 / (nu (N + M)), so that nu = 2 M / (N + M) makes D = 1 / M. PIQP (residuals
1e-8 absolute, 1e-9 relative) and Clarabel (residuals and gap 1e-8) take the projection of the smaller class's mean as a
sparse quadratic program, in which the offset from that mean is a variable of its own: without it the objective would be
a dense matrix with a row and a column for each row of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import clarabel
import numpy as np
import piqp
from numpy.typing import NDArray
from scipy import sparse
from sklearn.svm import NuSVC
from threadpoolctl import threadpool_limits

from sepc.geometry import nearest_points
from sepc_benchmarks.measure import arguments, medians, save, show

Rows = NDArray[np.float64]
APART = 3.0


class Answer(NamedTuple):
    """What a solver found, and how many of its own iterations it took."""

    distance: float
    n_iterations: int


Solve = Callable[[], Answer]


class QuadraticProgram(NamedTuple):
    """Minimise ``z @ P @ z / 2`` over ``z = (u, w)`` subject to ``A @ z = b`` and ``0 <= u <= 1``.

    Here `u` are the weights times `M`, and `w` is the offset of the weighted mean from the smaller class's.
    """

    P: sparse.csc_matrix
    A: sparse.csc_matrix
    b: Rows
    n_weights: int


def two_classes(n_large: int, n_small: int, d: int) -> tuple[Rows, Rows]:
    rng = np.random.default_rng([n_large, n_small, d])
    large, small = rng.standard_normal((n_large, d)), rng.standard_normal((n_small, d))
    small[:, 0] += APART
    return large, small


def ours(large: Rows, small: Rows) -> Solve:
    def solve() -> Answer:
        found = nearest_points(large, small)
        return Answer(found.distance, found.n_iterations)

    return solve


def with_nusvc(large: Rows, small: Rows) -> Solve:
    rows, labels = np.concatenate((large, small)), np.repeat([1, 0], [len(large), len(small)])
    # With all of the smaller class at the bound libsvm divides by infinity; this keeps one row a hair below it.
    nu = (1 - 1e-12) * 2 * len(small) / len(rows)

    def solve() -> Answer:
        fitted = NuSVC(nu=nu, kernel="linear").fit(rows, labels)
        per_class = np.abs(fitted.dual_coef_).sum() / 2
        return Answer(float(np.linalg.norm(fitted.coef_) / per_class), int(fitted.n_iter_[0]))

    return solve


def program_for(large: Rows, small: Rows) -> QuadraticProgram:
    n, d = large.shape
    offsets = (large - small.mean(axis=0)) / len(small)
    objective = sparse.block_diag([sparse.csc_matrix((n, n)), sparse.eye(d)])
    blocks: list[list[Any]] = [[sparse.csc_matrix(offsets.T), -sparse.eye(d)], [np.ones((1, n)), None]]
    matrices = sparse.csc_matrix(objective), sparse.csc_matrix(sparse.bmat(blocks))
    return QuadraticProgram(*matrices, np.append(np.zeros(d), len(small)), n)


def with_piqp(large: Rows, small: Rows) -> Solve:
    program = program_for(large, small)
    free = np.full(large.shape[1], np.inf)
    lower, upper = np.append(np.zeros(len(large)), -free), np.append(np.ones(len(large)), free)

    def solve() -> Answer:
        solver = piqp.SparseSolver()
        solver.setup(program.P, np.zeros(len(lower)), program.A, program.b, x_l=lower, x_u=upper)
        solver.solve()
        found = solver.result
        return Answer(float(np.linalg.norm(found.x[program.n_weights :])), int(found.info.iter))

    return solve


def with_clarabel(large: Rows, small: Rows) -> Solve:
    program = program_for(large, small)
    n, n_equalities = program.n_weights, len(program.b)
    weights = sparse.eye(n, program.P.shape[1])
    constraints = sparse.vstack([program.A, -weights, weights], format="csc")
    bounds = np.concatenate((program.b, np.zeros(n), np.ones(n)))
    cones = [clarabel.ZeroConeT(n_equalities), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1

    def solve() -> Answer:
        found = clarabel.DefaultSolver(
            program.P, np.zeros(program.P.shape[1]), constraints, bounds, cones, settings
        ).solve()
        return Answer(float(np.linalg.norm(found.x[n:])), int(found.iterations))

    return solve


PEERS: dict[str, Callable[[Rows, Rows], Solve]] = {
    "NuSVC": with_nusvc,
    "PIQP": with_piqp,
    "Clarabel": with_clarabel,
}


class Comparison(NamedTuple):
    """Class sizes, features, the peers to run beside and how often."""

    n_large: int
    n_small: int
    d: int
    peers: Sequence[str]
    rounds: int


COMPARISONS = (
    Comparison(91, 9, 2, tuple(PEERS), 15),
    Comparison(909, 91, 10, tuple(PEERS), 9),
    Comparison(9_091, 909, 30, tuple(PEERS), 3),
    Comparison(100_000, 10_000, 10, ("PIQP", "Clarabel"), 2),
)


def beside_peers(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    records = []
    for n_large, n_small, d, peers, rounds in comparisons:
        large, small = two_classes(n_large, n_small, d)
        solvers = {"sepc": ours(large, small)} | {name: PEERS[name](large, small) for name in peers}
        times = medians(solvers, rounds)
        answers = {name: solve() for name, solve in solvers.items()}
        records += [
            {
                "rows": f"{n_large:,} + {n_small:,} x {d}",
                "solver": name,
                "ms": 1e3 * times[name],
                "iterations": answer.n_iterations,
                "x ours": times[name] / times["sepc"],
                "distance off": answer.distance / answers["sepc"].distance - 1,
            }
            for name, answer in answers.items()
        ]
    return records


def by_ratio(sizes: Sequence[tuple[int, int]], ratios: Sequence[float]) -> list[dict[str, Any]]:
    records = []
    for n_large, d in sizes:
        for ratio in ratios:
            large, small = two_classes(n_large, round(n_large / ratio), d)
            found = nearest_points(large, small)
            bare = partial(np.matmul, large, found.near_neg - found.near_pos)
            times = medians({"ours": ours(large, small), "bare": bare}, 5)
            records.append(
                {
                    "larger class": f"{n_large:,} x {d}",
                    "ratio": f"{ratio:g}:1",
                    "ms": 1e3 * times["ours"],
                    "x bare": times["ours"] / times["bare"],
                    "iterations": found.n_iterations,
                    "relative gap": found.gap / found.distance**2,
                }
            )
    return records


def main() -> None:
    options = arguments(__doc__)
    comparisons = [Comparison(55, 5, 2, tuple(PEERS), 2)] if options.smallest else COMPARISONS
    sizes = [(2_000, 3)] if options.smallest else [(10_000, 30), (100_000, 10), (1_000_000, 10)]
    with threadpool_limits(1):
        results = {"beside peers": beside_peers(comparisons), "by ratio": by_ratio(sizes, (1.1, 2.0, 10.0))}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
