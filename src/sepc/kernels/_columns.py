"""The columns of a linear model as one matrix, and the operations a solver needs on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray

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
