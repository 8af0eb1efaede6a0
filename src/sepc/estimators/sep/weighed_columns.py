"""The design matrix of the logistic model behind the weights, and how its coefficients become weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.kernels.stepped_columns import SteppedColumns
from sepc.model.weights import LINE_END, Weights, depth, isolated_nearness, nearness

# Knots of a curve: 20 for up to 5,000 rows, then growing with the square root of the number of rows up to 60.
FEWEST_KNOTS, MOST_KNOTS = 20, 60
KNOT_ROWS = 5_000

# In a column with more categories than this, only the most frequent ones have their own step. All columns together have
# at most so many steps of categories, and all curves so many knots; the encodings of categories and the lines of
# features carry the rest.
MOST_CATEGORIES, MOST_OF_ALL_COLUMNS = 200, 1_000
MOST_KNOTS_OF_ALL = 2_000

# The kinds of terms; those of a kind have similar penalties.
N_KINDS = 6
CATEGORIES, STEPS, LINES, NEAR, DEEP, ISOLATED = range(N_KINDS)
# The last kinds are of places, and have one group each.
N_OF_PLACES = 3


class CategoryColumn(NamedTuple):
    """A categorical column: its first feature, the number of its features, and the number of categories."""

    feature: int
    n_features: int
    n_categories: int


@dataclass(frozen=True, eq=False)
class PlaceColumns:
    """Nearness to ellipsoids, depth in them and nearness to isolated rows, each with a column per place."""

    near: FloatArray
    deep: FloatArray
    isolated: FloatArray
    deep_mean: FloatArray
    deep_scale: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, squared: FloatArray, isolated: FloatArray, width: float) -> PlaceColumns:
        """The columns of rows with these squared gauges; an isolated row is not near to itself."""
        deep = depth(squared)
        mean, spread = deep.mean(axis=0), deep.std(axis=0)
        # The depth in an ellipsoid carries no information if it is equal for all rows.
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-9)
        beside = isolated_nearness(rows, isolated, width)
        beside[beside == 1.0] = 0.0
        return cls(nearness(squared), (deep - mean) * scale, beside, mean, scale)

    @classmethod
    def none(cls, n_rows: int) -> PlaceColumns:
        """No columns."""
        empty = np.empty((n_rows, 0))
        return cls(empty, empty, empty, np.empty(0), np.empty(0))

    def within(self, is_in: BoolArray) -> PlaceColumns:
        """Centred columns for the rows `is_in` among more rows; zero for the others."""
        near, deep, isolated = (
            _fill_where(columns - columns.mean(axis=0), is_in) for columns in (self.near, self.deep, self.isolated)
        )
        return replace(self, near=near, deep=deep, isolated=isolated)

    def beside(self, other: PlaceColumns) -> PlaceColumns:
        """The columns of both, side by side."""
        pairs = [(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__]
        return PlaceColumns(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def only(self, *, near: bool, deep: bool, isolated: bool) -> PlaceColumns:
        """Only the kinds that are wanted."""
        return replace(
            self,
            near=self.near[:, : None if near else 0],
            deep=self.deep[:, : None if deep else 0],
            isolated=self.isolated[:, : None if isolated else 0],
        )


@dataclass(frozen=True, eq=False)
class CurveColumns:
    """The columns of the shape functions (curves), for some rows."""

    rows: FloatArray
    has_line: BoolArray
    knots: list[FloatArray]
    codes: IntArray
    stepped: list[IntArray]
    step: float
    category_columns: Sequence[CategoryColumn]
    directions: IntArray | None = None

    @classmethod
    def of(
        cls,
        rows: FloatArray,
        codes: IntArray,
        category_columns: Sequence[CategoryColumn],
        directions: IntArray | None = None,
        n_most: int | None = None,
    ) -> CurveColumns:
        """Choose the knots, by default as many as the rows allow; features made from categories have none."""
        n_most = min(most_knots(len(rows)), MOST_KNOTS_OF_ALL // rows.shape[1]) if n_most is None else n_most
        encoded = {column.feature + k for column in category_columns for k in range(column.n_features)}
        knots = [knots_of(values, 0 if j in encoded else n_most) for j, values in enumerate(rows.T)]
        n_steps = min(MOST_CATEGORIES, MOST_OF_ALL_COLUMNS // max(1, len(category_columns)))
        pairs = zip(codes.T, category_columns, strict=True)
        stepped = [_frequent(code, column.n_categories, n_steps) for code, column in pairs]
        step = FEWEST_KNOTS / max(FEWEST_KNOTS, max(map(len, knots)))
        has_line = np.ones(rows.shape[1], dtype=bool)
        return cls(rows, has_line, knots, codes, stepped, step, category_columns, directions)

    def of_rows(self, rows: FloatArray, positions: IntArray) -> CurveColumns:
        """The same knots for some of the rows, whose category encodings may differ."""
        return replace(self, rows=rows, codes=self.codes[positions])

    def only(self, categories: BoolArray, steps: BoolArray, lines: BoolArray) -> CurveColumns:
        """Only the curves that are wanted."""
        return replace(
            self,
            has_line=lines,
            knots=[knots[: None if kept else 0] for knots, kept in zip(self.knots, steps.tolist(), strict=True)],
            stepped=[
                codes[: None if kept else 0] for codes, kept in zip(self.stepped, categories.tolist(), strict=True)
            ],
        )

    def beside(self, places: PlaceColumns) -> SteppedColumns:
        """All columns: categories, steps, lines, nearness, depth, isolated rows."""
        lines = np.clip(self.rows[:, self.has_line], -LINE_END, LINE_END)
        categories = [_places(code, stepped) for code, stepped in zip(self.codes.T, self.stepped, strict=True)]
        steps = [np.searchsorted(knots, row, side="right") for knots, row in zip(self.knots, self.rows.T, strict=True)]
        n_categories, n_steps = list(map(len, self.stepped)), list(map(len, self.knots))
        n_columns = np.array([*n_categories, *n_steps], dtype=np.int64)
        has_columns = n_columns > 0
        return SteppedColumns(
            places=np.array([*categories, *steps], dtype=np.int64).reshape(-1, len(self.rows))[has_columns].T,
            n_columns=n_columns[has_columns],
            climbs=np.repeat([False, True], [len(categories), len(steps)])[has_columns],
            shift=np.zeros(sum(n_categories) + sum(n_steps)),
            scale=np.repeat([1.0, self.step], [sum(n_categories), sum(n_steps)]),
            dense=np.concatenate([lines, places.near, places.deep, places.isolated], axis=1),
        )

    @property
    def kinds(self) -> IntArray:
        """The kind of each group."""
        Q, d = len(self.stepped), len(self.knots)
        return np.repeat(np.arange(N_KINDS), [Q, d, d, *[1] * N_OF_PLACES])

    def groups(self, places: PlaceColumns) -> IntArray:
        """The group of each column."""
        lines = self.has_line.astype(np.int64).tolist()
        widths = [columns.shape[1] for columns in (places.near, places.deep, places.isolated)]
        sizes = [*map(len, self.stepped), *map(len, self.knots), *lines, *widths]
        return np.repeat(np.arange(len(sizes)), sizes)

    def signs(self, places: PlaceColumns) -> IntArray | None:
        """The sign that the coefficient of each column must have, or 0; None if all are free."""
        if self.directions is None:
            return None
        steps = np.repeat(self.directions, list(map(len, self.knots)))
        n_categories, n_places = sum(map(len, self.stepped)), self.beside(places).shape[1]
        signs = np.zeros(n_places, dtype=np.int64)
        signed = np.concatenate([steps, self.directions[self.has_line]])
        signs[n_categories : n_categories + len(signed)] = signed
        return signs


def weights_of(
    curves: CurveColumns,
    places: PlaceColumns,
    coefficients: FloatArray,
    offsets: FloatArray,
    n_isolated: int,
    width: float,
) -> Weights:
    """Turn coefficients of the columns into weights whose terms average to zero."""
    columns, n_ellipsoids = curves.beside(places), len(places.deep_scale)
    means, _ = columns.moments(np.ones(columns.shape[0]))
    sizes = [sum(map(len, curves.stepped)), sum(map(len, curves.knots)), int(curves.has_line.sum())]
    cuts = np.cumsum([*sizes, places.near.shape[1], places.deep.shape[1]])
    categories, steps, lines, near, deep, isolated = np.split(coefficients, cuts)
    category_means, step_means, line_means, near_means, _, isolated_means = np.split(means, cuts)
    lines, line_means = _fill_where(lines, curves.has_line), _fill_where(line_means, curves.has_line)
    near, near_means = _pad(near, n_ellipsoids), _pad(near_means, n_ellipsoids)
    deep = _pad(deep, n_ellipsoids) * places.deep_scale[:, np.newaxis]
    return Weights(
        offsets=offsets + means @ coefficients,
        lines=lines,
        n_knots=np.array(list(map(len, curves.knots)), dtype=np.int64),
        knots=np.concatenate(curves.knots),
        levels=_levels(curves, lines, steps, line_means, step_means),
        near=near,
        deep=deep,
        ellipsoid_means=near_means[:, np.newaxis] * near + places.deep_mean[:, np.newaxis] * deep,
        isolated=_pad(isolated, n_isolated),
        isolated_mean=isolated_means @ isolated,
        width=width,
        category_features=np.array([column.feature for column in curves.category_columns], dtype=np.int64),
        n_categories=np.array([column.n_categories for column in curves.category_columns], dtype=np.int64),
        category_levels=_category_levels(curves, categories, category_means),
    )


def _fill_where(values: FloatArray, is_there: BoolArray) -> FloatArray:
    """The values where `is_there`, and zeros elsewhere."""
    full = np.zeros((len(is_there), *values.shape[1:]))
    full[is_there] = values
    return full


def _pad(values: FloatArray, n: int) -> FloatArray:
    """Pad values with zeros."""
    return np.concatenate([values, np.zeros((n - len(values), *values.shape[1:]))])


def _category_levels(curves: CurveColumns, steps: FloatArray, means: FloatArray) -> FloatArray:
    """The levels of all categories, minus the mean of each column over the rows that the weights are fitted to."""
    levels, start = [np.empty((0, steps.shape[1]))], 0
    for column, stepped in zip(curves.category_columns, curves.stepped, strict=True):
        stop = start + len(stepped)
        full = np.zeros((column.n_categories, steps.shape[1]))
        full[stepped] = steps[start:stop]
        levels.append(full - means[start:stop] @ steps[start:stop])
        start = stop
    return np.concatenate(levels)


def _levels(
    curves: CurveColumns, lines: FloatArray, steps: FloatArray, line_means: FloatArray, step_means: FloatArray
) -> FloatArray:
    """The curves without their lines: cumulative steps minus the mean of line and steps."""
    levels, start = [np.empty((0, lines.shape[1]))], 0
    for j, knots in enumerate(curves.knots):
        stop = start + len(knots)
        mean = line_means[j] * lines[j] + step_means[start:stop] @ steps[start:stop]
        climbed = np.cumsum(steps[start:stop] * curves.step, axis=0)
        levels.append(np.concatenate([np.zeros((1, lines.shape[1])), climbed]) - mean)
        start = stop
    return np.concatenate(levels)


def most_knots(n_rows: int) -> int:
    """The most knots of a curve that is fitted to this many rows."""
    return int(np.clip(FEWEST_KNOTS * np.sqrt(n_rows / KNOT_ROWS), FEWEST_KNOTS, MOST_KNOTS))


def knots_of(values: FloatArray, n_most: int) -> FloatArray:
    """Where the curve of a feature may step: quantiles of the values and, where these coincide, of the distinct values.

    Nowhere if there are at most two values, between which a line is all there can be.

    Examples
    --------
    >>> knots_of(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), 3)
    array([1., 2.])
    """
    if n_most == 0:
        return np.empty(0)
    values = np.sort(values)
    distinct = values[np.concatenate([[True], values[1:] > values[:-1]])]
    if len(distinct) <= 2:
        return np.empty(0)
    if len(distinct) - 1 <= n_most:
        return np.asarray(distinct[1:])
    knots = np.unique(_at_ranks(values, n_most))
    knots = knots[knots > distinct[0]]
    others = np.setdiff1d(_at_ranks(distinct[1:], n_most), knots)
    n_missing = min(n_most - len(knots), len(others))
    return np.union1d(knots, _at_ranks(others, n_missing)) if n_missing else knots


def _at_ranks(ordered: FloatArray, n: int) -> FloatArray:
    """Pick `n` of the ordered values at evenly spaced ranks, including the last one."""
    return np.asarray(ordered[np.ceil(np.arange(1, n + 1) * len(ordered) / n).astype(np.int64) - 1])


def _frequent(codes: IntArray, n_categories: int, n_most: int) -> IntArray:
    """The categories that have their own step, in order."""
    n_rows = np.bincount(codes, minlength=n_categories)[:n_categories]
    return np.sort(np.argsort(-n_rows, kind="stable")[:n_most])


def _places(codes: IntArray, stepped: IntArray) -> IntArray:
    """The place of each code among the categories that have a step, counted from 1; 0 for others."""
    if not len(stepped):
        return np.zeros(len(codes), dtype=np.int64)
    place = np.minimum(np.searchsorted(stepped, codes), len(stepped) - 1)
    return np.where(stepped[place] == codes, place + 1, 0)
