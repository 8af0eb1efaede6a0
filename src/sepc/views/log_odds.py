"""What features and categories add to the log-odds in a model with weights, ready to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.columns.categories import Categories
from sepc.columns.preparation import Preparation
from sepc.model.proofs import proofs_of
from sepc.model.sep_model import SEPModel
from sepc.model.weights import LINE_END, Weights
from sepc.views.planes import position_of
from sepc.wording import MOST_NAMES, listed, name_of, shown

# Bars to draw: those with the most rows or, without rows, the largest.
MOST_BARS = 16
GAP, UNSEEN = "missing", "not seen in training"


def categories_by_feature(preparation: Preparation | None) -> Mapping[int, Categories]:
    """The categories of each column, by the position of its first feature."""
    if preparation is None:
        return {}
    return dict(zip(preparation.category_features.tolist(), preparation.categories.values(), strict=True))


# Spreads and quantiles use a sample of this many rows; more would not change the picture.
MOST_ROWS = 10_000
# A feature with at most this many distinct values is drawn as bars.
MOST_VALUES = 16
N_BARS = 24
# The share of the rows beyond each end of a curve.
BEYOND = 0.005


@dataclass(frozen=True, eq=False, repr=False)
class Contrast(ShownOnOneLine):
    """Which log-odds are shown: of one class against the other or, with more classes, against their average."""

    label: int
    against: int | None
    coefficients: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Curve(ShownOnOneLine):
    """The shape function of a feature: what it adds to the log-odds, with a histogram of its values."""

    feature: int
    name: str
    x: FloatArray
    term: FloatArray
    is_discrete: bool
    spread: float
    edges: FloatArray
    n_rows: IntArray
    knots: FloatArray
    categories: tuple[str, ...] = ()
    proved: str = ""

    def value(self, k: int, digits: int = 4) -> str:
        """The value at a vertex of the curve, or the category of a bar."""
        return self.categories[k] if self.categories else f"{self.x[k]:.{digits}g}"


def weights_of(model: SEPModel) -> Weights:
    """The weights of a model; raises if it has none, or only one class."""
    if model.weights is None:
        raise ValueError(f"A model with trust={model.trust!r} has no weights; fit with trust='weights'.")
    if len(model.classes) < 2:
        raise ValueError(
            f"The model has one class, {model.classes[0]}, so it has no log-odds; fit with at least two classes."
        )
    return model.weights


def contrast_of(model: SEPModel, label: Any = None) -> Contrast:
    """The contrast for `label`; by default the second of two classes, or the first of more."""
    n_classes = len(model.classes)
    if label is None:
        position = 1 if n_classes == 2 else 0
    else:
        positions = [k for k, known in enumerate(model.classes.tolist()) if known == label]
        if not positions:
            known = listed(map(shown, model.classes), MOST_NAMES)
            raise ValueError(f"There is no class {label!r}; the classes are {known}.")
        position = positions[0]
    coefficients = np.full(n_classes, -1.0 / max(n_classes - 1, 1))
    coefficients[position] = 1.0
    return Contrast(position, 1 - position if n_classes == 2 else None, coefficients)


def curves_of(
    model: SEPModel,
    contrast: Contrast,
    rows: FloatArray | None = None,
    features: Sequence[str | int] | None = None,
    most: int = 6,
    categories: Mapping[int, Categories] | None = None,
) -> tuple[Curve, ...]:
    """The curves of these features; by default of those whose terms vary most, in that order."""
    weights_of(model)
    if rows is not None and len(rows) == 0:
        rows = None
    if features is None:
        spreads = spreads_of(model, contrast.coefficients[:, np.newaxis], rows)[:, 0]
        chosen: Sequence[int] = np.argsort(-spreads, kind="stable")[:most].tolist()
    else:
        chosen = [position_of(model.feature_names, feature) for feature in features]
    known = categories or {}
    return tuple(
        _bars(model, contrast, j, known[j], rows)
        if j in known
        else _curve(model, contrast, j, None if rows is None else rows[:, j])
        for j in chosen
    )


def spreads_of(model: SEPModel, coefficients: FloatArray, rows: FloatArray | None = None) -> FloatArray:
    """Standard deviations of the terms of each feature, of shape (d, M), for contrasts of shape (C, M)."""
    weights = weights_of(model)
    spreads = np.empty((len(model.feature_names), coefficients.shape[1]))
    some = None if rows is None else sample(rows)
    standardized = None if some is None else model.standardize(some)
    for j, (knots, levels) in enumerate(weights.curves):
        values = _knots_from_below(knots) if standardized is None else standardized[:, j]
        terms = _terms(weights.lines[j] @ coefficients, knots, levels.T @ coefficients, values)
        spreads[j] = (terms + _of_categories(weights, j, some, coefficients)).std(axis=0)
    return spreads


def _of_categories(weights: Weights, j: int, rows: FloatArray | None, coefficients: FloatArray) -> FloatArray:
    """What the categories of a feature add, per row or, without rows, per category; 0 for a numeric feature."""
    columns = weights.category_features.tolist()
    if j not in columns:
        return np.zeros((1, coefficients.shape[1]))
    column = columns.index(j)
    if rows is None:
        first = int(weights.n_categories[:column].sum())
        return np.asarray(weights.category_levels[first : first + weights.n_categories[column]] @ coefficients)
    return np.asarray(weights.category_terms(rows[:, len(weights.lines) :])[:, column] @ coefficients)


def sample(rows: FloatArray) -> FloatArray:
    """At most `MOST_ROWS` of the rows, chosen at random with a fixed seed."""
    if len(rows) <= MOST_ROWS:
        return rows
    return rows[np.sort(np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False))]


def _curve(model: SEPModel, contrast: Contrast, j: int, values: FloatArray | None) -> Curve:
    weights, (shift, scale) = weights_of(model), (model.shift[j], model.scale[j])
    knots, levels = weights.curves[j]
    slope, levels = weights.lines[j] @ contrast.coefficients, levels.T @ contrast.coefficients
    distinct, n_each = (np.empty(0), None) if values is None else np.unique(values, return_counts=True)
    is_discrete = n_each is not None and len(distinct) <= MOST_VALUES
    seen = _knots_from_below(knots) if values is None else (sample(values) - shift) / scale
    spread = float(_terms(slope, knots, levels, seen).std())
    edges, n_rows = np.empty(0), np.empty(0, dtype=np.int64)
    if is_discrete and n_each is not None:
        x, n_rows = distinct, n_each
        term = _terms(slope, knots, levels, (distinct - shift) / scale)
    else:
        low, high = _ends(knots) if values is None else _range((values - shift) / scale)
        corners, term = _corners(slope, knots, levels, low, high)
        x = shift + scale * corners
        if values is not None:
            n_rows, edges = np.histogram(values, N_BARS, (x[0], x[-1]))
    name, proved = name_of(model.feature_names[j]), _proved(model, contrast, j)
    return Curve(j, name, x, term, is_discrete, spread, edges, n_rows, shift + scale * knots, proved=proved)


def _proved(model: SEPModel, contrast: Contrast, j: int) -> str:
    """Whether a curve only rises or only falls, as far as that is proved."""
    held = [proof for proof in proofs_of(model) if proof.holds and proof.feature == model.feature_names[j]]
    if model.alone is None or not held:
        return ""
    rises = (held[0].direction == "up") == (contrast.label == model.alone.towards)
    return "only rises" if rises else "only falls"


def _bars(model: SEPModel, contrast: Contrast, j: int, categories: Categories, rows: FloatArray | None) -> Curve:
    """The categories of a column, ordered by what they add; in `rows`, category codes follow the features."""
    weights, coefficients = weights_of(model), contrast.coefficients
    column = weights.category_features.tolist().index(j)
    first, n = int(weights.n_categories[:column].sum()), int(weights.n_categories[column])
    levels = np.append(weights.category_levels[first : first + n] @ coefficients, 0.0)
    encodings = np.append(categories.encodings[:, 0], 0.0)
    standardized = np.clip((encodings - model.shift[j]) / model.scale[j], -LINE_END, LINE_END)
    constant = float(weights.curves[j][1][:, 0] @ coefficients)
    term = standardized * float(weights.lines[j] @ coefficients) + levels + constant
    names = [GAP if value is None else name_of(value) for value in categories.values] + [UNSEEN]
    n_rows = np.empty(0, dtype=np.int64)
    if rows is None:
        shown = np.argsort(-np.abs(term[:n]), kind="stable")[:MOST_BARS]
    else:
        n_each = np.bincount(rows[:, len(model.shift) + column].astype(np.int64), minlength=n + 1)
        shown = np.argsort(-n_each, kind="stable")[: min(MOST_BARS, int((n_each > 0).sum()))]
    shown = shown[np.argsort(term[shown], kind="stable")]
    if rows is not None:
        n_rows = n_each[shown]
    spread = float(spreads_of(model, coefficients[:, np.newaxis], rows)[j, 0])
    at, none, chosen = np.arange(len(shown), dtype=np.float64), np.empty(0), tuple(names[c] for c in shown)
    return Curve(j, name_of(model.feature_names[j]), at, term[shown], True, spread, none, n_rows, none, chosen)


def _terms(slope: Any, knots: FloatArray, levels: FloatArray, values: FloatArray) -> FloatArray:
    """What a feature adds at these standardised values."""
    line = np.multiply.outer(np.clip(values, -LINE_END, LINE_END), slope)
    return np.asarray(line + levels[np.searchsorted(knots, values, side="right")])


def _corners(
    slope: float, knots: FloatArray, levels: FloatArray, low: float, high: float
) -> tuple[FloatArray, FloatArray]:
    """The vertices of a curve from `low` to `high`: two at every knot, before and after its step."""
    inner = knots[(knots > low) & (knots < high)]
    bends = [end for end in (-LINE_END, LINE_END) if low < end < high and end not in inner]
    after = np.sort(np.concatenate([[low, high], inner, bends]))
    at = np.concatenate([after, inner])
    level = np.searchsorted(knots, at, side="right")
    level[len(after) :] -= 1
    order = np.lexsort([level, at])
    return at[order], (slope * np.clip(at, -LINE_END, LINE_END) + levels[level])[order]


def _range(values: FloatArray) -> tuple[float, float]:
    """The range of all but a few extreme values; the full range if nearly all are equal."""
    low, high = np.quantile(values, [BEYOND, 1.0 - BEYOND]).tolist()
    return (low, high) if low < high else (float(values.min()), float(values.max()))


def _ends(knots: FloatArray) -> tuple[float, float]:
    """Where a curve begins and ends if there are no rows."""
    if len(knots) == 0:
        return -1.0, 1.0
    low, high = _knots_from_below(knots)[0], knots[-1]
    return float(low), float(high + 0.05 * (high - low))


def _knots_from_below(knots: FloatArray) -> FloatArray:
    """The knots, preceded by a value below the first."""
    if len(knots) == 0:
        return np.zeros(1)
    gap = float(np.median(np.diff(knots))) if len(knots) > 1 else 1.0
    return np.concatenate([[knots[0] - gap], knots])
