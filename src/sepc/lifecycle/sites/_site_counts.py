"""The counts that one site gives away: right and wrong labels at fixed thresholds, rounded down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import random_table

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.errors import FormatError
from sepc.estimators.selective.groups import keys_of, names_in
from sepc.io.codec import Reader, read_simple_value
from sepc.lifecycle.feedback import feedback_of
from sepc.lifecycle.rows import file_digest
from sepc.lifecycle.state_files import JSONDocument
from sepc.records import MOST
from sepc.statistics.rates import fixed_grid, sums_at
from sepc.wording import check_number, plain


@dataclass(frozen=True, eq=False)
class Cell:
    """Rows of one predicted label and one group, counted at each threshold.

    Attributes
    ----------
    label : label, or None
        The predicted label; None if labels were not told apart.
    group : value, pair of values, or None
        The group; None if groups were not told apart, or for all groups too small to be named.
    right, wrong : (m,) arrays of int
        How many rows that each threshold accepts are right and wrong, rounded down to a multiple of the smallest count.
    """

    label: Any
    group: Any
    right: IntArray
    wrong: IntArray


@dataclass(frozen=True, eq=False)
class SiteCounts(JSONDocument):
    """The counts of a site. Everything in them may leave the site; nothing else does.

    Attributes
    ----------
    site : str
        The name of the site.
    model : str
        The SHA-256 digest of the model file.
    smallest : int
        Counts are rounded down to a multiple of this; 1 keeps them exact.
    by : tuple of str or int
        The columns that define groups; empty if groups were not told apart.
    thresholds : (m,) array
        From strict to lenient; the last one accepts every row.
    cells : tuple of Cell
    """

    _form, _what = "sepc-site-counts-1", "a file of counts"

    site: str
    model: str
    smallest: int
    by: tuple[Any, ...]
    thresholds: FloatArray
    cells: tuple[Cell, ...] = field(repr=False)

    @property
    def labels(self) -> list[Any]:
        """The predicted labels that were told apart; empty if they were not."""
        return list(dict.fromkeys(cell.label for cell in self.cells if cell.label is not None))

    @property
    def groups(self) -> list[Any]:
        """The groups that were told apart and are large enough to be named."""
        return list(dict.fromkeys(cell.group for cell in self.cells if cell.group is not None))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 digest of the counts."""
        return sha256(self.to_json().encode()).hexdigest()

    def cells_of(self, label: Any = None, group: Any = None) -> list[Cell]:
        """The cells of a label, of a group, of both, or all."""
        return [
            cell
            for cell in self.cells
            if (label is None or cell.label == label) and (group is None or cell.group == group)
        ]

    def _content(self) -> dict[str, Any]:
        return {
            "site": self.site,
            "model": self.model,
            "smallest": self.smallest,
            "by": list(self.by),
            "thresholds": self.thresholds.tolist(),
            "cells": [
                {
                    "label": cell.label,
                    "group": list(cell.group) if isinstance(cell.group, tuple) else cell.group,
                    "right": cell.right.tolist(),
                    "wrong": cell.wrong.tolist(),
                }
                for cell in self.cells
            ],
        }

    @classmethod
    def _from(cls, reader: Reader) -> Self:
        site, smallest = reader.text("site"), reader.integer("smallest", 1)
        if not site:
            raise FormatError("it does not name its site.")
        numbers = reader.value("thresholds", list)
        if not numbers or not all(type(one) is float and math.isfinite(one) for one in numbers):
            raise FormatError("its thresholds are not numbers.")
        thresholds = np.array(numbers)
        if (np.diff(thresholds) >= 0.0).any() or thresholds[-1] > 0.0:
            raise FormatError("its thresholds do not fall to 0.")
        cells = tuple(_cell_from(part, len(thresholds), smallest) for part in reader.parts("cells"))
        if len({(str(cell.label), str(cell.group)) for cell in cells}) < len(cells) or not cells:
            raise FormatError("it has no cells, or one of them twice.")
        by = tuple(read_simple_value(name, reader) for name in reader.value("by", list))
        return cls(site, reader.text("model"), smallest, by, thresholds, cells)


def _cell_from(reader: Reader, n_thresholds: int, smallest: int) -> Cell:
    group = reader.node.get("group") if isinstance(reader.node, dict) else None
    values = [read_simple_value(value, reader) for value in (group if isinstance(group, list) else [group])]
    label = read_simple_value(reader.node.get("label"), reader) if reader.has("label") else None
    counts = [_counts_from(reader, name, n_thresholds, smallest) for name in ("right", "wrong")]
    return Cell(label, tuple(values) if isinstance(group, list) else values[0], *counts)


def _counts_from(reader: Reader, name: str, n_thresholds: int, smallest: int) -> IntArray:
    numbers = reader.value(name, list)
    if len(numbers) != n_thresholds or not all(type(one) is int and 0 <= one < MOST for one in numbers):
        raise FormatError("a cell does not have one count for each threshold.")
    counts = np.array(numbers, dtype=np.int64)
    if (np.diff(counts) < 0).any() or (counts % smallest).any():
        raise FormatError("counts fall from a strict to a lenient threshold, or are not rounded as it says.")
    return counts


SMALLEST = 5


def count_site(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    site: str,
    smallest: int = SMALLEST,
    by_label: bool = False,
    by: Any = None,
    groups: Any = None,
    digest: str | None = None,
) -> SiteCounts:
    """Count the right and wrong labels of a model on a site's rows, at thresholds that are the same for every site.

    Counts are rounded down to multiples of `smallest`, for right and wrong labels of each cell separately. From the
    rounded counts, nobody can tell that a set of rows (between any two thresholds, of any labels and groups) has at
    least one and fewer than `smallest` members: whenever it must have one, it may have `smallest`.

    Parameters
    ----------
    model : fitted classifier
        The same at every site.
    X : array or DataFrame of n rows
        Rows that the model was not trained on.
    y : array of shape (n,)
        Their true labels.
    site : str
        The name of the site.
    smallest : int, default=5
        The smallest count that may leave the site; 1 for exact counts.
    by_label : bool, default=False
        Whether to count each predicted label separately, for promises by label.
    by : str, int, or a list of two, optional
        Columns whose values define groups, for promises by group. Groups with fewer than `smallest` right and fewer
        than `smallest` wrong rows are not named; they are counted together.
    groups : array of n rows, DataFrame or mapping of names to arrays, optional
        The columns `by`, if they are not in `X`.
    digest : str, optional
        The SHA-256 digest of the model file, if it was loaded from one; computed by default.

    Returns
    -------
    SiteCounts
    """
    if not site:
        raise ValueError("site is empty; give the site a name.")
    check_number("smallest", smallest, least=1, whole=True)
    feedback = feedback_of(model, X, y)
    thresholds = np.unique(fixed_grid())[::-1]
    trust, label = feedback.decisions.trust, feedback.decisions.label
    keys = np.full(len(label), None, dtype=object) if by is None else keys_of(by, X, groups)
    labels = [plain(one) for one in model.classes_] if by_label else [None]
    known = list(dict.fromkeys(keys.tolist())) if by is not None else []
    cells, unnamed = [], np.ones(len(label), dtype=bool)
    for group in sorted(known, key=str):
        rows = np.array([key == group for key in keys], dtype=bool)
        counted = [
            _counted_cell(one, group, rows, feedback.right, label, trust, thresholds, smallest) for one in labels
        ]
        if any(cell.right[-1] or cell.wrong[-1] for cell in counted):
            cells += counted
            unnamed &= ~rows
    cells += [_counted_cell(one, None, unnamed, feedback.right, label, trust, thresholds, smallest) for one in labels]
    own = file_digest(model) if digest is None else digest
    return SiteCounts(site, own, smallest, () if by is None else names_in(by), thresholds, tuple(cells))


def _counted_cell(
    label: Any, group: Any, rows: BoolArray, right: BoolArray, labels: Any, trust: Any, thresholds: Any, smallest: int
) -> Cell:
    """The counts of one cell; the label None stands for all labels."""
    chosen = rows if label is None else rows & np.asarray(labels == label)
    accepted, n_right = sums_at(thresholds, trust[chosen], right[chosen].astype(np.int64))
    return Cell(label, group, _rounded(n_right, smallest), _rounded(accepted - n_right, smallest))


def _rounded(counts: IntArray, smallest: int) -> IntArray:
    return np.asarray(counts - counts % smallest, dtype=np.int64)


N_DRAWS = 9_999


def accepted_at(counts: Sequence[SiteCounts], threshold: float) -> IntArray:
    """The right and wrong rows of each site that a threshold accepts, as reported: an (S, 2) array."""
    which = int((counts[0].thresholds > threshold).sum())
    pairs = [[(int(cell.right[which]), int(cell.wrong[which])) for cell in site.cells] for site in counts]
    return np.array([[sum(own) for own in zip(*each, strict=True)] for each in pairs], dtype=np.int64)


def difference_p_value(table: IntArray) -> float:
    """P-value of "all sites have the same error rate", given their right and wrong rows.

    Examples
    --------
    >>> difference_p_value(np.array([[90, 10], [180, 20]]))
    1.0
    >>> difference_p_value(np.array([[90, 10], [120, 80]]))
    0.0001
    """
    used = table[table.sum(axis=1) > 0]
    if len(used) < 2 or not used.sum(axis=0).all():
        return 1.0
    expected = np.outer(used.sum(axis=1), used.sum(axis=0)) / used.sum()
    draws = random_table(used.sum(axis=1), used.sum(axis=0)).rvs(N_DRAWS, random_state=0)
    as_large = _statistic(draws, expected) >= _statistic(used[np.newaxis], expected)[0] - 1e-9
    return float((1 + as_large.sum()) / (1 + N_DRAWS))


def _statistic(tables: FloatArray, expected: FloatArray) -> FloatArray:
    return np.asarray(((tables - expected) ** 2 / expected).sum(axis=(1, 2)))
