"""How fast is the smallest enclosing ellipsoid, and how exact: `sepc.enclose` beside what a user would pick today.

Times are medians of interleaved runs on one BLAS thread. "x bare" is the time over one bare pass that computes all
squared radii of the same rows. "volume" is the volume over that of the smallest ellipsoid. The peers, on Gaussian rows:
the convex program in CVXPY (Clarabel), one constraint a row as textbooks write it and all rows in one expression;
Khachiyan's algorithm as the snippets that circulate write it (tolerance 0.01, an N x N matrix in every step); and
nautilus-sampler's function at its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
from nautilus.bounds.basic import minimum_volume_enclosing_ellipsoid as nautilus_ellipsoid
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sepc.kernels.enclose import Enclosure, enclose_points
from sepc.points.in_memory import ArrayPoints
from sepc_benchmarks.measure import arguments, bare_pass, medians, save, show, solution

Rows = NDArray[np.float64]
Found = tuple[Rows, Rows]
TOL = 1e-6


def gaussian(rng: np.random.Generator, n: int, d: int) -> Rows:
    return rng.standard_normal((n, d))


def heavy_tailed(rng: np.random.Generator, n: int, d: int) -> Rows:
    return rng.standard_t(2, size=(n, d))


def clustered(rng: np.random.Generator, n: int, d: int) -> Rows:
    return 3.0 * np.random.default_rng(5).standard_normal((5, d))[rng.integers(5, size=n)] + gaussian(rng, n, d)


def near_degenerate(rng: np.random.Generator, n: int, d: int) -> Rows:
    rotation = np.linalg.qr(np.random.default_rng(5).standard_normal((d, d)))[0]
    return gaussian(rng, n, d) * np.logspace(0, -4, d) @ rotation


def in_ball(rng: np.random.Generator, n: int, d: int) -> Rows:
    rows = gaussian(rng, n, d)
    return rows * (rng.random((n, 1)) ** (1 / d) / np.linalg.norm(rows, axis=1, keepdims=True))


KINDS: tuple[Callable[[np.random.Generator, int, int], Rows], ...] = (
    gaussian,
    heavy_tailed,
    clustered,
    near_degenerate,
    in_ball,
)


def solved(A: cp.Variable, b: cp.Variable) -> Found:
    root = solution(A)
    return np.asarray(-np.linalg.solve(root, solution(b)), dtype=float), root.T @ root


def with_clarabel(rows: Rows) -> Found:
    d = rows.shape[1]
    A, b = cp.Variable((d, d), PSD=True), cp.Variable(d)
    cp.Problem(cp.Maximize(cp.log_det(A)), [cp.norm(rows @ A + b[None, :], 2, axis=1) <= 1]).solve(solver=cp.CLARABEL)
    return solved(A, b)


def with_clarabel_by_row(rows: Rows) -> Found:
    d = rows.shape[1]
    A, b = cp.Variable((d, d), PSD=True), cp.Variable(d)
    cp.Problem(cp.Maximize(cp.log_det(A)), [cp.norm(A @ row + b, 2) <= 1 for row in rows]).solve(solver=cp.CLARABEL)
    return solved(A, b)


def with_khachiyan(rows: Rows, tolerance: float = 0.01) -> Found:
    """Khachiyan 1996, in the form that circulates: coordinate ascent until a step is shorter than `tolerance`."""
    n, d = rows.shape
    lifted = np.column_stack([rows, np.ones(n)])
    u, step_length = np.full(n, 1.0 / n), np.inf
    while step_length > tolerance:
        moment = lifted.T @ np.diag(u) @ lifted
        leverage = np.diag(lifted @ np.linalg.inv(moment) @ lifted.T)
        j = int(leverage.argmax())
        step = (leverage[j] - d - 1) / ((d + 1) * (leverage[j] - 1))
        moved = (1 - step) * u
        moved[j] += step
        step_length, u = float(np.linalg.norm(moved - u)), moved
    center = u @ rows
    return center, np.linalg.inv((rows.T * u) @ rows - np.outer(center, center)) / d


def with_nautilus(rows: Rows) -> Found:
    center, shape, _ = nautilus_ellipsoid(rows)
    return center, shape


PEERS: dict[str, tuple[Callable[[Rows], Found], int]] = {
    "CVXPY+Clarabel, row by row": (with_clarabel_by_row, 10_000),
    "CVXPY+Clarabel, vectorised": (with_clarabel, 10_000),
    "Khachiyan snippet": (with_khachiyan, 20_000),
    "nautilus-sampler": (with_nautilus, 20_000),
}


def volume_ratio(rows: Rows, peer: Found, found: Enclosure) -> float:
    """Volume of a peer's ellipsoid, blown up until it holds all rows, over the volume of ours."""
    center, shape = peer
    root = np.linalg.cholesky(shape).T
    radius = np.linalg.norm((rows - center) @ root.T, axis=1).max()
    log_ratio = np.linalg.slogdet(found.ellipsoid.root)[1] - np.linalg.slogdet(root / radius)[1]
    return float(np.exp(log_ratio))


def enclosed(rows: Rows, tol: float) -> Enclosure:
    """Our ellipsoid; a set of its own for each run, which keeps no sums of an earlier one."""
    return enclose_points(ArrayPoints(rows), tol=tol)


def small_sets(sizes: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    records = []
    for n, d in sizes:
        for kind in KINDS:
            rows = kind(np.random.default_rng([n, d]), n, d)
            times = medians({"ours": partial(enclosed, rows, tol=TOL), "bare": bare_pass(rows)}, 15)
            found = enclosed(rows, tol=TOL)
            record: dict[str, Any] = {"rows": f"{n:,} x {d}", "kind": kind.__name__, "ms": 1e3 * times["ours"]}
            record |= {"x bare": times["ours"] / times["bare"], "rounds": found.n_rounds, "gap": found.gap}
            records.append(record)
    return records


def beside_peers(sizes: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for n, d in sizes:
        rows = gaussian(np.random.default_rng([n, d]), n, d)
        found = enclosed(rows, tol=TOL)
        for name, (peer, largest) in PEERS.items():
            if n * d > largest:
                continue
            rounds = 3 if n * d > 5_000 else 7
            times = medians({"ours": partial(enclosed, rows, tol=TOL), "peer": partial(peer, rows)}, rounds)
            record: dict[str, Any] = {"rows": f"{n:,} x {d}", "peer": name, "ms": 1e3 * times["peer"]}
            record |= {"sepc, ms": 1e3 * times["ours"], "x sepc": times["peer"] / times["ours"]}
            records.append(record | {"volume": volume_ratio(rows, peer(rows), found)})
    return records


def large_sets(sizes: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    records = []
    for n, d in sizes:
        for kind in KINDS:
            rows = kind(np.random.default_rng([n, d]), n, d)
            times = medians({"ours": partial(enclosed, rows, tol=TOL), "bare": bare_pass(rows)}, 7)
            exact = medians({"ours": partial(enclosed, rows, tol=1e-10), "bare": bare_pass(rows)}, 3)
            records.append(
                {
                    "rows": f"{n:,} x {d}",
                    "kind": kind.__name__,
                    "ms": 1e3 * times["ours"],
                    "x bare": times["ours"] / times["bare"],
                    "x bare to 1e-10": exact["ours"] / exact["bare"],
                    "gap": enclosed(rows, tol=TOL).gap,
                }
            )
    return records


def main() -> None:
    options = arguments(__doc__)
    small = [(40, 2)] if options.smallest else [(100, 2), (500, 5), (1000, 10), (570, 30)]
    large = [(500, 3)] if options.smallest else [(10_000, 30), (100_000, 10), (1_000_000, 10)]
    with threadpool_limits(1):
        results = {"peers": beside_peers(small), "small": small_sets(small), "large": large_sets(large)}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
