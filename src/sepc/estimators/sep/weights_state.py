"""`Weights` in a model file."""

from __future__ import annotations

import numpy as np

from sepc.io.reader import Reader
from sepc.io.writer import Node, Writer
from sepc.model.membership import FARTHEST
from sepc.model.weights import Weights

ARRAYS = (
    *("offsets", "lines", "n_knots", "knots", "levels", "near", "deep", "ellipsoid_means"),
    *("isolated", "isolated_mean", "category_features", "n_categories", "category_levels"),
)

# Arrays that are no weights.
COUNTS = ("n_knots", "knots", "category_features", "n_categories")

# Products and sums of numbers up to this do not overflow; sepc never writes more.
MOST_WEIGHT = 1e100

# A narrower Gaussian would cover nothing but its own row.
NARROWEST = 1e-100


def weights_to_node(weights: Weights, writer: Writer) -> Node:
    """Write weights."""
    writer.put(**{name: getattr(weights, name) for name in ARRAYS})
    return {"width": weights.width}


def weights_from(reader: Reader, n_classes: int, d: int, n_ellipsoids: int, n_isolated: int) -> Weights:
    """Read the weights of a model of these sizes."""
    knots = reader.floats("knots", None)
    n_knots = reader.ints("n_knots", d, below=len(knots) + 1)
    if int(n_knots.sum()) != len(knots):
        raise reader.wrong("has a number of knots that does not match its features")
    category_levels = reader.floats("category_levels", None, n_classes)
    category_features = reader.ints("category_features", None, below=d)
    n_categories = reader.ints("n_categories", len(category_features), low=1, below=len(category_levels) + 1)
    if int(n_categories.sum()) != len(category_levels) or (np.diff(category_features) <= 0).any():
        raise reader.wrong("has levels that do not match its categories")
    weights = Weights(
        offsets=reader.floats("offsets", n_classes),
        lines=reader.floats("lines", d, n_classes),
        n_knots=n_knots,
        knots=knots,
        levels=reader.floats("levels", len(knots) + d, n_classes),
        near=reader.floats("near", n_ellipsoids, n_classes),
        deep=reader.floats("deep", n_ellipsoids, n_classes),
        ellipsoid_means=reader.floats("ellipsoid_means", n_ellipsoids, n_classes),
        isolated=reader.floats("isolated", n_isolated, n_classes),
        isolated_mean=reader.floats("isolated_mean", n_classes),
        width=reader.number("width", NARROWEST),
        category_features=category_features,
        n_categories=n_categories,
        category_levels=category_levels,
    )
    _check(weights, reader)
    return weights


def _check(weights: Weights, reader: Reader) -> None:
    first = np.zeros(len(weights.knots), dtype=bool)
    first[np.cumsum(weights.n_knots[:-1])[weights.n_knots[1:] > 0]] = True
    if (np.diff(weights.knots) <= 0.0)[~first[1:]].any() or np.abs(weights.knots).max(initial=0.0) > FARTHEST:
        raise reader.wrong("has knots that do not ascend within a feature, or lie farther away than any row")
    sizes = [np.abs(getattr(weights, name)).max(initial=0.0) for name in ARRAYS if name not in COUNTS]
    if max(sizes) > MOST_WEIGHT:
        raise reader.wrong("has impossibly large weights")
