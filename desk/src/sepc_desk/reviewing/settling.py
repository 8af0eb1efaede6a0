"""Make answers final when they can no longer be undone: into the log, into the certificate, and to a third reader."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Row, insert, select, update

from sepc_desk.chain import append_to_locked, lock_chain
from sepc_desk.entries import Entry, EntryKind, entry
from sepc_desk.reviewing.leasing import end_lost
from sepc_desk.reviewing.states import REFEREE, AnswerKind, CaseState, Evidence, Purpose, ReadingState
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
        due = _due(connection, moment, undo_seconds, MOST_AT_ONCE, lock=True)
        _write(connection, [own for own in due if own.purpose != Purpose.PLANTED])
        _finish(connection, due, moment)
        for own_case in dict.fromkeys(own.case_id for own in due):
            _settle_case(connection, own_case, moment)
    return n_lost + len(due)


def _due(connection: Connection, at: int, undo_seconds: float, most: int, *, lock: bool = False) -> Sequence[Row[Any]]:
    """Answers that nobody can undo any more; with `lock`, an undo that has begun is waited for."""
    columns = (*answers.c, cases.c.model, cases.c.digest, cases.c.purpose)
    due = (
        answers.c.undone_at.is_(None),
        answers.c.final_at.is_(None),
        answers.c.given_at <= at - seconds(undo_seconds),
    )
    found = select(*columns).join(cases, cases.c.id == answers.c.case_id).where(*due)
    found = found.order_by(answers.c.given_at).limit(most)
    return connection.execute(found.with_for_update(of=answers) if lock else found).all()


def _write(connection: Connection, due: Sequence[Row[Any]]) -> None:
    """Append answers to the chain, in the transaction that makes them final."""
    if due:
        append_to_locked(connection, [_entry(own) for own in due])


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
        request_key=hashlib.sha256(f"answer\n{own.id}".encode()).digest(),
        request_row=0,
    )


def _finish(connection: Connection, due: Sequence[Row[Any]], at: int) -> None:
    """Mark answers as final; a comment is in the log now, where an erasure finds it."""
    if due:
        connection.execute(
            update(answers).where(answers.c.id.in_([own.id for own in due])).values(final_at=at, comment=None)
        )
        theirs = readings.c.id.in_([own.reading for own in due])
        connection.execute(update(readings).where(theirs).values(state=ReadingState.FINAL))


def _settle_case(connection: Connection, case_id: str, at: int) -> None:
    """Settle a case if all of its readers have answered, or ask a third one if they disagree."""
    own = connection.execute(select(cases).where(cases.c.id == case_id)).one()
    given = connection.execute(
        select(answers.c.kind, answers.c.label, answers.c.was_blind, readings.c.turn)
        .join(readings, readings.c.id == answers.c.reading)
        .where(answers.c.case_id == case_id, answers.c.final_at.is_not(None), answers.c.undone_at.is_(None))
        .order_by(readings.c.turn)
    ).all()
    if own.state == CaseState.DISPUTED:
        _set(connection, case_id, {"state": CaseState.SETTLED, "label": given[-1].label}, own)
    elif own.state == CaseState.OPEN and len(given) == own.n_readers:
        agreed = len({(one.kind, one.label) for one in given}) == 1
        proof = _evidence(given, agreed)
        if agreed:
            _set(connection, case_id, {"state": CaseState.SETTLED, "label": given[0].label}, own, proof)
        else:
            _set(connection, case_id, {"state": CaseState.DISPUTED}, own, proof)
            third = {"turn": REFEREE, "is_blind": False, "entered_at": at, "state": ReadingState.OPEN}
            connection.execute(insert(readings).values(case_id=case_id, model=own.model, **third))


def _evidence(given: Sequence[Any], agreed: bool) -> dict[str, Any]:
    if not agreed:
        return {"evidence": Evidence.DISAGREEMENT}
    if not all(one.was_blind for one in given):
        return {"evidence": Evidence.NOT_BLIND}
    if given[0].kind == AnswerKind.CANNOT_SAY:
        return {"evidence": Evidence.CANNOT_SAY}
    return {"evidence": Evidence.ANSWER, "evidence_label": given[0].label}


def _set(
    connection: Connection, case_id: str, values: dict[str, Any], own: Row[Any], proof: dict[str, Any] | None = None
) -> None:
    """Write how a case stands. What a certificate counts is written once; of a row that was not drawn, its label."""
    if own.review is not None and own.evidence is None:
        if own.purpose == Purpose.DRAWN:
            values |= proof or {}
        elif values["state"] == CaseState.SETTLED:
            is_label = values["label"] is not None
            values |= {"evidence": Evidence.ANSWER if is_label else Evidence.CANNOT_SAY}
            values |= {"evidence_label": values["label"]}
    connection.execute(update(cases).where(cases.c.id == case_id).values(**values))
