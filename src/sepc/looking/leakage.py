"""Features that predict the label alone, which usually means target leakage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, IntArray
from sepc.columns.categories import category
from sepc.columns.kinds import Column, Kind
from sepc.looking.findings import Finding, Severity
from sepc.wording import percent, shown

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
    """A finding for each feature that predicts the label by itself, judged on rows that its rule was not fitted on.

    Parameters
    ----------
    columns : columns
        What the columns are.
    read : mapping of name to (n,) array
        The values of the columns that are used: numbers, dates or categories.
    y : (n,) array
        The labels, none of them missing.
    """
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
    """A lower bound on the rows that a tree with this many leaves gets wrong, whatever it has learnt.

    In the order of the numbers, with missing ones last, a leaf predicts one label. Every change of label beyond those
    between leaves is next to a wrong row, and a wrong row is next to at most two.
    """
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
