"""Convert rows as users pass them to rows as a model takes them: columns by name, dicts, blocks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import _check_feature_names, _check_n_features

from sepc.columns.table import column_names, refuse_masked, refuse_repeated, with_columns
from sepc.decisions.decisions import Decisions, frame_of_rows, index_of, replace_columns
from sepc.errors import LeftOutWarning
from sepc.estimators.unwrapping import classifier_name, fitted_names, group_columns, needed_columns
from sepc.wording import MOST_NAMES, counted, did_you_mean, listed, shown

D = TypeVar("D", bound=Decisions)

IN_ANY_ORDER = "decide and score take columns in any order, and ignore others."


@dataclass(frozen=True)
class GivenRows:
    """Rows as a model takes them."""

    rows: Any
    index: Any = None
    lacking: str = ""
    further: tuple[Any, ...] = ()

    def warn_of_further(self) -> None:
        """Name the columns that are ignored, to the caller of the caller."""
        if self.further:
            which = counted(len(self.further), "column")
            names = listed(map(shown, self.further), MOST_NAMES)
            message = f"Ignored {which} that the model was not fitted to: {names}."
            warnings.warn(message, LeftOutWarning, stacklevel=4)


def decide_as_given(model: Any, X: Any, decide: Callable[[Any], D], *, warns: bool = False) -> D:
    """Call `decide` on the rows of `X` as the model takes them, and keep the index of `X`."""
    given = given_rows(model, X)
    if warns:
        given.warn_of_further()
    try:
        decisions = decide(given.rows)
    except (KeyError, ValueError) as error:
        if not given.lacking:
            raise
        raise ValueError(given.lacking) from error
    return decisions if decisions.index is given.index else replace_columns(decisions, index=given.index)


def given_rows(model: Any, X: Any) -> GivenRows:
    """The rows of `X` with the columns that a model was fitted to, in their order."""
    if isinstance(X, Mapping) or _is_series(X) or _holds_dicts(X):
        return _rows_of_records(model, X)
    names = fitted_names(model) if hasattr(X, "columns") else None
    if names is None:
        refuse_masked(X)
        return GivenRows(X, index_of(X))
    given = column_names(X)
    if given == names:
        return GivenRows(X, index_of(X))
    wanted, lacking = _wanted_columns(model, names, given, lambda lacking: _complaint(lacking, names, given))
    if lacking:
        return GivenRows(X, index_of(X), lacking)
    refuse_repeated(given, wanted)
    further = tuple(name for name in given if name not in wanted)
    return GivenRows(with_columns(X, wanted), index_of(X), further=further)


def given_features(model: Any, X: Any, *, warns: bool = False) -> Any:
    """The rows of `given_rows`, without columns that only define groups."""
    given = given_rows(model, X)
    if warns:
        given.warn_of_further()
    names = fitted_names(model) if hasattr(given.rows, "columns") else None
    return given.rows if names is None or given.lacking else with_columns(given.rows, names)


def with_left_out(model: Any, X: Any) -> Any:
    """Add to the table `X`, as missing values, the columns that training left out and `X` lacks; all else unchanged."""
    refuse_masked(X)
    names = fitted_names(model) if hasattr(X, "columns") else None
    if names is None or (given := column_names(X)) == names:
        return X
    refuse_repeated(given)
    missing = [name for name in names if name not in given]
    needed = needed_columns(model) if missing else None
    if needed is None:
        return X
    left_out = [name for name in missing if name not in needed]
    # In any other order, scikit-learn's checks raise, and name only the other columns.
    is_in_order = given == [name for name in names if name not in left_out]
    return with_columns(X, names if is_in_order else [*given, *left_out]) if left_out else X


def check_order(model: Any, X: Any) -> None:
    """Raise, as scikit-learn does, unless a table has the columns of training in order."""
    if hasattr(X, "columns"):
        _check_feature_names(model, X, reset=False)


@contextmanager
def pointing_to_decide() -> Iterator[None]:
    """Add to scikit-learn's error about other columns, or another order, which methods take them."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("The feature names should match") or str(error).endswith(IN_ANY_ORDER):
            raise
        raise ValueError(f"{error}{IN_ANY_ORDER}") from None


def _wanted_columns(
    model: Any, names: list[str], given: Collection[Any], complaint: Callable[[list[str]], str]
) -> tuple[list[Any], str]:
    """The columns to give to a model, and an error message about missing ones that it may or may not need."""
    by = group_columns(model)
    # Without the column, groups are unknown; a column of missing values would be a group of its own.
    wanted = [name for name in names if name in given or name not in by]
    wanted += [name for name in by if name in given and name not in names]
    missing = [name for name in names if name not in given]
    needed = needed_columns(model) if missing else set[str]()
    if needed is None:
        return list(given), complaint(missing)
    lacking = [name for name in missing if name in needed]
    if lacking:
        raise ValueError(complaint(lacking))
    return wanted, ""


def _complaint(lacking: list[str], names: list[str], given: Collection[Any], where: str = "There") -> str:
    which = f"is no column {shown(lacking[0])}"
    if len(lacking) > 1:
        which = f"are no columns {listed(map(shown, lacking), MOST_NAMES)}"
    others = [name for name in given if isinstance(name, str) and name not in names]
    return f"{where} {which}, which the model was fitted to.{did_you_mean(lacking, others)}"


def _is_series(X: Any) -> bool:
    return getattr(X, "ndim", None) == 1 and hasattr(getattr(X, "index", None), "get_indexer")


def _holds_dicts(X: Any) -> bool:
    is_list = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1)
    return is_list and len(X) > 0 and all(isinstance(row, Mapping) for row in X)


def _rows_of_records(model: Any, X: Any) -> GivenRows:
    """Dicts or a Series as a DataFrame with the columns that a model was fitted to."""
    names = fitted_names(model)
    if names is None and not hasattr(model, "n_features_in_"):
        return GivenRows(X)  # The model may take dicts or Series itself, as a DictVectorizer does.
    if names is None:
        raise ValueError(
            f"{classifier_name(model)} was fitted to an array, or to columns whose names are not text; give it rows as "
            "lists or arrays."
        )
    records: list[Mapping[Any, Any]] = list(X) if _holds_dicts(X) else [_record(X)]
    wanted, lacking = list[Any](names), ""
    if group_columns(model) or not all(name in record for record in records for name in names):
        shared = [name for name in records[0] if all(name in record for record in records)]
        wanted, lacking = _wanted_columns(
            model, names, shared, lambda lacking: _complaint_of_row(lacking, names, records)
        )
    called = getattr(X, "name", None) if _is_series(X) else None
    index = [called] if isinstance(called, str | int | float | np.number | date) else None
    cells = [[record.get(name) for name in wanted] for record in records]  # None for columns that are left out
    several = next((cell for row in cells for cell in row if isinstance(cell, list | tuple | np.ndarray)), None)
    if several is not None:
        kind = type(several).__name__
        raise ValueError(f"A dict is one row, and one of its values is a {kind}; give several rows as a DataFrame.")
    frame = frame_of_rows(cells, wanted, index)
    further = tuple(name for name in records[0] if name not in wanted)
    return GivenRows(frame, None if index is None else frame.index, lacking, further)


def _complaint_of_row(lacking: list[str], names: list[str], records: list[Mapping[Any, Any]]) -> str:
    """The error message about the first row that lacks a column."""
    i, row = next((i, row) for i, row in enumerate(records) if any(name not in row for name in lacking))
    absent = [name for name in lacking if name not in row]
    return _complaint(absent, names, row, f"In row {i} there" if len(records) > 1 else "There")


def _record(row: Any) -> Mapping[Any, Any]:
    """One row as a mapping of names to values."""
    if isinstance(row, Mapping):
        return row
    if not row.index.is_unique:
        raise ValueError("The Series has two values of the same name; it is unclear which is meant.")
    values: dict[Any, Any] = row.to_dict()
    return values


def is_lazy(X: Any) -> bool:
    """Whether this is a Dask collection."""
    return hasattr(type(X), "__dask_graph__")  # pandas takes ten times as long to find that an instance lacks it


def frame_of_blocks(function: Callable[[Any, Any], Any], model: Any, X: Any, none: Any) -> Any:
    """Apply `function` to every block, as a Dask DataFrame; `none` is its result for zero rows."""
    import dask.dataframe as dd
    from dask import delayed

    check_columns(model, X, lambda example: given_features(model, example))
    if _is_frame(X):
        return X.map_partitions(function, model, meta=none)
    # As a task of its own, the model is hashed and sent once, not once per block.
    there = delayed(model, pure=True, traverse=False)
    blocks = [delayed(function, pure=True)(block, there) for block in _whole_rows(X).to_delayed().ravel()]
    return dd.from_delayed(blocks, meta=none)


def array_of_blocks(function: Callable[[Any, Any], Any], model: Any, X: Any, none: Any) -> Any:
    """Apply `function` to every block, as a Dask array; `none` is its result for zero rows."""
    check_columns(model, X, lambda example: with_left_out(model, example))
    if _is_frame(X):
        return X.map_partitions(function, model, meta=none)
    X = _whole_rows(X)
    shape = {"drop_axis": 1} if none.ndim == 1 else {"chunks": (X.chunks[0], (none.shape[1],))}
    return X.map_blocks(function, model, meta=none, **shape)


def check_columns(model: Any, X: Any, taken: Callable[[Any], Any]) -> None:
    """Check the columns, converted by `taken`, against those of the model without computing a row."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(f"X is a Dask {type(X).__name__}; expected a DataFrame, or an array with rows and columns.")
    example = taken(_example(X) if _is_frame(X) else np.zeros((1, X.shape[1])))
    if hasattr(model, "check_columns"):
        model.check_columns(example)
    if hasattr(model, "n_features_in_"):
        _check_feature_names(model, example, reset=False)
        _check_n_features(model, example, reset=False)


def _example(X: Any) -> Any:
    """A few made-up rows with the columns and types of a Dask DataFrame."""
    from dask.dataframe.utils import make_meta, meta_nonempty

    return meta_nonempty(make_meta(X))


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns")


def _whole_rows(X: Any) -> Any:
    """Rechunk the array so that every block holds whole rows."""
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
