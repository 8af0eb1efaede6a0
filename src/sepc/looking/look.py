"""Check a table and its labels before a model is fitted to them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import IntArray
from sepc.columns.kinds import read_arrays, read_columns
from sepc.columns.table import as_typed, is_gap, is_table, last_cells
from sepc.looking.columns import category_findings, code_findings, column_findings, header_findings, total_findings
from sepc.looking.copies import copy_findings
from sepc.looking.findings import Findings
from sepc.looking.labels import label_findings
from sepc.looking.row_order import leakage_findings, row_findings
from sepc.wording import check_number, shown

# At most this many rows are examined.
LOOKED_AT = 40_000


def look(X: Any, y: ArrayLike | None = None, *, n_rows: int | None = None) -> Findings:
    """Find what stands out in a table and its labels, with what `SEPClassifier.fit` does about it or what to do.

    Findings are about columns that are not usable as features (ids, indexes, constants, free text), text that stands
    for numbers, dates or durations, units, spellings and missing values written as text or as numbers such as -999, ids
    that repeat, rows that repeat others, a last row of totals, ordered rows, features that predict the label alone
    (leakage), and labels that are missing or look like missing values, misspellings or amounts.

    `fit` leaves out or converts the same columns, rejects amounts as labels, and warns of columns, labels, codes, ids,
    copies and totals; the other checks are made here only, and `sepc fit` warns of leakage.

    Parameters
    ----------
    X : DataFrame, Arrow table or array
        Of more than 40,000 rows, a random sample of 40,000 is examined.
    y : labels, optional
        Without labels, only columns and rows are examined.
    n_rows : int, optional
        How many rows the table has, if `X` is a sample of it, in the same order.

    Returns
    -------
    Findings
        The worst first.

    Raises
    ------
    ValueError
        If there are not as many labels as rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd, sepc
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"no": rng.permutation(300), "price": [f"€ {x:.2f}" for x in rng.lognormal(3, 1, 300)]})
    >>> for finding in sepc.look(table):
    ...     print(finding.about, "-", finding.advice)
    no - Left out; to use it, name it in force_features (--use)
    price - Read as numbers (€); to take it as categories, name it in categorical_features (--categorical)
    """
    is_rows = is_table(X) or (np.ndim(X) in (1, 2) and not hasattr(X, "toarray"))
    if not is_rows or (isinstance(X, list | tuple) and any(isinstance(row, Mapping) for row in X)):
        raise TypeError(f"X is a {type(X).__name__}; look takes a DataFrame, an Arrow table or an array of rows.")
    if y is not None and np.ndim(y) != 1:
        raise ValueError(f"y must hold one label for each row; its shape is {np.shape(y)}.")
    X = X if is_table(X) else np.asarray(X)
    n_given = len(X)
    if n_rows is None:
        n_rows = n_given
    check_number("n_rows", n_rows, least=n_given, whole=True, instead="which is how many there are")
    labels = None if y is None else np.asarray(y)
    found = []
    if labels is not None:
        if len(labels) != n_given:
            raise ValueError(f"There are {len(labels):,} labels for {n_given:,} rows.")
        found = label_findings(labels, has_all=n_given == n_rows)
    if n_given > LOOKED_AT:
        drawn = np.sort(np.random.default_rng(0).permutation(n_given)[:LOOKED_AT])
        X, labels = _rows_at(X, drawn), None if labels is None else labels[drawn]
    n_looked_at = min(n_given, LOOKED_AT)
    share = n_looked_at / max(1, n_rows)
    if is_table(X):
        columns, values = read_columns(X, (), (), share)
        last = last_cells(X)
    else:
        # The columns of an array are called x0, x1 and so on.
        arrays = {f"x{j}": as_typed(column) for j, column in enumerate(X.T if X.ndim == 2 else [X])}
        last, (columns, values) = {name: own[-1:] for name, own in arrays.items()}, read_arrays(arrays, share)
    found += [*column_findings(columns, has_names=is_table(X)), *header_findings(columns)]
    found += category_findings(columns, values)
    found += total_findings(last, values) if n_looked_at == n_rows else []
    known = values
    if labels is not None:
        has_label = np.array([not is_gap(label) for label in labels.tolist()], dtype=bool)
        known = {name: column[has_label] for name, column in values.items()}
        found += leakage_findings(columns, known, labels[has_label])
    found += code_findings(known, None if labels is None else labels[has_label])
    found += [*copy_findings(values, labels), *row_findings(values, labels)]
    return Findings.of(found, n_rows, n_looked_at)


def warn_at_fit(
    last: Mapping[str, NDArray[Any]], values: Mapping[str, NDArray[Any]], y: NDArray[Any], wanted: Collection[str] = ()
) -> None:
    """Warn of a last row of totals, of copies, and of codes except in columns that the user wants; called by `fit`."""
    unsure = {name: column for name, column in values.items() if name not in wanted}
    for found in (*total_findings(last, values), *copy_findings(values, y), *code_findings(unsure, y)):
        where = "" if found.about == "rows" else f"Column {shown(found.about)}: "
        seen = found.seen if where else f"{found.seen[0].upper()}{found.seen[1:]}"
        warnings.warn(f"{where}{seen}. {found.matters}. {found.advice}.", UserWarning, stacklevel=7)


def _rows_at(X: Any, positions: IntArray) -> Any:
    if hasattr(X, "iloc") or isinstance(X, np.ndarray):
        return X.iloc[positions] if hasattr(X, "iloc") else X[positions]
    # Importing scikit-learn takes longer than all checks, and the command passes Arrow tables of few rows.
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, positions)
