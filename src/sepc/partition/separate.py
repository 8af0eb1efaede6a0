"""Algorithm 2 of the paper: whether two classes are already separated and, if not, where to cut between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sepc._typing import FloatArray
from sepc.kernels.enclose import LOCAL_ROWS, Enclosure, enclose_points, enclose_unless
from sepc.kernels.hulls import nearest_points
from sepc.points.protocol import PointSet
from sepc.points.reductions import CountInside
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.shapes.halfspaces import HalfSpaces
from sepc.shapes.overlap import are_disjoint


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of the algorithms in this package.

    Parameters
    ----------
    n_impure : int or float
        Rows of the other label that an ellipsoid may contain: a number, or a share of its own rows.
    published : bool
        Follow the paper's algorithms to the letter, even where its text suggests otherwise (rows 4 and 7 of
        docs/explanation/differences.md).
    max_rounds, max_ellipsoids : int
        The numbers of rounds and of ellipsoids at which to stop.
    unit : (d,) array
        The standard deviation of each feature in the training set, the unit for the thickness of flat sets.
    tol : float
        The duality gap at which an ellipsoid counts as solved.
    local_rows : int
        The largest number of rows to load into this process.
    is_one_sided : bool
        Whether only the positive class is cut into pieces, whose purity is judged against the whole negative class.
    """

    n_impure: int | float
    published: bool
    max_rounds: int
    max_ellipsoids: int
    unit: FloatArray
    tol: float = 1e-10
    local_rows: int = LOCAL_ROWS
    is_one_sided: bool = False

    def n_allowed(self, n_own: int) -> int:
        """Rows of the other label that an ellipsoid around `n_own` rows may contain."""
        return int(self.n_impure * n_own) if isinstance(self.n_impure, float) else self.n_impure

    def for_share(self, share: float) -> Settings:
        """The settings for a sample of this share of the rows: an absolute `n_impure` shrinks in proportion."""
        if isinstance(self.n_impure, float):
            return self
        return replace(self, n_impure=round(self.n_impure * share))

    def enclose(self, points: PointSet) -> Enclosure:
        """The smallest ellipsoid around `points`, with these settings."""
        return enclose_points(points, tol=self.tol, local_rows=self.local_rows, unit=self.unit)

    def enclose_few(self, points: PointSet, other: PointSet, n_most: int) -> Enclosure | None:
        """The smallest ellipsoid around `points`, or None.

        Stops early and returns None if the ellipsoid is certain to contain more than `n_most` rows of `other`. This is
        not always found out, and never if `other` is large.
        """
        if other.n_points > self.local_rows:
            return self.enclose(points)

        def is_refused(inner: Ellipsoid) -> bool:
            return n_inside(other, inner) > n_most

        return enclose_unless(points, is_refused, tol=self.tol, local_rows=self.local_rows, unit=self.unit)


@dataclass(frozen=True, eq=False)
class Disjoint:
    """The ellipsoids of the two classes have no point in common, so each class is one piece."""

    pos: Enclosure
    neg: Enclosure


@dataclass(frozen=True, eq=False)
class ParallelCut:
    """Two parallel hyperplanes through the nearest points of two classes; rows beyond their own are separated.

    Attributes
    ----------
    normal : (d,) array
        Unit vector towards the own class.
    own_offset, other_offset : float
        ``x @ normal >= own_offset`` is the own side, ``x @ normal <= other_offset`` the other one.
    through_means : bool
        Whether the hulls meet, in which case the hyperplanes go through the class means instead.
    """

    normal: FloatArray
    own_offset: float
    other_offset: float
    through_means: bool

    @property
    def own_side(self) -> HalfSpaces:
        """The half-space in which rows of the class itself are kept."""
        return HalfSpaces(self.normal[None, :], np.array([self.own_offset]))

    def reverse(self) -> ParallelCut:
        """The same cut seen from the other class."""
        return ParallelCut(-self.normal, -self.other_offset, -self.own_offset, self.through_means)


@dataclass(frozen=True)
class Inseparable:
    """There is no meaningful cut: the class means coincide or, with `Settings.published`, the hulls meet."""


Separation: TypeAlias = Disjoint | ParallelCut | Inseparable


def can_enclose(points: PointSet) -> bool:
    """Whether there are more rows than features, the paper's independence-dimension inequality."""
    return points.n_points > points.n_features


def separate(pos: PointSet, neg: PointSet, settings: Settings) -> Separation:
    """Find out whether the ellipsoids of two classes are disjoint and, if not, where to cut between the classes.

    Disjoint ellipsoids imply disjoint hulls, and only this implication is used (row 5 of
    docs/explanation/differences.md). Where hulls meet, so do the ellipsoids, which then need not be computed.
    """
    cut = find_cut(pos, neg, settings)
    if isinstance(cut, Inseparable) or cut.through_means:
        return cut
    own = settings.enclose_few(pos, neg, 0)
    if own is None:
        return cut
    other = settings.enclose(neg)
    return Disjoint(own, other) if are_disjoint(own.ellipsoid, other.ellipsoid) else cut


def n_inside(points: PointSet, ellipsoid: Ellipsoid) -> int:
    """How many rows lie in an ellipsoid."""
    return int(points.reduce(CountInside((ellipsoid,)))[0])


def find_cut(own: PointSet, other: PointSet, settings: Settings) -> ParallelCut | Inseparable:
    """Cut through the nearest points of the reduced hulls or, if these meet, through the class means.

    The paper does not say what to do if hulls meet (row 4 of docs/explanation/differences.md): with
    `settings.published`, the classes are then inseparable.
    """
    nearest = nearest_points(own, other, local_rows=settings.local_rows)
    if nearest.means_coincide or (nearest.hulls_meet and settings.published):
        return Inseparable()
    if nearest.hulls_meet:
        return _cut_through(nearest.mean_pos, nearest.mean_neg, through_means=True)
    return _cut_through(nearest.near_pos, nearest.near_neg, through_means=False)


def _cut_through(near_own: FloatArray, near_other: FloatArray, through_means: bool) -> ParallelCut:
    difference = near_own - near_other
    normal = difference / np.linalg.norm(difference)
    return ParallelCut(normal, float(near_own @ normal), float(near_other @ normal), through_means)
