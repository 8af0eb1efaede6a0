"""What the columns of a table are: numbers, categories, dates, or no features at all."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc.columns.table import column_names, column_of, exact_column_of, is_categorical
from sepc.records import record, text
from sepc.wording import MOST_NAMES, listed, shown

# Fewer rows do not show whether a column is an id or an index.
FEWEST_ROWS = 20
# Whole numbers are an index if they are all different and fill their range up to this share of gaps.
INDEX_SPARE = 0.05
# A column of text is free text if more than this share of its values are different, and they have several words.
DIFFERENT_SHARE = 0.5
SEVERAL_WORDS = 3.0


class Kind(StrEnum):
    """What a column is taken as."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    LEFT_OUT = "left out"


@record
class Column:
    """A column of the table that was given.

    Attributes
    ----------
    name : str
        Its name in the table.
    kind : Kind
        What it is taken as.
    why : str
        For a column that is left out, what it seems to be; else empty.
    """

    name: str = text()
    kind: Kind = text(*Kind)
    why: str = text()


def kinds_of(X: Any, categorical: Collection[Any], keep: Collection[Any]) -> tuple[Column, ...]:
    """What each column of a table is, by its type and values.

    Parameters
    ----------
    X : table
    categorical : names
        Columns that are categories, whatever they hold.
    keep : names
        Columns that are features, even if they look like an id, an index, a constant or free text.
    """
    names = column_names(X)
    unknown = [name for name in (*categorical, *keep) if name not in names]
    if unknown:
        raise ValueError(f"There is no column {shown(unknown[0])}; there are {listed(map(shown, names), MOST_NAMES)}.")
    return tuple(_column(X, name, name in categorical, name in keep) for name in names)


def _column(X: Any, name: Any, is_category: bool, is_kept: bool) -> Column:
    has_categories = is_category or is_categorical(X, name)
    values = exact_column_of(X, name) if has_categories else column_of(X, name)
    is_text = values.dtype.kind == "O"
    seems = "" if is_kept else _no_feature(values)
    if seems and not (is_category and seems != "a constant"):
        return Column(str(name), Kind.LEFT_OUT, seems)
    if has_categories or is_text:
        return Column(str(name), Kind.CATEGORY, "")
    return Column(str(name), Kind.DATE if values.dtype.kind == "M" else Kind.NUMBER, "")


def _no_feature(values: NDArray[Any]) -> str:
    """What a column is if it is no feature: an id, an index, a constant or free text; else empty."""
    known = values[_is_known(values)]
    if len(known) == 0:
        return "empty"
    if len(known) == len(values) and (known == known[0]).all():
        return "a constant"
    if len(known) < FEWEST_ROWS:
        return ""
    if values.dtype.kind == "O":
        return _no_category(known.tolist())
    return "an index" if values.dtype.kind == "f" and len(known) == len(values) and _is_index(known) else ""


def _no_category(texts: list[Any]) -> str:
    """What a column of text is if it has no categories: an id or free text; else empty."""
    distinct = set(texts)
    words = np.mean([len(str(text).split()) for text in distinct])
    if len(distinct) > DIFFERENT_SHARE * len(texts) and words >= SEVERAL_WORDS:
        return "free text"
    return "an id" if len(distinct) == len(texts) else ""


def _is_known(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        return np.array([value is not None for value in values], dtype=bool)
    return np.asarray(~(np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)))


def _is_index(numbers: NDArray[Any]) -> bool:
    """Whether numbers are whole, all different and nearly consecutive."""
    low, high = numbers.min(), numbers.max()
    if not high - low + 1.0 <= (1.0 + INDEX_SPARE) * len(numbers):
        return False
    return bool((numbers == np.round(numbers)).all()) and len(np.unique(numbers)) == len(numbers)
