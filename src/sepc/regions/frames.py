"""Decisions as a pandas DataFrame, for those who have pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def frame_of(columns: Mapping[str, Any]) -> pd.DataFrame:
    """The columns as a DataFrame; without pandas, an error that says how to get it."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("to_frame needs pandas: pip install pandas") from error
    return pd.DataFrame(dict(columns))
