"""Leases: a reader takes a case that no one else gets, until it is answered, given back, or its time is over."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, exists, func, insert, select, update

from sepc_desk.reviewing.states import CaseState, Ending, Evidence, Purpose, ReadingState
from sepc_desk.reviewing.transactions import seconds
from sepc_desk.schema import cases, leases, readings


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
    # Rows that another process is taking are passed over; SQLite has no such thing, and one writer at a time.
    first = (
        select(readings.c.id)
        .where(and_(*mine))
        .order_by(readings.c.entered_at, readings.c.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=readings)
    )
    found = connection.execute(first).scalar()
    return None if found is None else grant(connection, reader, found, at, lease_seconds)


def grant(connection: Connection, reader: Reader, reading: int, at: int, lease_seconds: float) -> Row[Any]:
    """Give a reading, which no other transaction can change now, to a reader, with a new lease."""
    # The lease before may have ended later than `at`: its transaction read the clock later, and was quicker.
    ended = connection.execute(select(func.max(leases.c.ended_at)).where(leases.c.reading == reading)).scalar()
    start = at if ended is None else max(at, ended)
    token, until = secrets.token_hex(16), start + seconds(lease_seconds)
    given = {"state": ReadingState.TAKEN, "reader": reader.caller, "lease": token, "taken_at": start, "until": until}
    found = connection.execute(
        update(readings).where(readings.c.id == reading).values(**given).returning(*readings.c)
    ).one()
    lease = {"token": token, "reading": found.id, "case_id": found.case_id, "reader": reader.caller}
    connection.execute(insert(leases).values(**lease, taken_at=start, until=until))
    return found


def give_back(connection: Connection, reader: Reader, lease: str, at: int) -> bool:
    """Return a case to the queue; it does not come to this reader again. For a certificate it counts as lost."""
    own = (readings.c.lease == lease, readings.c.reader == reader.caller, readings.c.state == ReadingState.TAKEN)
    ids = connection.execute(select(readings.c.id).where(*own).with_for_update()).scalars().all()
    _end(connection, ids, at, Ending.RETURNED)
    return bool(ids)


def end_lost(connection: Connection, at: int) -> int:
    """Return all cases whose lease is over to the queue; returns how many there were."""
    over = select(readings.c.id).where(readings.c.state == ReadingState.TAKEN, readings.c.until <= at)
    ids = connection.execute(over.with_for_update(skip_locked=True)).scalars().all()
    _end(connection, ids, at, Ending.LOST)
    return len(ids)


def _end(connection: Connection, ids: Sequence[int], at: int, ending: Ending) -> None:
    """Open readings again. If a case was drawn for a certificate, its label is an error from now on, for good."""
    if not ids:
        return
    is_theirs = leases.c.reading.in_(ids)
    connection.execute(update(leases).where(is_theirs, leases.c.ended_at.is_(None)).values(ended_at=at, ending=ending))
    free = {"state": ReadingState.OPEN, "reader": None, "lease": None, "taken_at": None, "until": None}
    connection.execute(update(readings).where(readings.c.id.in_(ids)).values(**free))
    theirs = select(readings.c.case_id).where(readings.c.id.in_(ids))
    count_as_error(connection, Evidence.LOST, cases.c.id.in_(theirs), cases.c.state == CaseState.OPEN)
    # A planted case is for one reader only.
    gone = select(cases.c.id).where(cases.c.id.in_(theirs), cases.c.purpose == Purpose.PLANTED)
    connection.execute(update(readings).where(readings.c.case_id.in_(gone)).values(state=ReadingState.WITHDRAWN))


def count_as_error(connection: Connection, why: Evidence, *which: Any) -> None:
    """Let certificates count cases as errors of the model, unless something else was counted before."""
    drawn = (cases.c.purpose == Purpose.DRAWN, cases.c.evidence.is_(None))
    connection.execute(update(cases).where(*which, *drawn).values(evidence=why))
