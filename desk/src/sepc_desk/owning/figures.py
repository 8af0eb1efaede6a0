"""Figures of a model: what came, what was accepted, what was right among reviewed cases, and what waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, cast, func, select

from sepc_desk.entries import EntryKind
from sepc_desk.models import Model
from sepc_desk.reading import DAY, contexts_of
from sepc_desk.reviewing.oversight import Share
from sepc_desk.reviewing.states import CaseState, Purpose, ReadingState
from sepc_desk.schema import cases, entries, readings


@dataclass(frozen=True)
class DayCount:
    """Decisions of one day.

    Attributes
    ----------
    at : int
        When the day began, in microseconds since 1970 (UTC).
    n, n_accepted : int
    """

    at: int
    n: int
    n_accepted: int


@dataclass(frozen=True)
class ModelFigures:
    """Figures of a model in some time.

    Attributes
    ----------
    days : list of DayCount
        Decisions of all versions by day, the newest day first.
    version : DayCount
        Decisions of the live version in this time; `at` is the first of them.
    right_accepted : Share
        Accepted cases of the live version that were drawn at random, settled with a label, and how many of them have
        the label of the model.
    right_refused : Share
        The same for cases that the live version refused.
    n_waiting : int
        Readings that nobody has taken, of all versions.
    oldest : int or None
        How long the oldest of them has waited, in microseconds.
    n_taken : int
        Readings that someone holds.
    n_unsettled : int
        Refused cases of all versions that are not settled yet.
    """

    days: list[DayCount]
    version: DayCount
    right_accepted: Share
    right_refused: Share
    n_waiting: int
    oldest: int | None
    n_taken: int
    n_unsettled: int

    @property
    def n(self) -> int:
        """Decisions of all versions."""
        return sum(day.n for day in self.days)

    @property
    def accepted(self) -> Share:
        """How many of them were accepted."""
        return Share(sum(day.n_accepted for day in self.days), self.n)


def figures(connection: Connection, model: Model, first: int, last: int, at: int) -> ModelFigures:
    """Figures of a model from one time to another, both in microseconds since 1970; `at` is now."""
    e = entries.c
    decided = (e.kind == EntryKind.DECISION, e.model == model.name, e.at >= first, e.at < last)
    n_accepted = number_of(e.accepted)
    day = (e.at // DAY).label("day")
    by_day = select(day, func.count(), n_accepted).where(*decided).group_by(day).order_by(day.desc())
    theirs = contexts_of(connection, model.name, model.digest)
    of_version = select(func.min(e.at), func.count(), n_accepted).where(*decided, e.context.in_(theirs))
    began, n, n_own = connection.execute(of_version).one()
    waiting = (readings.c.model == model.name, readings.c.state == ReadingState.OPEN)
    n_waiting, since = connection.execute(select(func.count(), func.min(readings.c.entered_at)).where(*waiting)).one()
    taken = (readings.c.model == model.name, readings.c.state == ReadingState.TAKEN, readings.c.until > at)
    is_unsettled = cases.c.state.in_([CaseState.OPEN, CaseState.DISPUTED])
    unsettled = (cases.c.model == model.name, cases.c.purpose == Purpose.REFUSED, is_unsettled)
    return ModelFigures(
        days=[DayCount(int(own) * DAY, n_day, int(k)) for own, n_day, k in connection.execute(by_day)],
        version=DayCount(first if began is None else began, n, int(n_own)),
        right_accepted=_right(connection, model, Purpose.DRAWN, first, last),
        right_refused=_right(connection, model, Purpose.REFUSED, first, last),
        n_waiting=n_waiting,
        oldest=None if since is None else at - since,
        n_taken=connection.execute(select(func.count()).select_from(readings).where(*taken)).scalar_one(),
        n_unsettled=connection.execute(select(func.count()).select_from(cases).where(*unsettled)).scalar_one(),
    )


def _right(connection: Connection, model: Model, purpose: Purpose, first: int, last: int) -> Share:
    """Settled cases of a version that have the model's label."""
    c = cases.c
    settled = (c.model == model.name, c.digest == model.digest, c.purpose == purpose, c.state == CaseState.SETTLED)
    in_time = (c.label.is_not(None), c.decided_at >= first, c.decided_at < last)
    k, n = connection.execute(select(number_of(c.label == c.model_label), func.count()).where(*settled, *in_time)).one()
    return Share(int(k), n)


def number_of(condition: ColumnElement[Any]) -> ColumnElement[int]:
    """How many rows fulfil a condition."""
    return func.coalesce(func.sum(cast(condition, Integer)), 0)
