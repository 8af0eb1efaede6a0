"""Test the assumption of a promise for another mix of regions: no shift within regions.

Without labels, one can only test whether trust and each column have the same distribution within regions. A difference
is a sign, not a proof: the labels may be unaffected. Conversely, no difference proves nothing about labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimators.columns_by import column_names
from sepc.records import flag, number, record, text, whole
from sepc.statistics.stratified_ranks import differ_p_value, spread_p_value
from sepc.wording import name_of

# The significance level: the probability of a false alarm.
SIGN_LEVEL = 0.05
TRUST = "trust"


@record
class ShiftCheck:
    """Whether target rows differ from calibration rows within regions.

    Attributes
    ----------
    column : str
        What differs most: a column, or trust.
    p_value : float
        Its p-value, times the number of tests (Bonferroni), at most 1.
    n_tests : int
        The number of tests: two for each column, and two for trust.
    is_sign : bool
        Whether this is a sign that the assumption does not hold.
    """

    column: str = text()
    p_value: float = number(0.0, 1.0)
    n_tests: int = whole(low=1)
    is_sign: bool = flag()


def check_shift(X: Any, X_target: Any, trust: FloatArray, is_target: BoolArray, region: IntArray) -> ShiftCheck:
    """Compare calibration and target rows within regions: trust, then column by column.

    Parameters
    ----------
    X, X_target : tables of n and m rows
        Inputs without columns are compared by trust alone.
    trust, is_target, region : (n + m,) arrays
        Of the calibration rows and then the target rows.
    """
    found, which = {}, np.unique(region, return_inverse=True)[1]
    for name, values in [(TRUST, trust), *_columns(X, X_target)]:
        parts = values, is_target, which
        found[name] = min(differ_p_value(*parts), spread_p_value(*parts))
    most, n_tests = min(found, key=found.__getitem__), 2 * len(found)
    p = min(1.0, n_tests * found[most])
    return ShiftCheck(most, p, n_tests, p <= SIGN_LEVEL)


def _columns(X: Any, X_target: Any) -> list[tuple[str, FloatArray]]:
    tables = [table if hasattr(table, "shape") else np.asarray(table) for table in (X, X_target)]
    if any(len(table.shape) != 2 for table in tables):
        return []
    names = column_names(tables[0])
    cells = ([_cells(table, j) for table in tables] for j in range(len(names)))
    return [(name_of(name), _as_numbers(np.concatenate(both))) for name, both in zip(names, cells, strict=True)]


def _cells(table: Any, j: int) -> NDArray[Any]:
    column = _safe_indexing(table, j, axis=1)
    column = column.toarray().ravel() if hasattr(column, "toarray") else column
    return np.asarray(column, dtype=object)


def _as_numbers(cells: NDArray[Any]) -> FloatArray:
    """Numbers as they are, with infinity for missing values; other values by the rank of their frequency."""
    try:
        values = cells.astype(np.float64)
    except (TypeError, ValueError):
        texts = np.array([str(cell) for cell in cells])
        _, which, counts = np.unique(texts, return_inverse=True, return_counts=True)
        order = np.argsort(np.argsort(counts, kind="stable"), kind="stable")
        return np.asarray(order[which], dtype=np.float64)
    return np.where(np.isnan(values), np.inf, values)
