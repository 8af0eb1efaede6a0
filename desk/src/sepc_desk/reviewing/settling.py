"""Make answers final when they can no longer be undone: into the log, into the certificate, and to a third reader."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Row, insert, select, update

from sepc_desk.chain import append_to_locked, lock_chain
from sepc_desk.entries import Entry, EntryKind, entry
from sepc_desk.reviewing.leasing import end_lost
from sepc_desk.reviewing.states import (
    REFEREE,
    CaseState,
    Evidence,
    Move,
    Purpose,
    ReadingState,
    lock_cases,
    move_cases,
    move_readings,
)
from sepc_desk.reviewing.transactions import now, only_one, seconds, writing
from sepc_desk.schema import answers, cases, readings

LOCK = 7365706365
MOST_AT_ONCE = 1_000


def settle(engine: Engine, undo_seconds: float, at: int | None = None) -> int:
    """Make all answers final that are older than the time to undo, and end leases that are over; returns how many."""
    with engine.connect() as connection:
        moment = now(connection) if at is None else at
        over = (readings.c.state == ReadingState.TAKEN, readings.c.until <= moment)
        is_needed = (
            bool(_due(connection, moment, undo_seconds, 1))
            or connection.execute(select(readings.c.id).where(*over).limit(1)).first()
        )
    if not is_needed:
        return 0
    with writing(engine) as connection:
        if not only_one(connection, LOCK):
            return 0
        # Before any row is locked, as an erasure does it, so that the two never wait for each other.
        lock_chain(connection)
        n_lost = end_lost(connection, moment)
        # Those who move one of these cases meanwhile are waited for.
        waiting = [own.case_id for own in _due(connection, moment, undo_seconds, MOST_AT_ONCE)]
        locked = set(lock_cases(connection, cases.c.id.in_(waiting)))
        due = [own for own in _due(connection, moment, undo_seconds, MOST_AT_ONCE) if own.case_id in locked]
        final = _finish(connection, due, moment)
        if said := [_entry(own) for own in final if own.purpose != Purpose.PLANTED]:
            append_to_locked(connection, said)
        for own_case in dict.fromkeys(own.case_id for own in final):
            _settle_case(connection, own_case, moment)
    return n_lost + len(due)


def _due(connection: Connection, at: int, undo_seconds: float, most: int) -> Sequence[Row[Any]]:
    """Answers that nobody can undo any more."""
    columns = (*answers.c, cases.c.model, cases.c.digest, cases.c.purpose)
    due = (
        answers.c.undone_at.is_(None),
        answers.c.final_at.is_(None),
        answers.c.given_at <= at - seconds(undo_seconds),
    )
    found = select(*columns).join(cases, cases.c.id == answers.c.case_id).where(*due)
    return connection.execute(found.order_by(answers.c.given_at).limit(most)).all()


def _entry(own: Row[Any]) -> Entry:
    private = None if own.comment is None else {"comment": own.comment}
    return entry(
        EntryKind.ANSWER,
        own.reader,
        private,
        model=own.model,
        label=own.label,
        cause="blind" if own.was_blind else "label shown",
        about=own.case_id,
        request_key=request_of(own.id),
        request_row=0,
    )


def request_of(answer: str) -> bytes:
    """What ties an answer to its entry of the log, which is written once."""
    return hashlib.sha256(f"answer\n{answer}".encode()).digest()


def _finish(connection: Connection, due: Sequence[Row[Any]], at: int) -> list[Row[Any]]:
    """Mark answers as final, and return them; those to a case that is no longer under review do not count."""
    if not due:
        return []
    moved = {own.id for own in move_readings(connection, Move.FINISH, readings.c.id.in_([own.reading for own in due]))}
    final = [own for own in due if own.reading in moved]
    # A comment is in the log now, where an erasure finds it.
    for some, stamp in ((final, "final_at"), ([own for own in due if own.reading not in moved], "undone_at")):
        ids = answers.c.id.in_([own.id for own in some])
        connection.execute(update(answers).where(ids).values({stamp: at, "comment": None}))
    return final


def _settle_case(connection: Connection, case_id: str, at: int) -> None:
    """Settle a case if all of its readers have answered, or ask a third one if they disagree."""
    own = connection.execute(select(cases).where(cases.c.id == case_id)).one()
    given = connection.execute(
        select(answers.c.kind, answers.c.label, answers.c.was_blind, readings.c.turn)
        .join(readings, readings.c.id == answers.c.reading)
        .where(answers.c.case_id == case_id, answers.c.final_at.is_not(None), answers.c.undone_at.is_(None))
        .order_by(readings.c.turn)
    ).all()
    is_open = own.state == CaseState.OPEN
    if own.state != CaseState.DISPUTED and not (is_open and len(given) == own.n_readers):
        return
    disagree = is_open and len({(one.kind, one.label) for one in given}) > 1
    values = {} if disagree else {"label": given[-1].label}
    if own.review is not None and own.evidence is None:
        values |= _evidence(own, given, disagree)
    move_cases(connection, Move.DISPUTE if disagree else Move.SETTLE, cases.c.id == case_id, **values)
    if disagree:
        third = {"turn": REFEREE, "is_blind": False, "entered_at": at, "state": ReadingState.OPEN}
        connection.execute(insert(readings).values(case_id=case_id, model=own.model, **third))


def _evidence(own: Row[Any], given: Sequence[Any], disagree: bool) -> dict[str, Any]:
    """What a certificate counts for a case, which is written once; for one that was not drawn, its label."""
    if disagree:
        return {"evidence": Evidence.DISAGREEMENT} if own.purpose == Purpose.DRAWN else {}
    if own.purpose == Purpose.DRAWN and not all(one.was_blind for one in given):
        return {"evidence": Evidence.NOT_BLIND}
    label = given[-1].label
    return {"evidence": Evidence.CANNOT_SAY if label is None else Evidence.ANSWER, "evidence_label": label}
