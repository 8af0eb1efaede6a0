"""Groups of rows, defined by the values of one or two columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray
from sepc.estimators.columns_by import categories_of, column_names, column_positions
from sepc.plain_values import plain
from sepc.wording import listed, name_of, shown

MOST_COLUMNS = 2
MISSING = "missing"

# The group of a row: a value of the column, or a pair of values of the two.
Key = Any


def names_in(by: Any) -> tuple[Any, ...]:
    """The columns that `by` names, one or two.

    Raises
    ------
    ValueError
        If it names none, too many, or one twice.
    """
    names = tuple(by) if isinstance(by, Iterable) and not isinstance(by, str) else (by,)
    are_names = all(isinstance(name, str | int | np.integer) for name in names)
    if not (are_names and 1 <= len(set(names)) == len(names) <= MOST_COLUMNS):
        raise ValueError(f"by is {by!r}; it must name one column, or two different ones.")
    return names


def keys_of(by: Any, X: Any, groups: Any = None, parents: Mapping[Key, Key] | None = None) -> NDArray[Any]:
    """The group of each row, as an array of objects; a missing value counts as the value "missing".

    Parameters
    ----------
    by : str, int, or two of them
        Names of columns, or positions in an array.
    X : DataFrame or array of n rows
        Holds these columns if `groups` is not given.
    groups : array of n rows, DataFrame or mapping of names to arrays, optional
        The columns, which need not be features; an array has them in the order of `by`.
    parents : mapping of group to group, optional
        Groups to merge into another one.
    """
    names = names_in(by)
    cells = _cells(names, X) if groups is None else _given_cells(names, groups)
    if len(cells) != len_of(X):
        raise ValueError(f"groups has {len(cells):,} rows, but X has {len_of(X):,}.")
    joined = dict(parents or {})
    keys = np.empty(len(cells), dtype=object)
    for i, row in enumerate(cells):
        values = tuple(MISSING if cell is None else plain(cell) for cell in row)
        key = values if len(names) > 1 else values[0]
        keys[i] = joined.get(key, key)
    return keys


def codes_of(keys: NDArray[Any], known: Sequence[Key]) -> IntArray:
    """The position of each row's group among the known ones; -1 for an unknown group."""
    position = {key: i for i, key in enumerate(known)}
    return np.fromiter((position.get(key, -1) for key in keys), dtype=np.int64, count=len(keys))


def largest_first(keys: NDArray[Any]) -> dict[Key, int]:
    """The number of rows of each group, the largest first."""
    return dict(Counter(keys.tolist()).most_common())


def group_description(by: Any, key: Key) -> str:
    """A group in words, such as "sex = Female, race = Black"; a group that others were merged into, by its name."""
    names = names_in(by)
    values = key if isinstance(key, tuple) and len(key) == len(names) else (key,)
    if len(values) != len(names):
        return name_of(key)
    return ", ".join(f"{_column(name)} = {name_of(value)}" for name, value in zip(names, values, strict=True))


def len_of(X: Any) -> int:
    """How many rows there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def has_columns(by: Any, X: Any) -> bool:
    """Whether the rows have the columns that define groups."""
    return not _lacking_columns(names_in(by), X)


def _lacking_columns(names: tuple[Any, ...], X: Any) -> list[Any]:
    """The named columns that the rows do not have; all of them if rows have no columns."""
    if not hasattr(X, "shape") or len(X.shape) != 2:
        return list(names)
    return [one for one in names if not isinstance(one, int | np.integer) and one not in column_names(X)]


def _column(name: Any) -> str:
    return f"x{name}" if isinstance(name, int | np.integer) else name_of(name)


def _cells(names: tuple[Any, ...], X: Any) -> NDArray[Any]:
    if lacking := _lacking_columns(names, X):
        raise ValueError(
            f"by names {listed(map(shown, lacking))}, which X does not have: pass a DataFrame with it, or the groups "
            "as groups=..., both here and in decide."
        )
    return categories_of(X, column_positions(list(names), X))


def _given_cells(names: tuple[Any, ...], groups: Any) -> NDArray[Any]:
    if isinstance(groups, Mapping) or hasattr(groups, "columns"):
        known = tuple(groups) if isinstance(groups, Mapping) else column_names(groups)
        lacking = [name for name in names if name not in known]
        if lacking:
            raise ValueError(f"groups lacks {listed(map(shown, lacking))}, which by names.")
        columns = [np.asarray(groups[name], dtype=object) for name in names]
    else:
        values = np.asarray(groups, dtype=object)
        values = values[:, np.newaxis] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(names):
            raise ValueError(f"groups has shape {values.shape}; by names {len(names)}, so it needs a column for each.")
        columns = list(values.T)
    return categories_of(np.column_stack(columns), np.arange(len(names)))
