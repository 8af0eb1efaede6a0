"""Columns of steps and of categories, stored as one place per row instead of many zeros and ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sepc._typing import BoolArray, FloatArray, IntArray

# Arrays of either precision: directions are computed in single, the problem itself stays in double.
Floats = NDArray[Any]
Indices = NDArray[np.intp]


class Columns(Protocol):
    """A matrix of n rows, accessed only through its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    def scores(self, coefficients: Floats) -> Floats:
        """Products of the rows with coefficients of shape (k, columns); the result has shape (k, n)."""

    def sums(self, slopes: Floats) -> Floats:
        """Products of the columns with slopes of shape (k, n); the result has shape (k, columns)."""

    def gram(self, part: Indices, weights: Floats) -> Floats:
        """Weighted products of columns, summed over the rows of `part`, of shape (columns, columns)."""

    def row_squares(self, weights: FloatArray) -> FloatArray:
        """The sum of squares of each row, with a weight for each column."""

    def moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each column, with a weight for each row."""

    def standardise(self, center: FloatArray, scale: FloatArray) -> Self:
        """Every column minus its center, times its scale, and a last column filled with the last scale."""

    def sizes(self) -> Self:
        """The absolute values of all entries."""

    def is_finite(self) -> bool:
        """Whether all entries are finite."""

    def astype(self, dtype: type) -> Self:
        """The same matrix in another precision."""

    def to_array(self) -> FloatArray:
        """The matrix as an array."""


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """A matrix as an array."""

    array: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        n, m = self.array.shape
        return n, m

    def scores(self, coefficients: Floats) -> Floats:
        """Products of the rows with coefficients of shape (k, columns); the result has shape (k, n)."""
        return np.asarray(coefficients @ self.array.T)

    def sums(self, slopes: Floats) -> Floats:
        """Products of the columns with slopes of shape (k, n); the result has shape (k, columns)."""
        return np.asarray(slopes @ self.array)

    def gram(self, part: Indices, weights: Floats) -> Floats:
        """Weighted products of columns, summed over the rows of `part`, of shape (columns, columns)."""
        weighted = self.array[part] * np.sqrt(weights)[:, np.newaxis]
        return np.asarray(weighted.T @ weighted)

    def row_squares(self, weights: FloatArray) -> FloatArray:
        """The sum of squares of each row, with a weight for each column."""
        return np.asarray(self.array**2 @ weights)

    def moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each column, with a weight for each row."""
        return moments_of(self.array, weights)

    def standardise(self, center: FloatArray, scale: FloatArray) -> DenseColumns:
        """Every column minus its center, times its scale, and a last column filled with the last scale."""
        return DenseColumns(standardise_array(self.array, center, scale))

    def sizes(self) -> DenseColumns:
        """The absolute values of all entries."""
        return DenseColumns(np.abs(self.array))

    def is_finite(self) -> bool:
        """Whether all entries are finite."""
        return bool(np.isfinite(self.array).all())

    def astype(self, dtype: type) -> DenseColumns:
        """The same matrix in another precision."""
        return DenseColumns(self.array.astype(dtype, copy=False))

    def to_array(self) -> FloatArray:
        """The matrix as an array."""
        return self.array


def moments_of(array: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of each column, with a weight for each row."""
    total = weights.sum()
    center = weights @ array / total
    moved = array - center
    return center, np.einsum("i,ij,ij->j", weights, moved, moved) / total


def standardise_array(array: FloatArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Every column minus its center, times its scale, and a last column filled with the last scale."""
    n, m = array.shape
    moved = np.empty((n, m + 1))
    np.subtract(array, center, out=moved[:, :m])
    moved[:, :m] *= scale[:m]
    moved[:, m] = scale[m]
    return moved


# A curve with 60 steps is 60 columns in which a row has ones up to its own step, so the step alone is enough. Products
# with vectors then cost as much as with a few columns, and Gram matrices are computed from cross-tabulations of steps.


@dataclass(frozen=True, eq=False)
class SteppedColumns:
    """A matrix whose last columns are a dense array; the others form groups in which every row has one place.

    A group of `s` columns has places 0 to `s`. Its columns are zero at place 0. At place `p`, column `p` is one; if the
    group climbs, so are all columns before it. Each of these columns is then shifted and scaled.
    """

    places: IntArray
    n_columns: IntArray
    climbs: BoolArray
    shift: FloatArray
    scale: FloatArray
    dense: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.dense), self.dense.shape[1] + len(self.shift)

    def scores(self, coefficients: Floats) -> Floats:
        """Products of the rows with coefficients of shape (k, columns); the result has shape (k, n)."""
        stepped, plain = self._split(coefficients)
        scores: Floats = plain @ self.dense.T
        if len(self.shift):
            scaled = stepped * self.scale
            levels = self._levels(scaled)
            # Every row has one place in the first group, so terms common to all rows can be added there.
            levels[: self.n_columns[0] + 1] -= scaled @ self.shift
            scores += (self._is_at @ levels.astype(self.dense.dtype)).T
        return scores

    def sums(self, slopes: Floats) -> Floats:
        """Products of the columns with slopes of shape (k, n); the result has shape (k, columns)."""
        at_places = (self._is_at.T @ np.ascontiguousarray(slopes.T)).T
        stepped = self._column_sums(at_places.astype(np.float64)) - slopes.sum(axis=1, keepdims=True) * self.shift
        return np.concatenate([(stepped * self.scale).astype(self.dense.dtype), slopes @ self.dense], axis=1)

    def gram(self, part: Indices, weights: Floats) -> Floats:
        """Weighted products of columns, summed over the rows of `part`, of shape (columns, columns)."""
        S, roots = len(self.shift), np.sqrt(weights)[:, np.newaxis]
        half_weighted = self.dense[part] * roots
        weighted = half_weighted * roots
        mixed = self._column_sums((self._is_at[part].T @ weighted).T.astype(np.float64))
        mixed -= weighted.sum(axis=0, dtype=np.float64)[:, np.newaxis] * self.shift
        products = np.empty((self.shape[1], self.shape[1]), self.dense.dtype)
        products[:S, :S] = self._products_of_steps(self.places[part], weights.astype(np.float64))
        products[S:, :S] = mixed * self.scale
        products[:S, S:] = products[S:, :S].T
        # A symmetric product takes half the time.
        products[S:, S:] = half_weighted.T @ half_weighted
        return products

    def row_squares(self, weights: FloatArray) -> FloatArray:
        """The sum of squares of each row, with a weight for each column."""
        stepped, plain = self._split(weights[np.newaxis])
        squared = stepped * self.scale**2
        # (indicator - shift)^2 is shift^2, plus 1 - 2 shift where the indicator is one.
        looked_up = self._is_at @ self._levels(squared * (1.0 - 2.0 * self.shift)).astype(self.dense.dtype)
        return np.asarray(self.dense**2 @ plain[0] + looked_up[:, 0] + squared[0] @ self.shift**2)

    def moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each column, with a weight for each row."""
        center, variance = moments_of(self.dense, weights)
        share = self._column_sums((self._is_at.T @ weights)[np.newaxis])[0] / weights.sum()
        spread = share * (1.0 - share) * self.scale**2
        return np.concatenate([(share - self.shift) * self.scale, center]), np.concatenate([spread, variance])

    def standardise(self, center: FloatArray, scale: FloatArray) -> SteppedColumns:
        """Every column minus its center, times its scale, and a last column filled with the last scale."""
        S = len(self.shift)
        dense = standardise_array(self.dense, center[S:], scale[S:])
        return replace(self, shift=self.shift + center[:S] / self.scale, scale=self.scale * scale[:S], dense=dense)

    def scale_columns(self, factors: FloatArray) -> SteppedColumns:
        """Every column times its factor; steps must not be shifted."""
        S = len(self.shift)
        return replace(self, scale=self.scale * factors[:S], dense=self.dense * factors[S:])

    def sizes(self) -> SteppedColumns:
        """The absolute values of all entries; steps must not be shifted."""
        return replace(self, dense=np.abs(self.dense), scale=np.abs(self.scale))

    def is_finite(self) -> bool:
        """Whether all entries are finite."""
        return bool(np.isfinite(self.dense).all() and np.isfinite(self.scale).all())

    def astype(self, dtype: type) -> SteppedColumns:
        """The same matrix in another precision."""
        return replace(self, dense=self.dense.astype(dtype, copy=False))

    def to_array(self) -> FloatArray:
        """The matrix as an array."""
        steps = [
            place[:, np.newaxis] >= np.arange(1, n + 1) if climbs else place[:, np.newaxis] == np.arange(1, n + 1)
            for place, n, climbs in zip(self.places.T, self.n_columns.tolist(), self.climbs.tolist(), strict=True)
        ]
        indicators = np.concatenate([np.empty((len(self.dense), 0)), *steps], axis=1)
        return np.concatenate([(indicators - self.shift) * self.scale, self.dense], axis=1)

    def _split(self, coefficients: Floats) -> tuple[FloatArray, Floats]:
        S = len(self.shift)
        return coefficients[:, :S].astype(np.float64, copy=False), coefficients[:, S:]

    @cached_property
    def _starts(self) -> IntArray:
        """The first place of each group, with the places of all groups numbered consecutively."""
        return np.asarray(np.cumsum(self.n_columns + 1) - (self.n_columns + 1))

    @cached_property
    def _is_at(self) -> csr_array:
        """One-hot matrix of the places of each row, of shape (n, S + q)."""
        n, q = self.places.shape
        which = (self.places + self._starts).astype(np.int32)
        starts = q * np.arange(n + 1, dtype=np.int32)
        shape = (n, len(self.shift) + q)
        return csr_array((np.ones(n * q, self.dense.dtype), which.ravel(), starts), shape=shape)

    def _groups(self) -> Iterator[tuple[slice, slice, bool]]:
        """For each group: its columns, their positions among all places, and whether it climbs."""
        first = 0
        for start, n, climbs in zip(self._starts.tolist(), self.n_columns.tolist(), self.climbs.tolist(), strict=True):
            yield slice(first, first + n), slice(start + 1, start + 1 + n), climbs
            first += n

    def _levels(self, coefficients: FloatArray) -> FloatArray:
        """The sum of a group's columns at each place, of shape (S + q, k), from coefficients of shape (k, S)."""
        levels = np.zeros((len(self.shift) + len(self.n_columns), len(coefficients)))
        for columns, places, climbs in self._groups():
            added = coefficients[:, columns].T
            levels[places] = np.cumsum(added, axis=0) if climbs else added
        return levels

    def _column_sums(self, at_places: FloatArray) -> FloatArray:
        """Sums over the rows where a column is one, of shape (k, S), from sums at each place, of shape (k, S + q)."""
        sums = np.empty((len(at_places), len(self.shift)))
        for columns, places, climbs in self._groups():
            at_group = at_places[:, places]
            sums[:, columns] = np.cumsum(at_group[:, ::-1], axis=1)[:, ::-1] if climbs else at_group
        return sums

    def _products_of_steps(self, places: IntArray, weights: FloatArray) -> FloatArray:
        """Weighted products of the columns of groups: cross-tabulations of places, cumulated along both axes."""
        columns, sizes = np.ascontiguousarray(places.T), (self.n_columns + 1).tolist()
        where = [slice(start, start + n) for start, n in zip(self._starts.tolist(), sizes, strict=True)]
        tables = np.zeros((self._is_at.shape[1],) * 2)
        for i, place in enumerate(columns):
            tables[where[i], where[i]] = np.diag(np.bincount(place, weights, sizes[i]))
        at_places = tables.diagonal().copy()
        for i, j in combinations(range(len(columns)), 2):
            together = np.bincount(columns[i] * sizes[j] + columns[j], weights, sizes[i] * sizes[j])
            tables[where[i], where[j]] = together.reshape(sizes[i], sizes[j])
            tables[where[j], where[i]] = tables[where[i], where[j]].T
        sums = np.outer(self._column_sums(at_places[np.newaxis])[0], self.shift)
        products = self._column_sums(self._column_sums(tables).T)
        products += weights.sum() * np.outer(self.shift, self.shift) - sums - sums.T
        return np.asarray(products * np.outer(self.scale, self.scale))
