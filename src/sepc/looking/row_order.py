"""What stands out in rows: an order that matters, and features that predict the label alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from math import erfc, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import category
from sepc.columns.kinds import Column, Kind
from sepc.looking.findings import Finding, Severity
from sepc.wording import counted, name_of, percent, shown

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


# The most rows to fit and test rules on, half each; and the fewest test rows that the most common label must get
# wrong.
MOST_ROWS = 4_000
FEWEST_WRONG = 20
# A feature predicts the label alone if it leaves at most this share of the errors of the most common label.
LEFT_WRONG = 0.02
# With more labels than this, a rule has too few rows to learn them from.
MOST_LABELS = 50
LEAF_ROWS = 5


def leakage_findings(columns: Collection[Column], read: Mapping[str, NDArray[Any]], y: NDArray[Any]) -> list[Finding]:
    """A finding for each feature that predicts the label by itself, judged on rows that its rule was not fitted on."""
    labels, codes = np.unique(y.astype(str), return_inverse=True)
    if not 2 <= len(labels) <= MOST_LABELS:
        return []
    drawn = np.random.default_rng(0).permutation(len(codes))[:MOST_ROWS]
    is_rule, codes = np.arange(len(drawn)) % 2 == 0, codes[drawn]
    usual = np.bincount(codes[is_rule]).argmax()
    n_wrong = int((codes[~is_rule] != usual).sum())
    if n_wrong < FEWEST_WRONG:
        return []
    found = []
    for column in columns:
        if column.kind is not Kind.LEFT_OUT:
            predicted = _predict(column.kind, read[column.name][drawn], codes, is_rule, LEFT_WRONG * n_wrong)
            if predicted is not None and (predicted != codes[~is_rule]).sum() <= LEFT_WRONG * n_wrong:
                found.append(_finding(column.name, float((predicted == codes[~is_rule]).mean()), len(predicted)))
    return found


def _finding(name: str, right: float, n_rows: int) -> Finding:
    return Finding(
        name,
        Severity.DOUBTFUL,
        f"it alone predicts the label of {percent(right)} of {n_rows:,} rows that its rule has not seen",
        "A feature known only once the answer is known (leakage) makes results look better than they are",
        f"Used anyway; does {shown(name)} come from the answer? If so, remove it",
    )


def _predict(
    kind: Kind, values: NDArray[Any], codes: IntArray, is_rule: BoolArray, most_wrong: float
) -> IntArray | None:
    """The labels that a rule of one feature predicts for test rows; None if more than `most_wrong` must be wrong."""
    if kind is Kind.CATEGORY:
        return _by_category([category(value) for value in values], codes, is_rule)
    numbers = values
    if values.dtype.kind == "M":
        numbers = np.where(np.isnat(values), np.nan, values.astype(np.int64))
    rows = np.clip(numbers, -1e30, 1e30).astype(np.float32)[:, np.newaxis]
    leaves = 2 * (int(codes.max()) + 1)
    if _fewest_wrong(rows[~is_rule, 0], codes[~is_rule], leaves) > most_wrong:
        return None
    from sklearn.tree import DecisionTreeClassifier  # imported late: most tables are checked without it

    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=LEAF_ROWS, random_state=0)
    return np.asarray(tree.fit(rows[is_rule], codes[is_rule]).predict(rows[~is_rule]))


def _fewest_wrong(numbers: NDArray[Any], codes: IntArray, leaves: int) -> float:
    """A lower bound on the rows that a tree with this many leaves gets wrong, whatever it has learnt."""
    n_changes = int(np.count_nonzero(np.diff(codes[np.argsort(numbers)])))
    return (n_changes - leaves) / 2


def _by_category(values: list[Any], codes: IntArray, is_rule: BoolArray) -> IntArray:
    """For each test row, the most common label of its category; of all rows if the category is new."""
    counts: dict[Any, Counter[int]] = {}
    for value, code, fitted in zip(values, codes.tolist(), is_rule, strict=True):
        if fitted:
            counts.setdefault(value, Counter())[code] += 1
    usual = int(np.bincount(codes[is_rule]).argmax())
    best = {value: count.most_common(1)[0][0] for value, count in counts.items()}
    return np.array([best.get(value, usual) for value, fitted in zip(values, is_rule, strict=True) if not fitted])
