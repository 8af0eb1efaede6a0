"""Algorithm 1 of the paper: separate, carve each side, remove what was carved, repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from sepc._typing import FloatArray
from sepc.kernels.enclose import Enclosure
from sepc.partition.carve import Carved, carve
from sepc.partition.separate import Disjoint, Inseparable, ParallelCut, Settings, can_enclose, separate
from sepc.points.in_memory import gather_if_small
from sepc.points.protocol import PointSet
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.shapes.halfspaces import HalfSpaces

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
    """An ellipsoid of one class, as the sequence found it.

    Attributes
    ----------
    enclosure : Enclosure
    is_pos : bool
        Whether it belongs to the positive class.
    n_own, n_other : int
        Rows it was built around, and remaining rows of the other class inside it when it was found (-1: not counted).
    cuts : tuple of ParallelCut
        The cuts that carved it out; empty if it encloses all rows of the class that were left.
    n_round : int
        The round it was found in, from 1.
    is_terminal : bool
        Whether it encloses the rows left at the end, and may therefore be impure.
    """

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
    """Two classes cut into ellipsoids, and the history of the cuts.

    Attributes
    ----------
    ellipsoids : tuple of FoundEllipsoid
        In the order in which they were found, terminal ones last.
    isolated_pos, isolated_neg : (n, d) arrays
        Rows from which no ellipsoid could be built.
    rounds : tuple of Round
    stop : Stop
    """

    ellipsoids: tuple[FoundEllipsoid, ...]
    isolated_pos: FloatArray
    isolated_neg: FloatArray
    rounds: tuple[Round, ...]
    stop: Stop


@dataclass(frozen=True, eq=False)
class _Side:
    """One class during the sequence: rows left, rows isolated so far, and ellipsoids found in the last step."""

    is_pos: bool
    left: PointSet
    isolated: FloatArray
    news: tuple[FoundEllipsoid, ...] = ()


def partition(
    pos_rows: PointSet,
    neg_rows: PointSet,
    settings: Settings,
    on_round: Callable[[Round], None] | None = None,
) -> Partition:
    """Cut two classes into nearly pure ellipsoids; `on_round` is called after every round.

    Always terminates: the first round that removes no row is the last (row 8 of docs/explanation/differences.md).
    """
    none = np.empty((0, pos_rows.n_features))
    pos = _Side(True, gather_if_small(pos_rows, settings.local_rows), none)
    neg = _Side(False, gather_if_small(neg_rows, settings.local_rows), none)
    rounds: list[Round] = []
    ellipsoids: list[FoundEllipsoid] = []
    stop = None
    while (stop := stop or _reason_to_stop(pos, neg, len(rounds), len(ellipsoids), settings)) is None:
        before = Round(pos.left.n_points, neg.left.n_points)
        pos, neg, stop = _run_round(pos, neg, len(rounds) + 1, settings)
        ellipsoids += [*pos.news, *neg.news]
        rounds.append(Round(pos.left.n_points, neg.left.n_points))
        if on_round is not None:
            on_round(rounds[-1])
        if stop is None and rounds[-1] == before:
            stop = Stop.NO_PROGRESS
    pos, neg = _finish(pos, len(rounds), settings), _finish(neg, len(rounds), settings)
    return Partition((*ellipsoids, *pos.news, *neg.news), pos.isolated, neg.isolated, tuple(rounds), stop)


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
        return replace(side, left=gather_if_small(left, settings.local_rows), news=(ellipsoid,))
    if carved.isolated is not None:
        _, left = side.left.split(carved.region)
        isolated = np.concatenate([side.isolated, carved.isolated.gather(settings.local_rows)])
        return replace(side, left=gather_if_small(left, settings.local_rows), isolated=isolated, news=())
    return replace(side, news=())


def _finish(side: _Side, n_round: int, settings: Settings) -> _Side:
    """Enclose the remaining rows of a class, or isolate them if too few (row 9 of docs/explanation/differences.md)."""
    left = side.left
    if left.n_points == 0:
        return replace(side, news=())
    if left.n_points < left.n_features:
        rows = left.gather(settings.local_rows)
        return replace(side, left=_empty_like(left), isolated=np.concatenate([side.isolated, rows]), news=())
    ellipsoid = FoundEllipsoid(
        settings.enclose(left), side.is_pos, left.n_points, NOT_COUNTED, (), n_round, is_terminal=True
    )
    return replace(side, left=_empty_like(left), news=(ellipsoid,))


def _empty_like(points: PointSet) -> PointSet:
    everywhere = HalfSpaces(np.empty((0, points.n_features)), np.empty(0))
    return points.split(everywhere)[1]
