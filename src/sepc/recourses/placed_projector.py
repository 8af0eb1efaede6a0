"""Projections onto ellipsoids of a model with standalone features, which ellipsoids have no bounds in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.kernels.project import HalfSpace, Projection, Projector
from sepc.model.sep_model import SEPModel


@dataclass(frozen=True, eq=False)
class PlacedProjector:
    """Projects points of all features onto an ellipsoid of some, within a box of all.

    Attributes
    ----------
    inside : Projector
        Of the features that ellipsoids are made of.
    placed : (g,) array of int
        The positions of these features.
    start, low, high, prices : (d,) arrays
        The row, the box, and the cost of each feature per unit.
    """

    inside: Projector
    placed: IntArray
    start: FloatArray
    low: FloatArray
    high: FloatArray
    prices: FloatArray

    def project(self, point: FloatArray) -> Projection:
        """The nearest point of the ellipsoid within the box; standalone features move only to reach the box."""
        found = self.inside.project(point[self.placed])
        nearest = np.clip(point, self.low, self.high)
        paid = (self.prices * (nearest - point)) ** 2
        paid[self.placed] = 0.0
        nearest[self.placed] = found.point
        beside, proof = float(paid.sum()), spread_out(found.proof, self.placed, len(point))
        return Projection(nearest, found.squared + beside, proof, found.bound + beside)

    def inner(self) -> FloatArray:
        """A point of the box that lies deep in the ellipsoid, with the standalone features of the row."""
        inner = np.clip(self.start, self.low, self.high)
        inner[self.placed] = self.inside.inner()
        return inner


def spread_out(proof: HalfSpace, placed: IntArray, n_features: int) -> HalfSpace:
    """A half-space of some features as one of all features."""
    normal, center = np.zeros((2, n_features))
    normal[placed], center[placed] = proof.normal, proof.center
    return HalfSpace(normal, center, proof.multiplier)


def over_all_features(model: SEPModel, center: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The center and the root of an ellipsoid as a cylinder in the space of all features."""
    if model.alone is None:
        return center, root
    n_features = len(model.shift)
    whole_center, whole_root = np.zeros(n_features), np.zeros((len(root), n_features))
    whole_center[model.placed], whole_root[:, model.placed] = center, root
    return whole_center, whole_root
