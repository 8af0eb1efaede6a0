"""A last row that holds the sums of the others, as in spreadsheets and exports."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.looking.findings import Finding, Severity
from sepc.wording import MOST_NAMES, listed, shown

# Names of a row of totals, in several languages.
TOTAL = re.compile(
    r"(?:grand |sub)?[- ]?totals?|sum|sums|total g[eé]n[eé]ral|summe|gesamt(?:summe)?|insgesamt|totaal|totale|"
    r"suma|soma|toplam|итого|всего|合计|总计|合計|計",
    re.IGNORECASE,
)
# Fewer nonzero cells than this may add up to the last one by chance.
FEWEST_ADDED = 3
# A sum may be off by this share of the absolute values added up, because of rounding.
TOLERANCE = 1e-6


def total_findings(last: Mapping[str, NDArray[Any]], values: Mapping[str, NDArray[Any]]) -> list[Finding]:
    """A finding if the last row is called a total and holds a sum, or if all of its numbers, at least two, are sums.

    Parameters
    ----------
    last : mapping of name to array
        The last cell of each column as given; empty for a table without rows.
    values : mapping of name to (n,) array
        The columns that are used, as `Column.read` gives them.

    Examples
    --------
    >>> sold = np.array([12.0, 7.0, 9.5, 28.5])
    >>> shop = np.array(["north", "south", "west", "Total"], dtype=object)
    >>> total_findings({"shop": shop[-1:]}, {"shop": shop, "sold": sold})[0].seen
    "the last of 4 rows holds the sum of column 'sold' ('Total' in column 'shop')"
    """
    numbers = {name: column for name, column in values.items() if column.dtype.kind == "f"}
    known = [name for name, column in numbers.items() if len(column) and not np.isnan(column[-1])]
    sums = [name for name in known if _ends_with_sum(numbers[name])]
    called = next((name for name, column in last.items() if len(column) and _is_called_total(column[-1])), None)
    if not sums or (called is None and (len(sums) < 2 or len(sums) < len(known))):
        return []
    n_rows = len(next(iter(numbers.values())))
    named = listed(map(shown, sums), MOST_NAMES)
    columns = "the sum of column" if len(sums) == 1 else f"the sums of {len(sums):,} columns:"
    word = "" if called is None else f" ({shown(last[called][-1])} in column {shown(called)})"
    return [
        Finding(
            "rows",
            Severity.WRONG,
            f"the last of {n_rows:,} rows holds {columns} {named}{word}",
            "A total is not a case like the others, and its numbers are far from theirs",
            "Used anyway; remove the row",
        )
    ]


def _is_called_total(cell: Any) -> bool:
    return isinstance(cell, str) and TOTAL.fullmatch(cell.strip().rstrip(":").strip()) is not None


def _ends_with_sum(numbers: FloatArray) -> bool:
    """Whether the last number is the sum of the others, of which some are not zero."""
    others = numbers[:-1][~np.isnan(numbers[:-1])]
    if np.count_nonzero(others) < FEWEST_ADDED:
        return False
    with np.errstate(over="ignore"):
        total, size = others.sum(), np.abs(others).sum()
    return bool(np.isfinite(size) and abs(total - numbers[-1]) <= TOLERANCE * size)
