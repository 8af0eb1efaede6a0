"""Results by the values of columns that the user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray
from sepc.columns.table import (
    as_typed,
    column_names,
    column_of,
    exact_column_of,
    is_gap,
    is_table,
    refuse_repeated,
    with_columns,
)
from sepc.statistics.binomial import rate_interval
from sepc.wording import did_you_mean, name_of, quantity, shown

# Numbers and dates with more values than this are cut into ranges of about as many rows each.
MOST_VALUES, N_RANGES = 12, 4
# For other columns, this many of the most frequent values are listed; the rest form one group.
MOST_GROUPS = 30

MISSING, OTHERS = "missing", "all other values"


@dataclass(frozen=True)
class GroupResult:
    """Rows with the same value of a column, or with values in the same range.

    Attributes
    ----------
    name : str
    n_rows, n_accepted : int
    accepted : (low, high)
        95 % interval of the share of rows that are accepted.
    n_right_accepted : int or None
        Accepted rows with the right label; None without true labels.
    right : (low, high) or None
        95 % interval of the share of accepted rows that are right; None without true labels or accepted rows.
    """

    name: str
    n_rows: int
    n_accepted: int
    accepted: tuple[float, float]
    n_right_accepted: int | None
    right: tuple[float, float] | None


@dataclass(frozen=True)
class ColumnResults:
    """Results by the values of a column."""

    column: str
    groups: tuple[GroupResult, ...]


@dataclass(frozen=True, eq=False)
class Beside:
    """Columns that are not features: row ids, and columns to break results down by."""

    ids: NDArray[Any] | None
    columns: dict[str, NDArray[Any]]

    def groups_of(self) -> dict[str, NDArray[Any]]:
        """For each column, the name of each row's group."""
        return {name: group_names(values) for name, values in self.columns.items()}


def set_aside(estimator: Any, X: Any, id: Any, by: Any) -> tuple[Any, Beside]:  # noqa: A002 - the user's word for it
    """Split off the columns that are not features, and return the others first.

    `id` is the name of a column of `X` or an array; `by` is one name or several, or a mapping of names to arrays.
    """
    named = [id] if isinstance(id, str) else []
    columns: dict[str, NDArray[Any]] = {}
    if isinstance(by, Mapping):
        columns = {name_of(name): as_typed(np.asarray(values)) for name, values in by.items()}
    elif by is not None:
        names = [by] if isinstance(by, str) else list(by)
        columns = {name_of(name): column_of(X, _find_column(X, name)) for name in names}
        named += names
    ids = exact_column_of(X, _find_column(X, id)) if isinstance(id, str) else None if id is None else np.asarray(id)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    for what, values in (("id", ids), *columns.items()):
        if values is not None and len(values) != n_rows:
            raise ValueError(f"There are {n_rows:,} rows, but {len(values):,} values of {what}.")
    known = {str(name) for name in getattr(estimator, "feature_names_in_", ())}
    away = {str(name) for name in named} - known
    kept = [name for name in column_names(X) if str(name) not in away] if away else []
    return (with_columns(X, kept) if away else X), Beside(ids, columns)


def _find_column(X: Any, name: Any) -> Any:
    """The column of this name; raises if there is none."""
    names = column_names(X) if is_table(X) else []
    refuse_repeated(names, [name])
    for candidate in names:
        if str(candidate) == str(name):
            return candidate
    similar = did_you_mean([str(name)], map(str, names))
    raise ValueError(f"There is no column {shown(name)}.{similar}" if names else "Names of columns need a DataFrame.")


def group_names(values: NDArray[Any]) -> NDArray[Any]:
    """The name of each row's group, as an array of text: a value, or a range of numbers or dates."""
    if values.dtype.kind in "fM":
        gone = np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)
        if len(np.unique(values[~gone])) > MOST_VALUES:
            return _ranges(values, gone)
    return np.array([MISSING if is_gap(value) else _value_text(value) for value in values], dtype=object)


def _ranges(values: NDArray[Any], gone: BoolArray) -> NDArray[Any]:
    present = values[~gone]
    cuts = np.unique(np.quantile(present, np.arange(1, N_RANGES) / N_RANGES, method="lower"))
    place = np.searchsorted(cuts, values, side="left")
    names = np.full(len(values), MISSING, dtype=object)
    for k in range(len(cuts) + 1):
        inside = ~gone & (place == k)
        if inside.any():
            names[inside] = f"{_value_text(values[inside].min())} to {_value_text(values[inside].max())}"
    return names


def _value_text(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    return quantity(float(value)) if isinstance(value, float) else name_of(value)


def results_by(
    beside: Beside, groups: Mapping[str, NDArray[Any]], accepted: BoolArray, right: BoolArray | None
) -> tuple[ColumnResults, ...]:
    """The results of each group, for each column."""
    return tuple(
        ColumnResults(name, _results(names, beside.columns[name], accepted, right)) for name, names in groups.items()
    )


def _results(
    names: NDArray[Any], values: NDArray[Any], accepted: BoolArray, right: BoolArray | None
) -> tuple[GroupResult, ...]:
    ordered = _in_order(names, values)
    rest = ordered[MOST_GROUPS:]
    made = [_result(name, names == name, accepted, right) for name in ordered[:MOST_GROUPS]]
    return (*made, *([_result(OTHERS, np.isin(names, rest), accepted, right)] if rest else []))


def _in_order(names: NDArray[Any], values: NDArray[Any]) -> Sequence[str]:
    """Groups of numbers and dates in ascending order, others by size; missing values last."""
    each, first, counts = np.unique(names.astype(str), return_index=True, return_counts=True)
    by_value = values.dtype.kind in "fM"
    keys = [values[i] for i in first] if by_value else (-counts).tolist()
    order = sorted(range(len(each)), key=lambda k: (each[k] == MISSING, 0 if each[k] == MISSING else keys[k]))
    return [str(each[k]) for k in order]


def _result(name: str, rows: BoolArray, accepted: BoolArray, right: BoolArray | None) -> GroupResult:
    n_rows, n_accepted = int(rows.sum()), int((rows & accepted).sum())
    n_right = None if right is None else int((rows & accepted & right).sum())
    ends = None if n_right is None or not n_accepted else _interval(n_right, n_accepted)
    return GroupResult(name, n_rows, n_accepted, _interval(n_accepted, n_rows), n_right, ends)


def _interval(n: int, n_all: int) -> tuple[float, float]:
    low, high = rate_interval(n, n_all)
    return float(low), float(high)
