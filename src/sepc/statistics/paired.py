"""Two models on the same rows: a bound on how much more often the second does something than the first."""

from __future__ import annotations

from sepc.statistics.binomial import lower_bound, upper_bound


def difference_bound(n_only_second: int, n_only_first: int, n_rows: int, confidence: float) -> float:
    """Upper bound on the second rate minus the first, from rows on which both were observed; 1 if there are no rows.

    The difference of the rates is the share of rows on which only the second event happens, minus the share on which
    only the first does. Each share has an exact Clopper-Pearson bound at half of the error, so by the union bound the
    difference exceeds their sum with probability at most ``1 - confidence``, whatever the number of rows and however
    the two depend on one another.

    Examples
    --------
    >>> round(difference_bound(0, 0, 500, 0.95), 4), round(difference_bound(20, 30, 1000, 0.95), 4)
    (0.0074, 0.0104)
    """
    each = 1.0 - 0.5 * (1.0 - confidence)
    more, fewer = upper_bound(n_only_second, n_rows, each), lower_bound(n_only_first, n_rows, each)
    return float(more - fewer)
