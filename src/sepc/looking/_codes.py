"""Codes among the values of a column: numbers that stand for a missing value, and ids that repeat."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import FloatArray, IntArray
from sepc.columns.kinds import CODE, CODE_SHARE, distinct_of
from sepc.looking.findings import Finding, Severity
from sepc.wording import MOST_NAMES, counted, listed, percent, shown

# Numbers that people and programs write for a missing value: nines, and the ends of the ranges of whole numbers. They
# stand for one if they repeat, and are as far from the others as these are from each other.
NINES = re.compile(r"-?(?:99+(?:\.9+)?|9\.9+)")
ENDS = frozenset({-32768.0, 32767.0, 65535.0, -2147483648.0, 2147483647.0, 4294967295.0})
# Fewer values than this are hardly ids, nor are values of which each has fewer rows than this on average.
FEWEST_IDS, FEWEST_ROWS_EACH = 30, 1.5
# Names of columns of ids.
NAMED_ID = re.compile(
    r"(?:.*[\W_])?(?:id|ID|Id|uuid|UUID|guid|GUID)|.*[a-z](?:Id|ID)|"
    r"(?i:patient|subject|person|customer|client|user|member|account|household|kunden?)"
    r"(?i:[\W_]*(?:nr|no|num|number|nummer|key|code))?"
)
# How much more often two rows of one id have the same label than two rows of any, as a share of what is possible: at
# least this for numbers, and this for text. Numbers that follow each other have at most a share of it in common.
FEWEST_ALIKE, FEWEST_ALIKE_TEXTS, NEXT_ALIKE = 0.1, 0.5, 0.25
# Chance explains smaller differences than this many standard errors.
STANDARD_ERRORS = 4.0
# Ids have similar numbers of rows; the most frequent value of an amount often has many more than the average.
MOST_ROWS_EACH = 8.0


def code_findings(values: Mapping[str, NDArray[Any]], y: ArrayLike | None = None) -> list[Finding]:
    """A finding for each column with numbers that may stand for a missing value, and for each that may hold ids.

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
    distinct, times = np.unique(numbers[np.isfinite(numbers)], return_counts=True)
    are_odd = np.zeros(len(distinct), dtype=bool)
    if len(distinct) and any(map(_is_sentinel, distinct[[0, -1]].tolist())):
        are_odd[:] = [_is_sentinel(number) for number in distinct.tolist()]
    if not are_odd.any() or (~are_odd).sum() < 2:
        return []
    low, high = distinct[~are_odd][[0, -1]]
    with np.errstate(over="ignore"):
        are_far = are_odd & (np.maximum(distinct - high, low - distinct) >= high - low) & (times > 1)
    if not are_far.any():
        return []
    each = {f"{number:.10g}": n for number, n in zip(distinct[are_far].tolist(), times[are_far].tolist(), strict=True)}
    with_rows = listed([f"{number} ({counted(n, 'row')})" for number, n in each.items()], MOST_NAMES)
    seen = f"{with_rows}, far from all other values ({low:.10g} to {high:.10g})"
    matters = "Such a number is often a code for a missing value, and would be taken as it is"
    advice = f"If so, replace it by numpy.nan, or read the file with --na={','.join(each)}"
    return [Finding(about, Severity.DOUBTFUL, seen, matters, advice)]


def _is_sentinel(number: float) -> bool:
    return number in ENDS or NINES.fullmatch(f"{number:.10g}") is not None


def _id_findings(name: str, column: NDArray[Any], labels: IntArray | None) -> list[Finding]:
    """A finding if the values of a column seem to be ids, each of several rows."""
    is_text, is_named = column.dtype.kind == "O", NAMED_ID.fullmatch(name) is not None
    known = np.array([value is not None for value in column], dtype=bool) if is_text else ~np.isnan(column)
    given = column[known]
    if is_text:
        at = {value: i for i, value in enumerate(distinct_of(given.tolist()))}
        distinct, which = list(at), np.array([at[value] for value in given.tolist()], dtype=np.int64)
        if not is_named and sum(CODE.fullmatch(str(text).strip()) is not None for text in at) < CODE_SHARE * len(at):
            return []
    elif (given != np.round(given)).any():
        return []
    else:
        numbers, which = np.unique(given, return_inverse=True)
        distinct = numbers.tolist()
    n, n_distinct = len(which), len(distinct)
    if n_distinct < FEWEST_IDS or n < FEWEST_ROWS_EACH * n_distinct:
        return []
    alike = 0.0 if labels is None else _alike(which, labels[known], is_text)
    if not (is_named or alike):
        return []
    example = shown(distinct[0]) if is_text else f"{distinct[0]:.0f}"
    seen = f"{n_distinct:,} different values such as {example}, each in {n / n_distinct:.0f} rows on average"
    seen += f", and {percent(alike, 0)} of two rows with the same one have the same label" if alike else ""
    matters = "An id, as of a patient, says nothing about new patients, and makes results look better than they are"
    advice = f"If it is an id, leave it out (--drop {name}) and test on rows of other ids; if new rows have the same "
    advice += "values, name it in categorical_features (--categorical)"
    return [Finding(name, Severity.DOUBTFUL, seen, matters, advice)]


def _alike(which: IntArray, labels: IntArray, is_text: bool) -> float:
    """How often two rows of one value have the same label, if far more often than others; otherwise 0."""
    n_labels, rows, of_label = int(labels.max()) + 1, np.bincount(which), np.bincount(labels)
    cells, times = np.unique(which * n_labels + labels, return_counts=True)
    n_pairs = max(1, int((rows * (rows - 1)).sum()))
    same = float((times * (times - 1)).sum() / n_pairs)
    by_chance = float((of_label * (of_label - 1)).sum() / max(1, len(which) * (len(which) - 1)))
    by_luck = STANDARD_ERRORS * float(np.sqrt(2.0 * by_chance * (1.0 - by_chance) / n_pairs))
    least = (FEWEST_ALIKE_TEXTS if is_text else FEWEST_ALIKE) * (1.0 - by_chance)
    if by_chance >= 1.0 or same - by_chance < max(by_luck, least) or rows.max() > MOST_ROWS_EACH * rows.mean():
        return 0.0
    _, at, after = np.intersect1d(cells, cells - n_labels, return_indices=True)
    following = float((times[at] * times[after]).sum() / (rows[1:] * rows[:-1]).sum())
    return same if is_text or following - by_chance <= NEXT_ALIKE * (same - by_chance) else 0.0
