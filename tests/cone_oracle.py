"""The nearest point of an ellipsoid within a box, under linear relations, by SCS: an oracle for what Clarabel finds."""

import numpy as np
from optional import package_or_skip
from scipy import sparse

scs = package_or_skip("scs")


def nearest_by_scs(point, projector):
    """The least squared distance to the ellipsoid within the box where relations hold; None without such a point."""
    own, d, squares = projector, len(point), projector.weights**2
    related, ends, n = (np.zeros((0, d)), np.empty(0), 0)
    if own.relations is not None:
        related, ends, n = own.relations.rows, own.relations.ends, own.relations.n_equal
    rows = np.vstack([related, np.eye(d), -np.eye(d), np.zeros((1, d)), -own.root])
    given = {
        "P": sparse.csc_matrix(2.0 * np.diag(squares)),
        "A": sparse.csc_matrix(rows),
        "b": np.concatenate([ends, own.high, -own.low, [1.0], -own.root @ own.center]),
        "c": -2.0 * squares * point,
    }
    cones = {"z": n, "l": len(ends) - n + 2 * d, "q": [1 + len(own.root)]}
    solver = scs.SCS(given, cones, verbose=False, eps_abs=1e-9, eps_rel=1e-9, eps_infeas=1e-9, max_iters=100_000)
    found = solver.solve()
    if "infeasible" in found["info"]["status"]:
        return None
    assert found["info"]["status"] == "solved"
    return float((squares * (found["x"] - point) ** 2).sum())
