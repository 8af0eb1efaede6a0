"""Algorithm 1 of the paper, inner loops: cut one side back until its ellipsoid is pure enough."""

from __future__ import annotations

from dataclasses import dataclass

from sepc.kernels.enclose import Enclosure
from sepc.partition.separate import Inseparable, ParallelCut, Settings, can_enclose, find_cut, n_inside
from sepc.points.in_memory import gather_if_small
from sepc.points.protocol import PointSet
from sepc.shapes.halfspaces import HalfSpaces


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of one class and the smallest ellipsoid around them, which contains `n_other` rows of the other class."""

    n_own: int
    n_other: int
    enclosure: Enclosure


@dataclass(frozen=True, eq=False)
class Carved:
    """The result of carving one side.

    Attributes
    ----------
    cuts : tuple of ParallelCut
        All cuts, including the first; the remaining rows lie on the class's own side of each.
    piece : Piece or None
        The piece, if its ellipsoid is pure enough.
    isolated : PointSet or None
        The remaining rows, if too few are left for an ellipsoid. Both this and `piece` are None if no further cut
        removes a row.
    """

    cuts: tuple[ParallelCut, ...]
    piece: Piece | None = None
    isolated: PointSet | None = None

    @property
    def region(self) -> HalfSpaces:
        """The intersection of the own sides of all cuts."""
        region = self.cuts[0].own_side
        for cut in self.cuts[1:]:
            region = region.and_also(cut.own_side)
        return region


def carve(own: PointSet, other: PointSet, first: ParallelCut, settings: Settings) -> Carved:
    """Cut `own` back, starting with the cut `first`, until its ellipsoid contains few enough rows of `other`."""
    cuts = [first]
    own, _ = own.split(first.own_side)
    while can_enclose(own := gather_if_small(own, settings.local_rows)):
        n_allowed = settings.n_allowed(own.n_points)
        enclosure = settings.enclose_few(own, other, n_allowed)
        if enclosure is not None and (n_other := n_inside(other, enclosure.ellipsoid)) <= n_allowed:
            return Carved(tuple(cuts), piece=Piece(own.n_points, n_other, enclosure))
        cut = find_cut(own, other, settings)
        if isinstance(cut, Inseparable):
            return Carved(tuple(cuts))
        kept, removed = own.split(cut.own_side)
        if removed.n_points == 0:
            return Carved(tuple(cuts))
        cuts.append(cut)
        own = kept
    return Carved(tuple(cuts), isolated=own)
