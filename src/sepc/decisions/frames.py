"""Decisions as a pandas DataFrame, for those who have pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sepc.decisions.kinds import Cause, Rule, names_of

if TYPE_CHECKING:
    import pandas as pd


def frame_of(columns: Mapping[str, Any], index: Any = None) -> pd.DataFrame:
    """The columns as a pandas DataFrame; raises an ImportError with advice if pandas is not installed."""
    return _pandas().DataFrame(dict(columns), index=index)


def index_of(X: Any) -> Any:
    """The index of a pandas DataFrame; None for any other table."""
    index = getattr(X, "index", None)
    return index if hasattr(X, "columns") and hasattr(index, "get_indexer") else None


def column_of_names(kind: type[Rule] | type[Cause], values: ArrayLike) -> Any:
    """Names of rules or causes as a column of strings; fast, since pandas converts each name only once."""
    names = _pandas().Series(names_of(kind, list(kind)))
    return names.array.take(np.searchsorted(list(kind), np.asarray(values)))


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas") from error
    return pd
