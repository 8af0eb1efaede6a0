"""Mean, deviation and covariance of the features, estimated from the ellipsoids and isolated rows of a model."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray
from sepc.model.sep_model import SEPModel, even_variance, weighed_places


def mean_and_deviation(model: SEPModel) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of every standardised feature, each of shape (d,).

    They are estimated from ellipsoids and isolated rows; those of standalone features, from their quantiles.
    """
    places, held, mean = weighed_places(model)
    squared = (places - mean) ** 2
    in_ellipsoids = np.sum(np.linalg.inv(model.roots) ** 2, axis=2)
    squared[: model.n_ellipsoids] += even_variance(in_ellipsoids, places.shape[1])
    deviation = np.sqrt(np.average(squared, axis=0, weights=held))
    if model.alone is None:
        return mean, deviation
    deviations = np.ones(len(model.shift))
    if model.usual is not None:
        deviations = model.usual.overall.std(axis=1) / model.scale
    deviations[model.placed] = deviation
    return model.with_alone(mean[np.newaxis])[0], deviations


def mean_and_covariance(model: SEPModel) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the standardised features of ellipsoids, of shapes (g,) and (g, g).

    A place without rows, as after a repair, counts as one row, since it is still plotted.
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
