"""What the categories of a column add to the log-odds, ready to draw as bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.columns.categories import Categories
from sepc.columns.preparation import Preparation
from sepc.model.sep_model import SEPModel
from sepc.model.weights import LINE_END, Weights
from sepc.wording import visible

# Bars to draw: those with the most rows or, without rows, the largest.
MOST_BARS = 16
GAP, UNSEEN = "missing", "not seen in training"


@dataclass(frozen=True, eq=False)
class CategoryBars:
    """Categories of a column, ordered by what they add to the log-odds.

    Attributes
    ----------
    names : tuple of str
    term : array
        What each category adds to the log-odds.
    n_rows : array of int
        How many rows have each category; empty if no rows are given.
    """

    names: tuple[str, ...]
    term: FloatArray
    n_rows: IntArray


def categories_by_feature(preparation: Preparation | None) -> Mapping[int, Categories]:
    """The categories of each column, by the position of its first feature."""
    if preparation is None:
        return {}
    return dict(zip(preparation.category_features.tolist(), preparation.categories.values(), strict=True))


def category_bars(
    model: SEPModel,
    weights: Weights,
    feature: int,
    categories: Categories,
    coefficients: FloatArray,
    rows: FloatArray | None,
) -> CategoryBars:
    """The bars of a column, given its first encoded feature; in `rows`, category codes follow the features."""
    column = weights.category_features.tolist().index(feature)
    first = int(weights.n_categories[:column].sum())
    n = int(weights.n_categories[column])
    levels = np.append(weights.category_levels[first : first + n] @ coefficients, 0.0)
    encodings = np.append(categories.encodings[:, 0], 0.0)
    standardized = np.clip((encodings - model.shift[feature]) / model.scale[feature], -LINE_END, LINE_END)
    constant = float(weights.curves[feature][1][:, 0] @ coefficients)
    term = standardized * float(weights.lines[feature] @ coefficients) + levels + constant
    names = [GAP if value is None else visible(str(value)) for value in categories.values] + [UNSEEN]
    if rows is None:
        shown = np.argsort(-np.abs(term[:n]), kind="stable")[:MOST_BARS]
        n_rows = np.empty(0, dtype=np.int64)
    else:
        n_rows = np.bincount(rows[:, len(model.shift) + column].astype(np.int64), minlength=n + 1)
        shown = np.argsort(-n_rows, kind="stable")[: min(MOST_BARS, int((n_rows > 0).sum()))]
    shown = shown[np.argsort(term[shown], kind="stable")]
    return CategoryBars(tuple(names[c] for c in shown), term[shown], n_rows[shown] if len(n_rows) else n_rows)
