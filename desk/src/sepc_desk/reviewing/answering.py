"""Answers of readers: given once for a lease, undone within a minute, and final after that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Row, insert, select, update

from sepc_desk.entries import new_id
from sepc_desk.errors import RequestError
from sepc_desk.reviewing.leasing import Reader, grant
from sepc_desk.reviewing.states import AnswerKind, Ending, Move, lock_cases, move_readings
from sepc_desk.reviewing.transactions import seconds
from sepc_desk.schema import answers, cases, leases, readings

LONGEST_COMMENT = 4_000


@dataclass(frozen=True)
class Given:
    """What a reader answers.

    Attributes
    ----------
    label : object
        One of the model's classes; None if the reader cannot say.
    comment : str
    """

    label: Any = None
    comment: str = ""

    @property
    def kind(self) -> AnswerKind:
        """Whether it is a label."""
        return AnswerKind.CANNOT_SAY if self.label is None else AnswerKind.LABEL

    @property
    def label_text(self) -> str | None:
        """The label as JSON."""
        return None if self.label is None else orjson.dumps(self.label).decode()


def answer(connection: Connection, reader: Reader, reading: int, lease: str, given: Given, at: int) -> str:
    """Take an answer; returns its id. The same answer sent twice counts once, and another one is refused."""
    if len(given.comment) > LONGEST_COMMENT:
        raise RequestError(422, "comment_too_long", f"A comment has at most {LONGEST_COMMENT:,} characters.")
    own = (readings.c.id == reading, readings.c.lease == lease, readings.c.reader == reader.caller)
    moved = move_readings(connection, Move.ANSWER, *own, readings.c.until > at)
    if not moved:
        return _given_before(connection, reader, lease, given)
    found = moved[0]
    own_id = new_id(at)
    connection.execute(
        insert(answers).values(
            id=own_id,
            reading=found.id,
            case_id=found.case_id,
            reader=reader.caller,
            taken_at=found.taken_at,
            given_at=at,
            kind=given.kind,
            label=given.label_text,
            comment=given.comment or None,
            was_blind=found.is_blind,
        )
    )
    connection.execute(update(leases).where(leases.c.token == lease).values(ended_at=at, ending=Ending.ANSWERED))
    return own_id


def _given_before(connection: Connection, reader: Reader, lease: str, given: Given) -> str:
    """The id of the same answer, if it was given before; raises otherwise."""
    before = select(answers).join(readings, readings.c.id == answers.c.reading)
    own = connection.execute(
        before.where(readings.c.lease == lease, answers.c.reader == reader.caller, answers.c.undone_at.is_(None))
    ).first()
    if own is None:
        raise RequestError(409, "lease_over", "You no longer have this case: its time was over. Take the next one.")
    if (own.kind, own.label) != (given.kind, given.label_text):
        raise RequestError(409, "answered_before", "This case was answered already. Undo that answer to change it.")
    return str(own.id)


def undo(
    connection: Connection, reader: Reader, own_id: str, at: int, *, undo_seconds: float, lease_seconds: float
) -> Row[Any]:
    """Take an answer back; the reader has the case again, and the reading is returned."""
    last = at - seconds(undo_seconds)
    lock_cases(connection, cases.c.id.in_(select(answers.c.case_id).where(answers.c.id == own_id)))
    own = (answers.c.id == own_id, answers.c.reader == reader.caller, answers.c.undone_at.is_(None))
    found = connection.execute(
        update(answers)
        .where(*own, answers.c.final_at.is_(None), answers.c.given_at > last)
        .values(undone_at=at)
        .returning(answers.c.reading)
    ).first()
    granted = None if found is None else grant(connection, Move.UNDO, reader, found.reading, at, lease_seconds)
    if granted is None:
        message = f"An answer can be undone for {undo_seconds:g} seconds, and by the person who gave it."
        raise RequestError(409, "too_late", message)
    return granted


def undoable(connection: Connection, reader: Reader, model: str, at: int, undo_seconds: float) -> Row[Any] | None:
    """The last answer of a reader that can still be undone."""
    mine = select(answers, readings.c.model).join(readings, readings.c.id == answers.c.reading)
    open_still = (answers.c.undone_at.is_(None), answers.c.final_at.is_(None))
    own = (
        answers.c.reader == reader.caller,
        readings.c.model == model,
        answers.c.given_at > at - seconds(undo_seconds),
    )
    return connection.execute(mine.where(*own, *open_still).order_by(answers.c.given_at.desc()).limit(1)).first()
