"""Leases: a reader takes a case that no one else gets, until it is answered, given back, or its time is over.

A case whose values are erased is taken out of review.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, exists, func, insert, select, update

from sepc_desk.reviewing.states import (
    UNDER_REVIEW,
    CaseState,
    Ending,
    Evidence,
    Move,
    Purpose,
    ReadingState,
    lock_cases,
    move_cases,
    move_readings,
)
from sepc_desk.reviewing.transactions import seconds
from sepc_desk.schema import answers, cases, leases, readings


@dataclass(frozen=True)
class Reader:
    """Who takes cases.

    Attributes
    ----------
    caller : str
    sees_labels : bool
        Whether the reader can ask the model or read the log in other ways, so that no label can be hidden. Such a
        reader gets no blind case.
    """

    caller: str
    sees_labels: bool = False


def held(connection: Connection, reader: Reader, model: str, at: int) -> Row[Any] | None:
    """The reading that a reader has taken and not answered yet; the oldest, if there are several after an undo."""
    own = select(readings).where(
        readings.c.reader == reader.caller,
        readings.c.model == model,
        readings.c.state == ReadingState.TAKEN,
        readings.c.until > at,
    )
    return connection.execute(own.order_by(readings.c.taken_at).limit(1)).first()


def take(connection: Connection, reader: Reader, model: str, at: int, lease_seconds: float) -> Row[Any] | None:
    """Take the case that has waited longest; None if none waits for this reader."""
    end_lost(connection, at)
    other = readings.alias()
    seen = exists().where(other.c.case_id == readings.c.case_id, other.c.reader == reader.caller)
    returned = exists().where(
        leases.c.case_id == readings.c.case_id,
        leases.c.reader == reader.caller,
        leases.c.ending == Ending.RETURNED,
    )
    mine = [readings.c.model == model, readings.c.state == ReadingState.OPEN, ~seen, ~returned]
    if reader.sees_labels:
        mine.append(readings.c.is_blind.is_(False))
    # Cases that another process is moving are passed over; SQLite has no such thing, and one writer at a time.
    first = (
        select(readings.c.id)
        .join(cases, cases.c.id == readings.c.case_id)
        .where(and_(*mine), cases.c.state.in_(UNDER_REVIEW))
        .order_by(readings.c.entered_at, readings.c.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=[readings, cases])
    )
    found = connection.execute(first).scalar()
    return None if found is None else grant(connection, Move.TAKE, reader, found, at, lease_seconds)


def grant(
    connection: Connection, move: Move, reader: Reader, reading: int, at: int, lease_seconds: float
) -> Row[Any] | None:
    """Give a reading of a locked case to a reader, with a new lease; None if it cannot make this move."""
    # The lease before may have ended later than `at`: its transaction read the clock later, and was quicker.
    ended = connection.execute(select(func.max(leases.c.ended_at)).where(leases.c.reading == reading)).scalar()
    start = at if ended is None else max(at, ended)
    token, until = secrets.token_hex(16), start + seconds(lease_seconds)
    given = {"reader": reader.caller, "lease": token, "taken_at": start, "until": until}
    moved = move_readings(connection, move, readings.c.id == reading, **given)
    if not moved:
        return None
    lease = {"token": token, "reading": reading, "case_id": moved[0].case_id, "reader": reader.caller}
    connection.execute(insert(leases).values(**lease, taken_at=start, until=until))
    return moved[0]


def give_back(connection: Connection, reader: Reader, reading: int, lease: str, at: int) -> bool:
    """Return a case to the queue; it does not come to this reader again. For a certificate it counts as lost."""
    own = (readings.c.id == reading, readings.c.lease == lease, readings.c.reader == reader.caller)
    return _end(connection, at, Ending.RETURNED, *own) > 0


def end_lost(connection: Connection, at: int) -> int:
    """Return all cases whose lease is over to the queue; returns how many there were."""
    over = (
        select(readings.c.id)
        .join(cases, cases.c.id == readings.c.case_id)
        .where(readings.c.state == ReadingState.TAKEN, readings.c.until <= at)
    )
    ids = connection.execute(over.with_for_update(skip_locked=True, of=[readings, cases])).scalars().all()
    return _end(connection, at, Ending.LOST, readings.c.id.in_(ids)) if ids else 0


def case_of(reading: int) -> Any:
    """The id of the case of a reading, as a part of a query."""
    return select(readings.c.case_id).where(readings.c.id == reading).scalar_subquery()


def _end(connection: Connection, at: int, ending: Ending, *which: Any) -> int:
    """Open readings again. If a case was drawn for a certificate, its label is an error from now on, for good."""
    free = {"reader": None, "lease": None, "taken_at": None, "until": None}
    moved = move_readings(connection, Move.LOSE, *which, **free)
    is_theirs = leases.c.reading.in_([own.id for own in moved])
    connection.execute(update(leases).where(is_theirs, leases.c.ended_at.is_(None)).values(ended_at=at, ending=ending))
    theirs = cases.c.id.in_([own.case_id for own in moved])
    count_as_error(connection, Evidence.LOST, theirs, cases.c.state == CaseState.OPEN)
    # A planted case is for one reader only.
    gone = select(cases.c.id).where(theirs, cases.c.purpose == Purpose.PLANTED)
    move_readings(connection, Move.WITHDRAW, readings.c.case_id.in_(gone))
    return len(moved)


def count_as_error(connection: Connection, why: Evidence, *which: Any) -> None:
    """Let certificates count cases as errors of the model, unless something else was counted before."""
    drawn = (cases.c.purpose == Purpose.DRAWN, cases.c.evidence.is_(None))
    connection.execute(update(cases).where(*which, *drawn).values(evidence=why))


def withdraw(connection: Connection, at: int, *which: Any) -> None:
    """End the review of cases that fulfil these conditions, for good; what was drawn counts as an error.

    Comments go, and so do answers that were not final yet.
    """
    theirs = select(cases.c.id).where(*which)
    lock_cases(connection, *which)
    connection.execute(update(answers).where(answers.c.case_id.in_(theirs)).values(comment=None))
    moved = move_readings(connection, Move.WITHDRAW, readings.c.case_id.in_(theirs))
    taken_back = (answers.c.reading.in_([own.id for own in moved]), answers.c.undone_at.is_(None))
    connection.execute(update(answers).where(*taken_back).values(undone_at=at))
    over = {"ended_at": at, "ending": Ending.WITHDRAWN}
    connection.execute(update(leases).where(leases.c.case_id.in_(theirs), leases.c.ended_at.is_(None)).values(**over))
    count_as_error(connection, Evidence.ERASED, cases.c.id.in_(theirs), cases.c.state == CaseState.OPEN)
    move_cases(connection, Move.ERASE, cases.c.id.in_(theirs))
