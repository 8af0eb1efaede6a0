"""Codes among the values of a column: numbers that stand for a missing value, and ids that repeat."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import FloatArray, IntArray
from sepc.columns.non_features import CODE, CODE_SHARE, distinct_of
from sepc.looking.findings import Finding, Severity
from sepc.wording import MOST_NAMES, counted, listed, percent, shown

# Numbers that people and programs write for a missing value: nines, and the ends of the ranges of whole numbers.
NINES = re.compile(r"-?(?:99+(?:\.9+)?|9\.9+)")
ENDS = frozenset({-32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, 4294967295.0})
# Such a number stands for a missing value if it is as far from the others as these are from each other, and repeats.
FEWEST_TIMES = 2

# Fewer values than this are hardly ids, nor are values of which each has fewer rows than this on average.
FEWEST_IDS = 30
FEWEST_ROWS_EACH = 1.5
# Names of columns of ids.
NAMED_ID = re.compile(
    r"(?:.*[\W_])?(?:id|ID|Id|uuid|UUID|guid|GUID)|.*[a-z](?:Id|ID)|"
    r"(?i:patient|subject|person|customer|client|user|member|account|household|kunden?)"
    r"(?i:[\W_]*(?:nr|no|num|number|nummer|key|code))?"
)
# How much more often two rows of one id have the same label than two rows of any, as a share of what is possible; ids
# that are next to each other have at most this share of it in common.
FEWEST_ALIKE, FEWEST_ALIKE_TEXTS = 0.1, 0.5
NEXT_ALIKE = 0.25
# Chance explains smaller differences than this many standard errors.
STANDARD_ERRORS = 4.0
# Ids have similar numbers of rows; the most frequent value of an amount often has many more than the average.
MOST_ROWS_EACH = 8.0


def code_findings(values: Mapping[str, NDArray[Any]], y: ArrayLike | None = None) -> list[Finding]:
    """A finding for each column with numbers that may stand for a missing value, and for each that may hold ids.

    Parameters
    ----------
    values : mapping of name to (n,) array
        The columns that are used, as `Column.read` gives them.
    y : array of shape (n,), optional
        Labels, none of them missing; without them, only names show which columns hold ids.

    Examples
    --------
    >>> dose = np.append(np.arange(100.0) % 10, [999.0] * 5)
    >>> code_findings({"dose": dose})[0].seen
    '999 (5 rows), far from all other values (0 to 9)'
    """
    labels = None if y is None else np.unique(np.asarray(y).astype(str), return_inverse=True)[1]
    found = []
    for name, column in values.items():
        if column.dtype.kind == "f":
            found += sentinel_findings(name, column[~np.isnan(column)])
        if column.dtype.kind in "fO":
            found += _id_findings(name, column, labels)
    return found


def sentinel_findings(about: str, numbers: FloatArray) -> list[Finding]:
    """A finding if numbers such as -999 or 9999 are far from all others."""
    distinct, times = np.unique(numbers, return_counts=True)
    if len(distinct) < 3 or not (_is_sentinel(distinct[0]) or _is_sentinel(distinct[-1])):
        return []
    are_odd = np.array([_is_sentinel(number) for number in distinct.tolist()])
    if (~are_odd).sum() < 2:
        return []
    low, high = distinct[~are_odd][[0, -1]]
    are_far = are_odd & (np.maximum(distinct - high, low - distinct) >= high - low) & (times >= FEWEST_TIMES)
    if not are_far.any():
        return []
    each = [f"{number:.10g}" for number in distinct[are_far].tolist()]
    with_rows = [f"{number} ({counted(n, 'row')})" for number, n in zip(each, times[are_far].tolist(), strict=True)]
    return [
        Finding(
            about,
            Severity.DOUBTFUL,
            f"{listed(with_rows, MOST_NAMES)}, far from all other values ({low:.10g} to {high:.10g})",
            "Such a number is often a code for a missing value, and would be taken as an amount",
            f"If so, make it one: X.replace({{{about!r}: {{{each[0]}: numpy.nan}}}}) in pandas, "
            f"--na={','.join(each)} in the command",
        )
    ]


def _is_sentinel(number: float) -> bool:
    return number in ENDS or NINES.fullmatch(f"{number:.10g}") is not None


def _id_findings(name: str, column: NDArray[Any], labels: IntArray | None) -> list[Finding]:
    """A finding if the values of a column seem to be ids, each of several rows."""
    is_text = column.dtype.kind == "O"
    known = np.array([value is not None for value in column]) if is_text else ~np.isnan(column)
    if is_text:
        distinct: Any = distinct_of(column[known].tolist())
        at = {value: i for i, value in enumerate(distinct)}
        which = np.array([at[value] for value in column[known].tolist()], dtype=np.int64)
    else:
        if not (column[known] == np.round(column[known])).all():
            return []
        distinct, which = np.unique(column[known], return_inverse=True)
    n, n_distinct = len(which), len(distinct)
    if n_distinct < FEWEST_IDS or n < FEWEST_ROWS_EACH * n_distinct:
        return []
    is_named = NAMED_ID.fullmatch(name) is not None
    if is_text and not is_named and _share_of_codes(distinct) < CODE_SHARE:
        return []
    alike = 0.0 if labels is None else _alike(which, labels[known], is_text)
    if not (is_named or alike):
        return []
    example = shown(distinct[0]) if is_text else f"{distinct[0]:.0f}"
    seen = f"{n_distinct:,} different values such as {example}, each in {n / n_distinct:.0f} rows on average"
    if alike:
        seen += f", and {percent(alike, 0)} of two rows with the same one have the same label"
    return [
        Finding(
            name,
            Severity.DOUBTFUL,
            seen,
            "An id, as of a patient, says nothing about new patients, and makes results look better than they are",
            f"If it is an id, leave it out (--drop {name}) and test on rows of other ids; if new rows have the same "
            "values, name it in categorical_features (--categorical)",
        )
    ]


def _share_of_codes(texts: list[Any]) -> float:
    return float(np.mean([CODE.fullmatch(str(text).strip()) is not None for text in texts]))


def _alike(which: IntArray, labels: IntArray, is_text: bool) -> float:
    """How often two rows of one value have the same label, if far more often than others; otherwise 0.

    Numbers that are amounts tell as much about a label if they differ a little.
    """
    counts = np.zeros((int(which.max()) + 1, int(labels.max()) + 1))
    np.add.at(counts, (which, labels), 1.0)
    rows, of_label = counts.sum(axis=1), counts.sum(axis=0)
    by_chance = float((of_label * (of_label - 1.0)).sum() / max(1.0, len(which) * (len(which) - 1.0)))
    n_pairs = max(1.0, (rows * (rows - 1.0)).sum() / 2.0)
    same = float((counts * (counts - 1.0)).sum() / (2.0 * n_pairs))
    by_luck = STANDARD_ERRORS * np.sqrt(by_chance * (1.0 - by_chance) / n_pairs)
    least = FEWEST_ALIKE_TEXTS if is_text else FEWEST_ALIKE
    if same - by_chance < max(by_luck, least * (1.0 - by_chance)) or rows.max() > MOST_ROWS_EACH * rows.mean():
        return 0.0
    following = float((counts[1:] * counts[:-1]).sum() / (rows[1:] * rows[:-1]).sum())
    return same if is_text or following - by_chance <= NEXT_ALIKE * (same - by_chance) else 0.0
