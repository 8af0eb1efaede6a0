"""Whether the rows of a table are in an order that matters: dates, and values that drift from row to row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import FloatArray, IntArray
from sepc.looking.findings import Finding, Severity
from sepc.wording import counted, name_of, shown

ABOUT = "rows"

# Fewer rows than this do not show an order.
FEWEST_ROWS = 100
# The probability of a false alarm in any of the tests is at most this.
LEVEL = 0.01
# Weaker correlations with the row number do not matter, however many rows show them.
WEAKEST = 0.2
# The rows are sorted by a column whose rank correlation with the row number is this strong.
SORTED = 0.99
# Labels are in blocks if they change from row to row less often than this share of what chance would give.
IN_BLOCKS = 0.25
ADVICE = "hold out the last rows for a test: --test-last 0.3 in the command"
IN_BLOCKS_ADVICE = (
    "Rows of one label stand together, so the last rows are not a fair test; if rows come in groups, such as those "
    "of one person, hold out whole groups"
)


def row_findings(values: Mapping[str, NDArray[Any]], y: ArrayLike | None = None) -> list[Finding]:
    """Findings about the order of rows: dates, a column that they are sorted by, and drift.

    Rows in blocks of one label are not drift: features are compared with the row number within labels.

    Parameters
    ----------
    values : mapping of name to (n,) array
        The columns that are used, as `Column.read` gives them; categories are ignored.
    y : array of shape (n,), optional

    Examples
    --------
    >>> day = np.arange(200.0)
    >>> wave = np.sin(day)
    >>> for finding in row_findings({"a": wave, "b": wave[::-1] + day / 50}, day % 3 == 0):
    ...     print(finding.seen)
    1 of 2 columns drifts from the first row to the last, 'b' most (rank correlation 0.80 with the row number)
    """
    dates = [_of_dates(name, column) for name, column in values.items() if column.dtype.kind == "M"]
    n = len(next(iter(values.values()), ()))
    if n < FEWEST_ROWS:
        return dates
    classes = np.zeros(n, dtype=np.int64) if y is None else _codes(y)
    numbers = {name: column for name, column in values.items() if column.dtype.kind == "f"}
    drifts = {name: _drift(column, classes) for name, column in numbers.items()}
    in_blocks = _in_blocks(classes)
    labels = [] if in_blocks else [_drift(column, np.zeros_like(classes)) for column in _indicators(classes)]
    level = LEVEL / max(1, len(drifts) + len(labels))
    found = {name: r for name, (r, p) in drifts.items() if p <= level and abs(r) >= WEAKEST}
    of_labels = max((abs(r) for r, p in labels if p <= level and abs(r) >= WEAKEST), default=0.0)
    return [*dates, *_of_order(found, len(numbers), in_blocks, of_labels)]


def _codes(y: ArrayLike) -> IntArray:
    return np.asarray(np.unique(np.asarray(y).astype(str), return_inverse=True)[1], dtype=np.int64)


def _indicators(classes: IntArray) -> Iterator[FloatArray]:
    """For each class, which rows have it; for two classes, one is enough."""
    n_classes = int(classes.max()) + 1
    return ((classes == k).astype(np.float64) for k in range(1 if n_classes == 2 else n_classes))


def _in_blocks(classes: IntArray) -> bool:
    """Whether rows of one label stand together, as in a table that is sorted by label."""
    shares = np.bincount(classes) / len(classes)
    return float(np.mean(np.diff(classes) != 0)) < IN_BLOCKS * (1.0 - float((shares**2).sum()))


def _drift(values: FloatArray, classes: IntArray) -> tuple[float, float]:
    """The rank correlation of values with the row number within classes, and its p-value."""
    known = ~np.isnan(values)
    products, norms, variance, place = 0.0, np.zeros(2), 0.0, np.flatnonzero(known)
    for k in np.unique(classes[known]):
        in_k = known & (classes == k)
        n = int(in_k.sum())
        if n < 3:
            continue
        ranks = np.stack([_ranks(values[in_k]), np.searchsorted(place, np.flatnonzero(in_k)).astype(np.float64)])
        ranks /= n
        ranks -= ranks.mean(axis=1, keepdims=True)
        squares = (ranks**2).sum(axis=1)
        products += float(ranks[0] @ ranks[1])
        norms += squares
        variance += float(squares.prod()) / (n - 1)
    if variance <= 0.0:
        return 0.0, 1.0
    return products / float(np.sqrt(norms.prod())), erfc(abs(products) / sqrt(2.0 * variance))


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, with mean ranks for ties; importing SciPy for this would take longer than all checks."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - 0.5 * (counts - 1))[which])


def _of_dates(name: str, values: NDArray[Any]) -> Finding:
    known = values[~np.isnat(values)]
    span = (
        f", from {known.min().astype('datetime64[D]')} to {known.max().astype('datetime64[D]')}" if len(known) else ""
    )
    return Finding(
        ABOUT,
        Severity.DOUBTFUL,
        f"column {shown(name)} holds dates{span}",
        "If rows arrived over time, a test on randomly drawn rows is optimistic",
        f"Sort the rows by date, and {ADVICE}",
    )


def _of_order(found: dict[str, float], n_columns: int, in_blocks: bool, r_labels: float) -> list[Finding]:
    """A finding if columns or labels drift."""
    seen = []
    if found:
        most = max(found, key=lambda name: abs(found[name]))
        r, drift = abs(found[most]), "drifts" if len(found) == 1 else "drift"
        named = f"'{name_of(most)}' most (rank correlation {r:.2f} with the row number)"
        in_all = f"{len(found):,} of {counted(n_columns, 'column')} {drift} from the first row to the last, {named}"
        seen.append(f"they are sorted by column '{name_of(most)}'" if r >= SORTED else in_all)
    if r_labels:
        seen.append(
            f"labels drift from the first row to the last (rank correlation {r_labels:.2f} with the row number)"
        )
    if not seen:
        return []
    matters = "Later rows differ from earlier ones, so a test on randomly drawn rows is optimistic"
    advice = IN_BLOCKS_ADVICE if in_blocks else f"If this is their order in time, {ADVICE}"
    return [Finding(ABOUT, Severity.DOUBTFUL, "; ".join(seen), matters, advice)]
