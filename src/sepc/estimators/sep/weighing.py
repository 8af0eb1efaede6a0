"""Fit the weights of a partition to labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.kernels.softmax import fit_softmax
from sepc.kernels.stepped_columns import SteppedColumns
from sepc.model.membership import squared_radii
from sepc.model.sep_model import SEPModel
from sepc.model.weights import LINE_END, Weights, depth, isolated_nearness, nearness
from sepc.points.proportional_sample import ClassSample

# The most rows to fit weights to: a few hundred weights gain nothing from more.
WEIGHED_ROWS = 40_000

# Scores are solved for up to this, which moves no probability by more than a quarter of it.
EXACT_TO = 1e-6

# Some settings grow with the number of training rows between these two, so that few rows are regularised more than
# many (see `grown`). The ends were settled on the first drawing of the comparison, and on magic and electricity.
FEW_ROWS, MANY_ROWS = 2_000, 10_000

# Both grow with the rows: the inverse of the penalty, and the weight of one standard deviation of depth.
INVERSE_PENALTY = (0.1, 1.0)
DEPTH_UNIT = (0.6, 1.0)

# Knots of a curve: 20 for up to 5,000 rows, then growing with the square root of the rows up to 60.
FEWEST_KNOTS, MOST_KNOTS = 20, 60
KNOT_ROWS = 5_000

# Gaussians around isolated rows are this many times as wide as the model's reach; isolated rows beyond the first 1,000
# have no weight.
WIDTH_IN_REACHES = 2.0
MOST_ISOLATED = 1_000


# Of a column with more categories, only the most frequent ones have a step of their own.
MOST_CATEGORIES = 200


class CategoryColumn(NamedTuple):
    """A column of categories: the first of the features made from it, their number, and the number of categories."""

    feature: int
    n_features: int
    n_categories: int


def weigh(
    model: SEPModel, samples: Sequence[ClassSample], category_columns: Sequence[CategoryColumn], row_unit: float
) -> Weights:
    """Fit the weights to samples of the classes, in the user's own features, with codes of categories after these.

    Each row counts as `row_unit` rows.
    """
    given = np.concatenate([sample.rows for sample in samples])
    rows, codes = model.standardize(given), given[:, len(model.shift) :].astype(np.int64)
    which = np.repeat(np.arange(len(samples)), [len(sample.rows) for sample in samples])
    shares = np.repeat([sample.weight for sample in samples], [len(sample.rows) for sample in samples])
    n = len(rows) * row_unit
    columns = _Columns.of(model, rows, codes, category_columns)
    solution = fit_softmax(
        columns.values,
        which,
        len(samples),
        penalty=1.0 / grown(n, INVERSE_PENALTY),
        weights=shares * (n / shares.sum()),
        tol=EXACT_TO,
    )
    return columns.weights(solution.coefficients, solution.offsets)


def grown(n_rows: float, ends: tuple[float, float]) -> float:
    """Interpolate between two ends by the number of rows, on logarithmic scales.

    The first end holds for up to 2,000 rows, the second for 10,000 and more.

    Examples
    --------
    >>> [round(grown(n, (0.1, 1.0)), 2) for n in (10, 2_000, 4_472, 10_000, 10**6)]
    [0.1, 0.1, 0.32, 1.0, 1.0]
    """
    return float(np.exp(np.interp(np.log(n_rows), np.log([FEW_ROWS, MANY_ROWS]), np.log(ends))))


def most_knots(n_rows: int) -> int:
    """The most knots of a curve that is fitted to this many rows."""
    return int(np.clip(FEWEST_KNOTS * np.sqrt(n_rows / KNOT_ROWS), FEWEST_KNOTS, MOST_KNOTS))


def knots_of(values: FloatArray, n_most: int) -> FloatArray:
    """Where the curve of a feature may step: quantiles of the values and, where these coincide, of the distinct values.

    A column that is mostly one value, such as zero, has few distinct quantiles; quantiles of its distinct values cover
    the rest. Steps are at values that occur, never at the smallest.

    Examples
    --------
    >>> knots_of(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), 3)
    array([1., 2.])
    """
    if n_most == 0:
        return np.empty(0)
    values = np.sort(values)
    distinct = values[np.concatenate([[True], values[1:] > values[:-1]])]
    if len(distinct) - 1 <= n_most:
        return np.asarray(distinct[1:])
    knots = np.unique(_at_ranks(values, n_most))
    knots = knots[knots > distinct[0]]
    others = np.setdiff1d(_at_ranks(distinct[1:], n_most), knots)
    n_missing = min(n_most - len(knots), len(others))
    return np.union1d(knots, _at_ranks(others, n_missing)) if n_missing else knots


def _at_ranks(ordered: FloatArray, n: int) -> FloatArray:
    """Pick `n` of the ordered values at evenly spaced ranks, the last one included."""
    return np.asarray(ordered[np.ceil(np.arange(1, n + 1) * len(ordered) / n).astype(np.int64) - 1])


class _Columns:
    """The columns of the logistic model, and the way back from its coefficients to weights."""

    def __init__(
        self,
        model: SEPModel,
        rows: FloatArray,
        knots: list[FloatArray],
        codes: IntArray,
        category_columns: Sequence[CategoryColumn],
    ) -> None:
        self.model, self.knots, self.category_columns = model, knots, category_columns
        self.step = FEWEST_KNOTS / max(FEWEST_KNOTS, max(map(len, knots)))
        n, d, K = len(rows), rows.shape[1], model.n_ellipsoids
        self.n_isolated = min(len(model.isolated), MOST_ISOLATED)
        # Without isolated rows no width is needed; if all rows are equal, any width will do.
        self.width = (WIDTH_IN_REACHES * model.reach if self.n_isolated else 0.0) or 1.0
        squared = squared_radii(rows, model.centers, model.roots)
        deep = depth(squared)
        self.deep_mean = deep.mean(axis=0)
        # An ellipsoid in which all rows lie equally deep carries no information.
        spread = deep.std(axis=0)
        self.deep_scale = np.divide(grown(n, DEPTH_UNIT), spread, out=np.zeros(K), where=spread > 1e-9)
        self.stepped = [_frequent(code, own.n_categories) for code, own in zip(codes.T, category_columns, strict=True)]
        dense = np.empty((n, d + 2 * K + self.n_isolated))
        dense[:, :d] = np.clip(rows, -LINE_END, LINE_END)
        dense[:, d : d + K] = nearness(squared)
        dense[:, d + K : d + 2 * K] = (deep - self.deep_mean) * self.deep_scale
        if self.n_isolated:
            dense[:, d + 2 * K :] = isolated_nearness(rows, model.isolated[: self.n_isolated], self.width)
        categories = [_places(code, stepped) for code, stepped in zip(codes.T, self.stepped, strict=True)]
        steps = [np.searchsorted(own, row, side="right") for own, row in zip(knots, rows.T, strict=True)]
        n_categories, n_steps = list(map(len, self.stepped)), list(map(len, knots))
        self.values = SteppedColumns(
            places=np.array([*categories, *steps], dtype=np.int64).reshape(-1, n).T,
            n_columns=np.array([*n_categories, *n_steps], dtype=np.int64),
            climbs=np.repeat([False, True], [len(categories), len(steps)]),
            shift=np.zeros(sum(n_categories) + sum(n_steps)),
            scale=np.repeat([1.0, self.step], [sum(n_categories), sum(n_steps)]),
            dense=dense,
        )

    @classmethod
    def of(
        cls, model: SEPModel, rows: FloatArray, codes: IntArray, category_columns: Sequence[CategoryColumn]
    ) -> _Columns:
        """Choose the knots, and build the columns; features made from categories have no knots."""
        n_most = most_knots(len(rows))
        encoded = {own.feature + k for own in category_columns for k in range(own.n_features)}
        knots = [knots_of(own, 0 if j in encoded else n_most) for j, own in enumerate(rows.T)]
        return cls(model, rows, knots, codes, category_columns)

    def weights(self, coefficients: FloatArray, offsets: FloatArray) -> Weights:
        """Turn coefficients of the columns into weights whose terms are zero on average."""
        model, (d, K) = self.model, (len(self.knots), self.model.n_ellipsoids)
        n_categories = np.array([own.n_categories for own in self.category_columns], dtype=np.int64)
        cuts = np.cumsum([sum(map(len, self.stepped)), sum(map(len, self.knots)), d, K, K])
        categories, steps, lines, near, deep, isolated = np.split(coefficients, cuts)
        means, _ = self.values.moments(np.ones(self.values.shape[0]))
        category_means, step_means, line_means, near_means, _, isolated_means = np.split(means, cuts)
        deep = deep * self.deep_scale[:, np.newaxis]
        unweighed = np.zeros((len(model.isolated) - self.n_isolated, len(offsets)))
        return Weights(
            offsets=offsets + means @ coefficients,
            lines=lines,
            n_knots=np.array(list(map(len, self.knots)), dtype=np.int64),
            knots=np.concatenate(self.knots),
            levels=self._levels(lines, steps, line_means, step_means),
            near=near,
            deep=deep,
            ellipsoid_means=near_means[:, np.newaxis] * near + self.deep_mean[:, np.newaxis] * deep,
            isolated=np.concatenate([isolated, unweighed]),
            isolated_mean=isolated_means @ isolated,
            width=self.width,
            category_features=np.array([own.feature for own in self.category_columns], dtype=np.int64),
            n_categories=n_categories,
            category_levels=self._category_levels(categories, category_means),
        )

    def _category_levels(self, steps: FloatArray, means: FloatArray) -> FloatArray:
        """The levels of all categories, minus the mean of each column over the rows fitted to."""
        levels, start = [np.empty((0, steps.shape[1]))], 0
        for column, own in zip(self.category_columns, self.stepped, strict=True):
            stop = start + len(own)
            full = np.zeros((column.n_categories, steps.shape[1]))
            full[own] = steps[start:stop]
            levels.append(full - means[start:stop] @ steps[start:stop])
            start = stop
        return np.concatenate(levels)

    def _levels(
        self, lines: FloatArray, steps: FloatArray, line_means: FloatArray, step_means: FloatArray
    ) -> FloatArray:
        """The curves without their lines: cumulative steps minus the mean of line and steps."""
        levels, start = [np.empty((0, lines.shape[1]))], 0
        for j, own in enumerate(self.knots):
            stop = start + len(own)
            mean = line_means[j] * lines[j] + step_means[start:stop] @ steps[start:stop]
            climbed = np.cumsum(steps[start:stop] * self.step, axis=0)
            levels.append(np.concatenate([np.zeros((1, lines.shape[1])), climbed]) - mean)
            start = stop
        return np.concatenate(levels)


def _frequent(codes: IntArray, n_categories: int) -> IntArray:
    """The categories that have a step of their own, in order."""
    n_rows = np.bincount(codes, minlength=n_categories)[:n_categories]
    return np.sort(np.argsort(-n_rows, kind="stable")[:MOST_CATEGORIES])


def _places(codes: IntArray, stepped: IntArray) -> IntArray:
    """The place of each code among the categories that have a step, counted from 1; 0 for others."""
    place = np.minimum(np.searchsorted(stepped, codes), len(stepped) - 1)
    return np.where(stepped[place] == codes, place + 1, 0)
