"""The members of a forest: one partition each, of some of the rows in a few directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimator.fitting import fit_model
from sepc.estimator.standard import Standardization
from sepc.partition.separate import Settings
from sepc.points.in_memory import ArrayPoints
from sepc.regions.causes import is_far
from sepc.regions.membership import squared_radii
from sepc.regions.model import SEPModel
from sepc.regions.rules import decide

# m (m + 3) / 2 rows fix an ellipsoid of m features; of the smallest class's rows, this share may.
FIXING_SHARE = 0.8

# A class of no more rows than this is not thinned out further.
SMALL_CLASS = 60

# Members are many, so each stays small and need not be exact.
TOL = 1e-3
MAX_ROUNDS = 200
MAX_ELLIPSOIDS = 60

# Rows of every class that each ellipsoid is taken to hold beyond its own: no density is nothing.
PRIOR_ROWS = 0.1

# No single member's density may say more than this for or against a class.
SUREST = 0.995

# Nearness fades with the squared radius beyond 1 at this rate.
FADING = 0.75

# Squared radii end here: sums with larger ones lose the digits that tell classes apart.
FARTHEST_SQUARED = 1e6


@dataclass(frozen=True, eq=False)
class Votes:
    """What one member says of rows.

    Attributes
    ----------
    probabilities : (n, C) array
        Of the classes.
    outside : (n,) bool array
        Whether a row is far from all rows that the member has seen.
    nearness : (n, K) array
        To each ellipsoid: 1 inside, fading outside.
    """

    probabilities: FloatArray
    outside: BoolArray
    nearness: FloatArray


@dataclass(frozen=True, eq=False)
class Member:
    """One partition of a forest.

    Attributes
    ----------
    model : SEPModel
        Of the rows in this member's directions.
    projection : (d, m) array
        From standardised features to the directions: orthonormal columns.
    """

    model: SEPModel
    projection: FloatArray

    @property
    def features(self) -> IntArray:
        """Positions of the features that the directions are made of."""
        return np.flatnonzero(self.loads)

    @cached_property
    def loads(self) -> FloatArray:
        """How much of the directions each feature makes up, of shape (d,); the sum is 1."""
        return np.asarray((self.projection**2).sum(axis=1) / self.projection.shape[1])

    def vote(self, standardized: FloatArray) -> Votes:
        """The mean of two probabilities: by the counts where a row lies, and by the densities of all ellipsoids."""
        rows = standardized @ self.projection
        decisions = decide(self.model, rows, 0.0)
        probabilities = decisions.probabilities
        squared = squared_radii(rows, self.model.centers, self.model.roots)
        outside = is_far(self.model, rows, squared)
        squared = np.minimum(squared, FARTHEST_SQUARED)
        if self.model.n_ellipsoids:
            probabilities = (probabilities + densities(self.model, squared)) / 2.0
        return Votes(probabilities, outside, np.exp(-FADING * np.maximum(squared - 1.0, 0.0)))


def densities(model: SEPModel, squared: FloatArray) -> FloatArray:
    """Probabilities of the classes if every ellipsoid were a Gaussian of its rows, of shape (n, C).

    A uniform ellipsoid of m dimensions has the covariance of its shape divided by m + 2; so has the Gaussian.
    `squared` are the rows' squared radii in the ellipsoids, of shape (n, K).
    """
    log_sizes = -np.linalg.slogdet(model.roots)[1]
    held = np.log(model.place_counts[: model.n_ellipsoids] + PRIOR_ROWS)
    heights = -0.5 * (model.centers.shape[1] + 2) * squared - log_sizes
    by_class = np.column_stack([logsumexp(heights + held[:, k], axis=1) for k in range(held.shape[1])])
    shares = np.exp(by_class - logsumexp(by_class, axis=1, keepdims=True))
    bounded = np.clip(shares, 1.0 - SUREST, SUREST)
    return np.asarray(bounded / bounded.sum(axis=1, keepdims=True))


def n_directions(n_features: int, max_features: int, n_smallest: int) -> int:
    """The most directions in which the smallest class still has rows enough for an ellipsoid, and at least two."""
    most = min(n_features, max_features)
    m = max(1, min(2, most))
    while m < most and (m + 1) * (m + 4) / 2 <= FIXING_SHARE * n_smallest:
        m += 1
    return m


def draw_projection(varying: BoolArray, m: int, turned: bool, rng: np.random.Generator) -> FloatArray:
    """Draw `m` of the varying features; or `turned`, `m` directions of a random rotation of twice as many features."""
    candidates = np.flatnonzero(varying)
    chosen = rng.choice(candidates, size=min(len(candidates), 2 * m if turned else m), replace=False)
    basis = np.eye(len(chosen))
    if turned:
        # Signs of the diagonal make the rotation uniform.
        basis, triangle = np.linalg.qr(rng.standard_normal(basis.shape))
        basis = basis * np.sign(np.diag(triangle))
    projection = np.zeros((len(varying), m))
    projection[chosen] = basis[:, :m]
    return projection


def draw_rows(which: IntArray, n_classes: int, max_rows: int, rng: np.random.Generator) -> BoolArray:
    """The rows that a bootstrap of every class holds, as a mask; so no member lacks a class.

    Where these would be more than `max_rows`, a sample of each class instead, but of no class fewer than `SMALL_CLASS`
    rows unless its bootstrap holds fewer.
    """
    drawn = np.zeros(len(which), dtype=bool)
    for k in range(n_classes):
        own = np.flatnonzero(which == k)
        held = np.unique(rng.choice(own, size=len(own)))
        n_most = max(SMALL_CLASS, round(max_rows * len(own) / len(which)))
        drawn[rng.permutation(held)[:n_most]] = True
    return drawn


def grow_member(
    standardized: FloatArray,
    which: IntArray,
    classes: NDArray[Any],
    n_impure: int | float,
    max_features: int,
    max_rows: int,
    turned: bool,
    seed: int,
) -> tuple[Member, BoolArray, FloatArray]:
    """Fit a member; also the rows it has not seen, as a mask, and its probabilities for them."""
    rng = np.random.default_rng(seed)
    varying = (standardized != standardized[0]).any(axis=0)
    if not varying.any():
        varying[:] = True
    drawn = draw_rows(which, len(classes), max_rows, rng)
    n_smallest = int(np.bincount(which[drawn], minlength=len(classes)).min())
    m = n_directions(int(varying.sum()), max_features, n_smallest)
    projection = draw_projection(varying, m, turned, rng)
    rows, own = standardized[drawn] @ projection, which[drawn]
    settings = Settings(
        n_impure,
        published=False,
        max_rounds=MAX_ROUNDS,
        max_ellipsoids=MAX_ELLIPSOIDS,
        unit=Standardization.of(ArrayPoints(rows)).scale,
        tol=TOL,
        is_patient=False,
        is_one_sided=len(classes) > 2,
    )
    model, _ = fit_model(
        [ArrayPoints(rows[own == k]) for k in range(len(classes))],
        classes,
        tuple(f"direction {j}" for j in range(m)),
        Standardization.none(m),
        settings,
        trust="evidence",
        fit_rows=None,
        seed=0,
        n_jobs=None,
        on_round=None,
    )
    member = Member(model, projection)
    unseen = ~drawn
    probabilities = member.vote(standardized[unseen]).probabilities if unseen.any() else np.empty((0, len(classes)))
    return member, unseen, probabilities
