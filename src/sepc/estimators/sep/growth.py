"""What follows the number of rows: few rows are held back more than many."""

from __future__ import annotations

import numpy as np

# Numbers grow between these numbers of rows. The ends were settled on the first drawing of the comparison for few rows,
# and on magic and electricity for many.
FEW_ROWS, MANY_ROWS = 2_000, 10_000

# Ellipsoids of a partition at most.
MOST_ELLIPSOIDS = (40, 60)


def grown(n_rows: int, ends: tuple[float, float]) -> float:
    """A number that grows with the rows, on logarithmic scales, from one end to the other.

    Examples
    --------
    >>> [round(grown(n, (0.1, 1.0)), 2) for n in (10, 2_000, 4_472, 10_000, 10**6)]
    [0.1, 0.1, 0.32, 1.0, 1.0]
    """
    return float(np.exp(np.interp(np.log(n_rows), np.log([FEW_ROWS, MANY_ROWS]), np.log(ends))))


def most_ellipsoids(n_rows: int) -> int:
    """How many ellipsoids to look for at most in a partition of so many rows."""
    return round(grown(n_rows, MOST_ELLIPSOIDS))
