"""The nearest point of an ellipsoid within a box, by Clarabel: an oracle for our own solvers."""

import numpy as np
from optional import package_or_skip
from scipy import sparse

clarabel = package_or_skip("clarabel")


def nearest_by_clarabel(point, projector):
    """The least squared distance to the ellipsoid within the box; None if they do not meet."""
    own, d = projector, len(point)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9  # With less it may stop early, far off.
    rows = np.vstack([np.eye(d), -np.eye(d), np.zeros((1, d)), -own.root])
    ends = np.concatenate([own.high, -own.low, [1.0], -own.root @ own.center])
    squares = own.weights**2
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(2.0 * np.diag(squares)),
        -2.0 * squares * point,
        sparse.csc_matrix(rows),
        ends,
        [clarabel.NonnegativeConeT(2 * d), clarabel.SecondOrderConeT(d + 1)],
        settings,
    ).solve()
    if "Infeasible" in str(solution.status):
        return None
    return float((squares * (np.array(solution.x) - point) ** 2).sum())


def nearest_related_by_clarabel(point, projector):
    """The same under the linear relations of a `RelatedProjector`."""
    own, d, n = projector, len(point), projector.relations.n_equal
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    rows = np.vstack([own.relations.rows, np.eye(d), -np.eye(d), np.zeros((1, d)), -own.root])
    ends = np.concatenate([own.relations.ends, own.high, -own.low, [1.0], -own.root @ own.center])
    cones = [clarabel.ZeroConeT(n)] if n else []
    cones += [clarabel.NonnegativeConeT(len(own.relations) - n + 2 * d), clarabel.SecondOrderConeT(d + 1)]
    squares = own.weights**2
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(2.0 * np.diag(squares)),
        -2.0 * squares * point,
        sparse.csc_matrix(rows),
        ends,
        cones,
        settings,
    ).solve()
    if "Infeasible" in str(solution.status):
        return None
    return float((squares * (np.array(solution.x) - point) ** 2).sum())
