"""Decisions as a pandas DataFrame, if pandas is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray
from sepc.decisions.kinds import Cause, Rule, names_of

if TYPE_CHECKING:
    import pandas as pd

# Types of cells that are numbers or missing, and the largest whole number up to which doubles are exact.
PLAIN_NUMBERS = {float, int, bool, type(None), np.float64, np.int64, np.bool_}
LARGEST_EXACT = 2**53


def frame_of(columns: Mapping[str, Any], index: Any = None) -> pd.DataFrame:
    """The columns as a pandas DataFrame; raises an ImportError with advice if pandas is not installed."""
    pandas = _pandas()
    try:
        return pandas.DataFrame(dict(columns), index=index)
    except UnicodeEncodeError:  # text with half of a surrogate pair, which pandas holds only as objects
        cells = [np.asarray(values) for values in columns.values()]
        series = [pandas.Series(one, dtype=object if one.dtype.kind in "OU" else None, index=index) for one in cells]
        frame = pandas.DataFrame(dict(enumerate(series)), index=index)
        return frame.set_axis(pandas.Index(list(columns), dtype=object), axis=1)


def frame_of_rows(rows: Sequence[Sequence[Any]], names: Sequence[Any], index: Any = None) -> pd.DataFrame:
    """Rows of cells as a pandas DataFrame; of doubles if all are numbers or None, which is much faster."""
    pandas, doubles = _pandas("Rows given as dicts need"), doubles_of(rows)
    if doubles is not None:
        return pandas.DataFrame(doubles, columns=pandas.Index(names, dtype=object), index=index)
    return frame_of({name: [row[j] for row in rows] for j, name in enumerate(names)}, index)


def doubles_of(rows: Sequence[Sequence[Any]]) -> FloatArray | None:
    """Rows of cells as doubles, with NaN for None; None if some cell is not a number that a double can hold."""
    types = {type(cell) for row in rows for cell in row}
    if not types <= PLAIN_NUMBERS:
        return None
    if int in types and any(type(cell) is int and abs(cell) > LARGEST_EXACT for row in rows for cell in row):
        return None
    return np.array(rows, dtype=np.float64)


def index_of(X: Any) -> Any:
    """The index of a pandas DataFrame; None for any other table."""
    index = getattr(X, "index", None)
    return index if hasattr(X, "columns") and hasattr(index, "get_indexer") else None


def column_of_names(kind: type[Rule] | type[Cause], values: ArrayLike) -> Any:
    """Names of rules or causes as a column of strings; fast, since pandas converts each name only once."""
    names = _pandas().Series(names_of(kind, list(kind)))
    return names.array.take(np.searchsorted(list(kind), np.asarray(values)))


def _pandas(what: str = "to_frame needs") -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"{what} pandas: pip install pandas") from error
    return pd
