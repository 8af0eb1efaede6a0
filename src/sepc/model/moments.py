"""Mean and spread of a model's training rows, estimated from its ellipsoids and isolated rows.

Rows spread evenly in an ellipsoid have the covariance ``inverse_root @ inverse_root.T / (d + 2)``. The spread of the
ellipsoids themselves is added to it. Everything is in the model's standardised coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sepc._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from sepc.model.sep_model import SEPModel

# Numbers in memory at a time: 8 MB.
BLOCK_ENTRIES = 2**20

Squares = TypeVar("Squares", float, FloatArray)


def even_variance(squares: Squares, n_features: int) -> Squares:
    """The variance of rows spread evenly in an ellipsoid, given the squares of its semi-axes (or sums of these).

    Examples
    --------
    >>> even_variance(4.0, n_features=2)  # in a circle of radius 2, along any direction
    1.0
    """
    return squares / (n_features + 2)


def mean_square_distance(model: SEPModel) -> float:
    """The mean squared distance of the training rows from their mean."""
    places, held, mean = _places(model)
    squared = np.sum((places - mean) ** 2, axis=1)
    d = places.shape[1]
    step = max(1, BLOCK_ENTRIES // d**2)
    for start in range(0, model.n_ellipsoids, step):
        axes = np.linalg.inv(model.roots[start : start + step])
        squared[start : start + len(axes)] += even_variance(np.sum(axes**2, axis=(1, 2)), d)
    return float(np.average(squared, weights=held))


def mean_and_deviation(model: SEPModel) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of every feature, each of shape (d,)."""
    places, held, mean = _places(model)
    squared = (places - mean) ** 2
    in_ellipsoids = np.sum(np.linalg.inv(model.roots) ** 2, axis=2)
    squared[: model.n_ellipsoids] += even_variance(in_ellipsoids, places.shape[1])
    return mean, np.sqrt(np.average(squared, axis=0, weights=held))


def mean_and_covariance(model: SEPModel) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the features, of shapes (d,) and (d, d).

    A place without rows, as after a repair, counts as one row, since it is still drawn.
    """
    places = np.concatenate([model.centers, model.isolated])
    held = np.maximum(model.place_rows, 1).astype(np.float64)
    held /= held.sum()
    mean = held @ places
    moved = places - mean
    covariance = (held[:, None] * moved).T @ moved
    for weight, root in zip(held, model.roots, strict=False):
        axes = np.linalg.inv(root)
        covariance += even_variance(weight, len(mean)) * (axes @ axes.T)
    return mean, covariance


def _places(model: SEPModel) -> tuple[FloatArray, IntArray, FloatArray]:
    """Centers and isolated rows, how many training rows each holds, and the mean of all these rows."""
    places, held = np.concatenate([model.centers, model.isolated]), model.place_rows
    return places, held, np.average(places, axis=0, weights=held)
