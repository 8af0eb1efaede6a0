"""Standalone solvers and shapes: ellipsoids, nearest points of hulls, logistic regression."""

from sepc.kernels.enclose import Enclosure
from sepc.kernels.hulls import NearestPoints, nearest_points
from sepc.kernels.softmax import Softmax, fit_softmax
from sepc.shapes.ellipsoid import Ellipsoid, are_disjoint, overlap_ratio

__all__ = [
    "Ellipsoid",
    "Enclosure",
    "NearestPoints",
    "Softmax",
    "are_disjoint",
    "fit_softmax",
    "nearest_points",
    "overlap_ratio",
]
