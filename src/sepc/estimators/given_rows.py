"""Rows as people have them, turned into rows as a model takes them: columns by name, one row as a dict or a Series."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.utils.validation import _check_feature_names

from sepc.columns.table import column_names, with_columns
from sepc.decisions.decisions import Decisions
from sepc.decisions.frames import doubles_of, frame_of_rows, index_of
from sepc.decisions.row_wise import replaced
from sepc.estimators.unwrapping import classifier_name, fitted_names, group_columns, needed_columns
from sepc.wording import MOST_NAMES, did_you_mean, listed, shown

D = TypeVar("D", bound=Decisions)

# Rows that name their values.
_Records: TypeAlias = Sequence[Mapping[Any, Any]]


@dataclass(frozen=True)
class GivenRows:
    """Rows as a model takes them.

    Attributes
    ----------
    rows : array, DataFrame or whatever was given
    index : pandas.Index or None
        What the rows are called.
    lacking : str
        A complaint about missing columns, if only the model can tell whether it needs them; else empty.
    """

    rows: Any
    index: Any = None
    lacking: str = ""


def decided_as_given(model: Any, X: Any, decide: Callable[[Any], D]) -> D:
    """What `decide` gives for the rows of `X` as the model takes them, with the index that `X` has."""
    given = given_rows(model, X)
    try:
        decisions = decide(given.rows)
    except (KeyError, ValueError) as error:
        if not given.lacking:
            raise
        raise ValueError(given.lacking) from error
    return decisions if decisions.index is given.index else replaced(decisions, index=given.index)


def given_rows(model: Any, X: Any) -> GivenRows:
    """The rows of `X` with the columns that a model was fitted to, in their order.

    Tables may have more columns, and lack those that training left out, which are then gaps. Rows may also be one dict
    or one Series of pandas, or a list of them. Anything else is returned as it is.

    Raises
    ------
    ValueError
        If a column is missing.
    """
    records = _records(X)
    if records is not None:
        return _from_records(model, X, records)
    names = fitted_names(model) if hasattr(X, "columns") else None
    if names is None:
        return GivenRows(X, index_of(X))
    given = column_names(X)
    if given == names:
        return GivenRows(X, index_of(X))
    labels = {str(label): label for label in given}
    wanted, lacking = _wanted(model, names, labels)
    if lacking:
        return GivenRows(X, index_of(X), lacking)
    _refuse_twice(wanted, given)
    return GivenRows(with_columns(X, [labels.get(name, name) for name in wanted]), index_of(X))


def with_left_out(model: Any, X: Any) -> Any:
    """The table `X` with the columns that training left out, which are gaps if `X` lacks them; all else as it is."""
    names = fitted_names(model) if hasattr(X, "columns") else None
    if names is None:
        return X
    given = column_names(X)
    known = {str(label) for label in given}
    missing = [name for name in names if name not in known]
    needed = needed_columns(model) if missing else None
    if needed is None:
        return X
    left_out = [name for name in missing if name not in needed]
    # Otherwise scikit-learn's checks complain, and of the other columns only.
    is_in_order = given == [name for name in names if name not in left_out]
    return with_columns(X, names if is_in_order else [*given, *left_out]) if left_out else X


def check_order(model: Any, X: Any) -> None:
    """Raise as scikit-learn does if a table does not have the columns of training in their order."""
    if hasattr(X, "columns"):
        _check_feature_names(model, X, reset=False)


def _wanted(model: Any, names: list[str], given: Collection[str], records: _Records = ()) -> tuple[list[str], str]:
    """The columns that a model takes, and a complaint about missing ones if only the model can tell whether it can."""
    by = group_columns(model)
    # Without its column a group is unknown; with a column of gaps it would be a group of its own.
    wanted = [name for name in names if name in given or name not in by]
    wanted += [name for name in by if name in given and name not in names]
    missing = [name for name in names if name not in given]
    if not missing:
        return wanted, ""
    needed = needed_columns(model)
    lacking = missing if needed is None else [name for name in missing if name in needed]
    if not lacking:
        return wanted, ""
    others = [name for name in given if name not in names]
    complaint = _complaint_of_row(lacking, others, records) if len(records) > 1 else _complaint(lacking, others)
    if needed is not None:
        raise ValueError(complaint)
    return list(given), complaint


def _complaint(lacking: list[str], others: list[str]) -> str:
    named = listed(map(shown, lacking), MOST_NAMES)
    which = f"is no column {named}" if len(lacking) == 1 else f"are no columns {named}"
    return f"There {which}, which the model was fitted to.{did_you_mean(lacking, others)}"


def _complaint_of_row(lacking: list[str], others: list[str], records: _Records) -> str:
    """Of several rows, name the first that lacks something."""
    row, own = next(
        (i, lacks) for i, record in enumerate(records) if (lacks := [n for n in lacking if n not in record])
    )
    named = listed(map(shown, own), MOST_NAMES)
    return f"Row {row} has no {named}, which the model was fitted to.{did_you_mean(own, others)}"


def _refuse_twice(wanted: Collection[str], given: list[Any]) -> None:
    if len(set(given)) < len(given):
        twice = [name for name in wanted if given.count(name) > 1]
        if twice:
            raise ValueError(f"There are two columns {shown(twice[0])}, and no telling which of them is meant.")


def _records(X: Any) -> _Records | None:
    """Rows given as dicts or Series; None if these are other rows."""
    if isinstance(X, Mapping):
        return [X]
    if _is_series(X):
        return [_record(X)]
    is_list = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1)
    if is_list and len(X) and all(isinstance(row, Mapping) or _is_series(row) for row in X):
        return [_record(row) for row in X]
    return None


def _is_series(X: Any) -> bool:
    return getattr(X, "ndim", None) == 1 and hasattr(getattr(X, "index", None), "get_indexer")


def _record(row: Any) -> Mapping[Any, Any]:
    if isinstance(row, Mapping):
        return row
    if not row.index.is_unique:
        raise ValueError("The Series has two values of the same name, and no telling which of them is meant.")
    values: dict[Any, Any] = row.to_dict()
    return values


def _from_records(model: Any, X: Any, records: _Records) -> GivenRows:
    names = fitted_names(model)
    if names is None:
        return _without_names(model, X, records)
    wanted, complaint, labels = names, "", dict[str, Any]()
    if group_columns(model) or not all(name in record for record in records for name in names):
        labels = _shared_labels(records)
        wanted, complaint = _wanted(model, names, labels, records)
    own = [labels.get(name, name) for name in wanted]
    name = getattr(X, "name", None) if _is_series(X) else None
    index = [name] if isinstance(name, str | int | float | np.number | date) else None
    frame = frame_of_rows(_cells(records, own), own, index)
    return GivenRows(frame, None if index is None else frame.index, complaint)


def _shared_labels(records: _Records) -> dict[str, Any]:
    """What all rows have a value of: names, and how the first row spells them."""
    shared = set.intersection(*(set(map(str, record)) for record in records))
    return {str(label): label for label in records[0] if str(label) in shared}


def _cells(records: _Records, labels: list[Any]) -> list[list[Any]]:
    cells = [[record.get(label) for label in labels] for record in records]
    for row in cells:
        for label, cell in zip(labels, row, strict=True):
            if isinstance(cell, list | tuple | np.ndarray):
                raise ValueError(
                    f"{shown(label)} is a {type(cell).__name__}, and a dict is one row: give a DataFrame, or a list of "
                    "dicts, to decide on several."
                )
    return cells


def _without_names(model: Any, X: Any, records: _Records) -> GivenRows:
    """Rows for a model of an array, whose columns are called x0, x1 and so on."""
    n_features = getattr(model, "n_features_in_", None)
    if n_features is None:
        return GivenRows(X)  # It may take dicts by itself, as a DictVectorizer does.
    names = [f"x{j}" for j in range(n_features)]
    if not all(name in record for record in records for name in names):
        raise ValueError(
            f"{classifier_name(model)} was fitted to columns without names; give it rows as lists or arrays, or call "
            f"their values {listed(map(shown, names), MOST_NAMES)}."
        )
    cells = _cells(records, names)
    doubles = doubles_of(cells)
    return GivenRows(cells if doubles is None else doubles)
