"""Columns that are not usable as features: ids and indexes in any order, constants and free text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.plain_values import plain
from sepc.wording import percent, shown

# With fewer rows, it is unclear whether a column is an id or an index.
FEWEST_ROWS = 20
# Whole numbers are an index if all are different and at most this share of their range is missing.
INDEX_SPARE = 0.05
# With at least this many rows, they are an id if they fill this share of their range, as after a random split.
# Measurements would repeat: 100 draws from 250 values are all different once in a billion tables.
FEWEST_ID_ROWS = 100
FILLED = 0.4
# Distinct whole numbers in these ranges are kept, since they may be years, or seconds since 1970 (from 2000 on).
TIMES = ((1800.0, 2100.0), (946_684_800.0, 2_208_988_800.0))
# Nanoseconds since 1970, from 2000 on.
NANOSECONDS = (946_684_800_000_000_000, 2_208_988_800_000_000_000)
CODES = "Name it in categorical_features (--categorical) if they are codes, or leave it out"
# A text column is free text if more than this share of its values are distinct, and they have several words.
DIFFERENT_SHARE = 0.5
SEVERAL_WORDS = 3.0
# With enough rows, text that hardly ever repeats is not a category: codes are ids, and the rest is free text.
NEAR_UNIQUE = 0.9
CODE_SHARE = 0.95
CODE = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{8,}|"
    r"[a-z]{1,10}[-_/.:# ]?\d{2,}(?:[-_/]\w+)?|\d+[-_/]?[a-z]{0,4}",
    re.IGNORECASE,
)


class NonFeature(NamedTuple):
    """What a column appears to be if not a feature, the evidence, and what to do if in doubt."""

    why: str = ""
    seen: str = ""
    doubt: str = ""


def guess_non_feature(values: NDArray[Any], share: float = 1.0) -> NonFeature:
    """Guess whether a column is an id, an index, a constant or free text; empty if it is a feature.

    Parameters
    ----------
    values : (n,) array
        As `sepc.columns.table.as_typed` gives them.
    share : float
        The share of all rows that `values` holds, if it is a sample.

    Examples
    --------
    >>> guess_non_feature(np.random.default_rng(0).permutation(np.arange(1000.0, 2000.0))[:700]).seen
    '700 different whole numbers, which fill 70 % of 1,000 to 1,999'
    """
    known = values[_is_known(values)]
    if len(known) == 0:
        # Rows outside the sample may have other values.
        return NonFeature("empty", "no values") if share == 1.0 else NonFeature()
    if len(known) == len(values) and (known == known[0]).all():
        return NonFeature("a constant", f"{shown(plain(known[0]))} in all rows") if share == 1.0 else NonFeature()
    if len(known) < FEWEST_ROWS:
        return NonFeature()
    if values.dtype.kind == "O":
        return _guess_from_texts(known.tolist())
    return _guess_from_numbers(known, share) if values.dtype.kind == "f" and len(known) == len(values) else NonFeature()


def distinct_of(values: Sequence[Any]) -> list[Any]:
    """The distinct values, in order of appearance."""
    return list(dict.fromkeys(values))


def _guess_from_texts(texts: list[Any]) -> NonFeature:
    distinct = distinct_of(texts)
    n, n_all = len(distinct), len(texts)
    words = np.mean([len(str(text).split()) for text in distinct])
    seen = f"{n:,} different texts in {n_all:,} rows, such as {shown(distinct[0])}"
    if n > DIFFERENT_SHARE * n_all and words >= SEVERAL_WORDS:
        return NonFeature("free text", seen)
    if n == n_all:
        return NonFeature("an id", seen)
    if n_all < FEWEST_ID_ROWS or n < NEAR_UNIQUE * n_all:
        return NonFeature()
    n_codes = sum(CODE.fullmatch(str(text).strip()) is not None for text in distinct)
    return NonFeature("an id" if n_codes >= CODE_SHARE * n else "free text", seen)


def guess_from_large_numbers(cells: NDArray[Any]) -> NonFeature:
    """`guess_non_feature` for whole numbers too large for doubles to tell apart, such as 64-bit ids.

    Parameters
    ----------
    cells : (n,) array of objects
        As `sepc.columns.table.exact_column_of` gives them.
    """
    known = [cell for cell in cells.tolist() if cell is not None]
    if len(known) < FEWEST_ROWS or not all(isinstance(cell, int) for cell in known):
        return NonFeature()
    low, high, n = min(known), max(known), len(set(known))
    seen = f"{n:,} different whole numbers in {len(known):,} rows, such as {known[0]}"
    if NANOSECONDS[0] <= low and high <= NANOSECONDS[1]:
        return NonFeature("", f"{seen}: they may be ids, or nanoseconds since 1970", "Leave it out if it holds ids")
    if n >= NEAR_UNIQUE * len(known):
        return NonFeature("an id", seen)
    return NonFeature("", f"{seen}: they may be ids", CODES)


def _is_known(values: NDArray[Any]) -> BoolArray:
    if values.dtype.kind == "O":
        return np.array([value is not None for value in values], dtype=bool)
    return np.asarray(~(np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values)))


def may_be_counted(low: float, high: float, n_rows: int, share: float = 1.0) -> bool:
    """Whether `n_rows` distinct whole numbers from `low` to `high` would fill enough of it for an id or an index."""
    spare = 1.0 / FILLED if n_rows >= FEWEST_ID_ROWS else 1.0 + INDEX_SPARE
    return high - low + 1.0 <= spare * n_rows / share


def _guess_from_numbers(numbers: FloatArray, share: float) -> NonFeature:
    """Guess whether a column is an id or an index: distinct whole numbers that fill enough of their range."""
    low, high, n = float(numbers.min()), float(numbers.max()), len(numbers)
    if not may_be_counted(low, high, n, share) or not (numbers == np.round(numbers)).all():
        return NonFeature()
    steps = np.diff(np.sort(numbers))
    if (steps == 0.0).any():
        return NonFeature()
    filled = n / (high - low + 1.0)
    seen = f"{n:,} different whole numbers, which fill {percent(filled, 0)} of {low:,.0f} to {high:,.0f}"
    if filled * (1.0 + INDEX_SPARE) < 1.0 and np.gcd.reduce(steps.astype(np.int64)) > 1:
        # Multiples of a step are measurements.
        return NonFeature()
    if any(first <= low and high <= last for first, last in TIMES):
        return NonFeature("", f"{seen}: they may be times, or number the rows", "Leave it out if it numbers the rows")
    return NonFeature("an index" if filled * (1.0 + INDEX_SPARE) >= 1.0 else "an id", seen)
