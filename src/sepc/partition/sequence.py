"""Algorithms 1 and 2 of the paper: separate, carve each side, remove what was carved, repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from sepc._typing import FloatArray
from sepc.kernels.enclose import Enclosure, enclose_points, enclose_unless
from sepc.kernels.hulls import nearest_of
from sepc.points.in_memory import ArrayPoints
from sepc.shapes.ellipsoid import Ellipsoid, HalfSpaces, are_disjoint


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings of the algorithms in this package."""

    n_impure: int | float
    published: bool
    max_rounds: int
    max_ellipsoids: int
    unit: FloatArray
    tol: float = 1e-10
    cut_tol: float = 0.0
    is_one_sided: bool = False

    def n_allowed(self, n_own: int) -> int:
        """Rows of the other label that an ellipsoid around `n_own` rows may contain."""
        return int(self.n_impure * n_own) if isinstance(self.n_impure, float) else self.n_impure

    def for_share(self, share: float) -> Settings:
        """The settings for a sample of this share of the rows: an absolute `n_impure` shrinks in proportion."""
        if isinstance(self.n_impure, float):
            return self
        return replace(self, n_impure=round(self.n_impure * share))

    def enclose(self, points: ArrayPoints) -> Enclosure:
        """The smallest ellipsoid around `points`, with these settings."""
        return enclose_points(points, tol=self.tol, unit=self.unit)

    def enclose_few(self, points: ArrayPoints, other: ArrayPoints, n_most: int) -> Enclosure | None:
        """The smallest ellipsoid around `points`, or None.

        Stops early and returns None if the ellipsoid is certain to contain more than `n_most` rows of `other`; this is
        not always found out.
        """

        def is_refused(inner: Ellipsoid) -> bool:
            return n_inside(other, inner) > n_most

        return enclose_unless(points, is_refused, tol=self.tol, unit=self.unit)


@dataclass(frozen=True, eq=False)
class Disjoint:
    """The ellipsoids of the two classes have no point in common, so each class is one piece."""

    pos: Enclosure
    neg: Enclosure


@dataclass(frozen=True, eq=False)
class ParallelCut:
    """Two parallel hyperplanes through the nearest points of two classes; rows beyond their own are separated."""

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


def can_enclose(points: ArrayPoints) -> bool:
    """Whether there are more rows than features, the paper's independence-dimension inequality."""
    return points.n_points > points.n_features


def separate(pos: ArrayPoints, neg: ArrayPoints, settings: Settings) -> Separation:
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


def n_inside(points: ArrayPoints, ellipsoid: Ellipsoid) -> int:
    """How many rows lie in an ellipsoid."""
    return int(np.count_nonzero(ellipsoid.contains(points.rows)))


def find_cut(own: ArrayPoints, other: ArrayPoints, settings: Settings) -> ParallelCut | Inseparable:
    """Cut through the nearest points of the reduced hulls or, if these meet, through the class means.

    The paper does not say what to do if hulls meet (row 4 of docs/explanation/differences.md): with
    `settings.published`, the classes are then inseparable.
    """
    nearest = nearest_of(own, other, tol=settings.cut_tol)
    if nearest.means_coincide or (nearest.hulls_meet and settings.published):
        return Inseparable()
    if nearest.hulls_meet:
        return _cut_through(nearest.mean_pos, nearest.mean_neg, through_means=True)
    return _cut_through(nearest.near_pos, nearest.near_neg, through_means=False)


def _cut_through(near_own: FloatArray, near_other: FloatArray, through_means: bool) -> ParallelCut:
    difference = near_own - near_other
    normal = difference / np.linalg.norm(difference)
    return ParallelCut(normal, float(near_own @ normal), float(near_other @ normal), through_means)


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of one class and the smallest ellipsoid around them, which contains `n_other` rows of the other class."""

    n_own: int
    n_other: int
    enclosure: Enclosure


@dataclass(frozen=True, eq=False)
class Carved:
    """The result of carving one side."""

    cuts: tuple[ParallelCut, ...]
    piece: Piece | None = None
    isolated: ArrayPoints | None = None

    @property
    def region(self) -> HalfSpaces:
        """The intersection of the own sides of all cuts."""
        region = self.cuts[0].own_side
        for cut in self.cuts[1:]:
            region = region.and_also(cut.own_side)
        return region


def carve(own: ArrayPoints, other: ArrayPoints, first: ParallelCut, settings: Settings) -> Carved:
    """Cut `own` back, starting with the cut `first`, until its ellipsoid contains few enough rows of `other`."""
    cuts = [first]
    own, _ = own.split(first.own_side)
    while can_enclose(own):
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


# Rows of the other class in a terminal ellipsoid are not counted: it is kept whatever it contains.
NOT_COUNTED = -1


class Stop(StrEnum):
    """Why a sequence ended."""

    SEPARATED = "the rest of the two classes lay in disjoint ellipsoids"
    TOO_FEW = "a class had no more rows than features left"
    INSEPARABLE = "no cut between the rest of the two classes was found"
    NO_PROGRESS = "a round removed no row"
    MAX_ROUNDS = "max_rounds was reached"
    MAX_ELLIPSOIDS = "max_ellipsoids was reached"


@dataclass(frozen=True, eq=False)
class FoundEllipsoid:
    """An ellipsoid of one class, as the sequence found it."""

    enclosure: Enclosure
    is_pos: bool
    n_own: int
    n_other: int
    cuts: tuple[ParallelCut, ...]
    n_round: int
    is_terminal: bool = False

    @property
    def ellipsoid(self) -> Ellipsoid:
        """The ellipsoid itself."""
        return self.enclosure.ellipsoid


@dataclass(frozen=True)
class Round:
    """Rows of each class left after a round."""

    n_pos: int
    n_neg: int


@dataclass(frozen=True, eq=False)
class Partition:
    """Two classes cut into ellipsoids, and the history of the cuts."""

    ellipsoids: tuple[FoundEllipsoid, ...]
    isolated_pos: FloatArray
    isolated_neg: FloatArray
    rounds: tuple[Round, ...]
    stop: Stop


@dataclass(frozen=True, eq=False)
class _Side:
    """One class during the sequence: rows left, rows isolated so far, and ellipsoids found in the last step."""

    is_pos: bool
    left: ArrayPoints
    isolated: FloatArray
    news: tuple[FoundEllipsoid, ...] = ()


@dataclass(frozen=True, eq=False)
class Growth:
    """A sequence that may go on: the rows left on both sides, the ellipsoids so far, and why it stopped."""

    pos: _Side
    neg: _Side
    ellipsoids: tuple[FoundEllipsoid, ...] = ()
    rounds: tuple[Round, ...] = ()
    stop: Stop = Stop.MAX_ELLIPSOIDS

    @classmethod
    def start(cls, pos_rows: ArrayPoints, neg_rows: ArrayPoints) -> Growth:
        """Before the first round."""
        none = np.empty((0, pos_rows.n_features))
        return cls(_Side(True, pos_rows, none), _Side(False, neg_rows, none))

    @property
    def may_go_on(self) -> bool:
        """Whether only the number of ellipsoids stopped it."""
        return self.stop is Stop.MAX_ELLIPSOIDS

    def partition(self, settings: Settings) -> Partition:
        """The partition if it ends here, with the rows left enclosed or isolated."""
        pos, neg = (_finish(side, len(self.rounds), settings) for side in (self.pos, self.neg))
        ellipsoids = (*self.ellipsoids, *pos.news, *neg.news)
        return Partition(ellipsoids, pos.isolated, neg.isolated, self.rounds, self.stop)


def partition(
    pos_rows: ArrayPoints,
    neg_rows: ArrayPoints,
    settings: Settings,
    on_round: Callable[[Round], None] | None = None,
) -> Partition:
    """Cut two classes into nearly pure ellipsoids; `on_round` is called after every round."""
    return grow(Growth.start(pos_rows, neg_rows), settings, on_round).partition(settings)


def grow(growth: Growth, settings: Settings, on_round: Callable[[Round], None] | None = None) -> Growth:
    """Go on with a sequence until it has as many ellipsoids as `settings` allow; the same as in one go.

    Always terminates: the first round that removes no row is the last (row 8 of docs/explanation/differences.md).
    """
    if not growth.may_go_on:
        return growth
    pos, neg, rounds, ellipsoids = growth.pos, growth.neg, list(growth.rounds), list(growth.ellipsoids)
    stop: Stop | None = None
    while (stop := stop or _reason_to_stop(pos, neg, len(rounds), len(ellipsoids), settings)) is None:
        before = Round(pos.left.n_points, neg.left.n_points)
        pos, neg, stop = _run_round(pos, neg, len(rounds) + 1, settings)
        ellipsoids += [*pos.news, *neg.news]
        rounds.append(Round(pos.left.n_points, neg.left.n_points))
        if on_round is not None:
            on_round(rounds[-1])
        if stop is None and rounds[-1] == before:
            stop = Stop.NO_PROGRESS
    return Growth(pos, neg, tuple(ellipsoids), tuple(rounds), stop)


def _reason_to_stop(pos: _Side, neg: _Side, n_rounds: int, n_found: int, settings: Settings) -> Stop | None:
    if not (can_enclose(pos.left) and can_enclose(neg.left)):
        return Stop.TOO_FEW
    if n_rounds >= settings.max_rounds:
        return Stop.MAX_ROUNDS
    return Stop.MAX_ELLIPSOIDS if n_found >= settings.max_ellipsoids else None


def _run_round(pos: _Side, neg: _Side, n_round: int, settings: Settings) -> tuple[_Side, _Side, Stop | None]:
    """Separate the two classes, and carve each side against all remaining rows of the other."""
    apart = separate(pos.left, neg.left, settings)
    if isinstance(apart, Inseparable):
        return replace(pos, news=()), replace(neg, news=()), Stop.INSEPARABLE
    if isinstance(apart, Disjoint):
        return _take_whole(pos, apart.pos, n_round), _take_whole(neg, apart.neg, n_round), Stop.SEPARATED
    carved_pos = _remove_carved(pos, carve(pos.left, neg.left, apart, settings), n_round, settings)
    if settings.is_one_sided:
        return carved_pos, replace(neg, news=()), None
    return (
        carved_pos,
        _remove_carved(neg, carve(neg.left, pos.left, apart.reverse(), settings), n_round, settings),
        None,
    )


def _take_whole(side: _Side, enclosure: Enclosure, n_round: int) -> _Side:
    ellipsoid = FoundEllipsoid(enclosure, side.is_pos, side.left.n_points, 0, (), n_round)
    return replace(side, left=_empty_like(side.left), news=(ellipsoid,))


def _remove_carved(side: _Side, carved: Carved, n_round: int, settings: Settings) -> _Side:
    """Remove the carved piece (by default, all rows its ellipsoid covers) or the isolated rows from a class."""
    if carved.piece is not None:
        piece = carved.piece
        covered = carved.region if settings.published else piece.enclosure.ellipsoid
        _, left = side.left.split(covered)
        ellipsoid = FoundEllipsoid(piece.enclosure, side.is_pos, piece.n_own, piece.n_other, carved.cuts, n_round)
        return replace(side, left=left, news=(ellipsoid,))
    if carved.isolated is not None:
        _, left = side.left.split(carved.region)
        isolated = np.concatenate([side.isolated, carved.isolated.rows])
        return replace(side, left=left, isolated=isolated, news=())
    return replace(side, news=())


def _finish(side: _Side, n_round: int, settings: Settings) -> _Side:
    """Enclose the remaining rows of a class, or isolate them if too few (row 9 of docs/explanation/differences.md)."""
    left = side.left
    if left.n_points == 0:
        return replace(side, news=())
    if left.n_points < left.n_features:
        return replace(side, left=_empty_like(left), isolated=np.concatenate([side.isolated, left.rows]), news=())
    ellipsoid = FoundEllipsoid(
        settings.enclose(left), side.is_pos, left.n_points, NOT_COUNTED, (), n_round, is_terminal=True
    )
    return replace(side, left=_empty_like(left), news=(ellipsoid,))


def _empty_like(points: ArrayPoints) -> ArrayPoints:
    return ArrayPoints(points.rows[:0])
