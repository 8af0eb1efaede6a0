"""What a reader may see of a case: its values always, and what the model says only while it is not hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Row, func, select

from sepc_desk.errors import RequestError
from sepc_desk.reviewing.leasing import Reader
from sepc_desk.reviewing.states import REFEREE, AnswerKind, CaseState, Ending, Purpose, ReadingState
from sepc_desk.rows import Row as CaseRow
from sepc_desk.schema import answers, cases, entries, leases, planted, readings


@dataclass(frozen=True)
class OtherAnswer:
    """What another reader answered, for the one who settles a disagreement.

    Attributes
    ----------
    label : object
        None if the reader could not say.
    comment : str
    """

    label: Any
    comment: str


@dataclass(frozen=True)
class SeenCase:
    """A case for one reader.

    Attributes
    ----------
    reading : Row
    case : Row
    row : CaseRow
    is_hidden : bool
        Whether everything that the model says is hidden from this reader.
    answer : Row or None
        What this reader answered, if anything.
    others : list of OtherAnswer
        Answers that disagree, if this reader settles them.
    has_hidden : bool
        Whether this reader has seen the values of a case that may still get an answer without its label.
    """

    reading: Row[Any]
    case: Row[Any]
    row: CaseRow
    is_hidden: bool
    answer: Row[Any] | None
    others: list[OtherAnswer]
    has_hidden: bool

    @property
    def is_planted(self) -> bool:
        """Whether it is not one of the log."""
        return bool(self.case.purpose == Purpose.PLANTED)

    @property
    def is_held(self) -> bool:
        """Whether the reader can answer it now."""
        return bool(self.reading.state == ReadingState.TAKEN)


def see(connection: Connection, reader: Reader, reading: int, at: int) -> SeenCase:
    """A case for a reader who holds it or has answered it; to all others it does not exist."""
    own = connection.execute(
        select(readings).where(readings.c.id == reading, readings.c.reader == reader.caller)
    ).first()
    is_over = own is not None and own.state == ReadingState.TAKEN and own.until <= at
    if own is None or is_over or own.state == ReadingState.WITHDRAWN:
        raise RequestError(404, "no_such_case", "You do not have this case, or no longer. Take the next one.")
    case = connection.execute(select(cases).where(cases.c.id == own.case_id)).one()
    given = select(answers).where(answers.c.reading == reading, answers.c.undone_at.is_(None))
    return SeenCase(
        own,
        case,
        _row(connection, case),
        is_hidden(own, case),
        connection.execute(given).first(),
        _others(connection, case) if own.turn == REFEREE else [],
        _has_hidden(connection, reader, own.model),
    )


def _has_hidden(connection: Connection, reader: Reader, model: str) -> bool:
    """Whether a reader has, has had or has answered a blind case that nobody has answered for good.

    One that was given back does not come to this reader again.
    """
    open_still = (ReadingState.OPEN, ReadingState.TAKEN, ReadingState.ANSWERED)
    own = (readings.c.model == model, readings.c.is_blind, readings.c.state.in_(open_still))
    had = (leases.c.reader == reader.caller, func.coalesce(leases.c.ending, "") != Ending.RETURNED)
    some = select(leases.c.token).join(readings, readings.c.id == leases.c.reading).where(*own, *had).limit(1)
    return connection.execute(some).first() is not None


def is_hidden(reading: Row[Any], case: Row[Any]) -> bool:
    """Whether the model's label is hidden: of a blind case, until all of its readers have answered for good."""
    return bool(reading.is_blind) and (reading.state != ReadingState.FINAL or case.state == CaseState.OPEN)


def _row(connection: Connection, case: Row[Any]) -> CaseRow:
    if case.purpose == Purpose.PLANTED:
        kept = select(planted.c.row).where(planted.c.id == case.planted)
    else:
        kept = select(entries.c.private).where(entries.c.id == case.id)
    content = orjson.loads(connection.execute(kept).scalar() or "{}")
    row: CaseRow = content if case.purpose == Purpose.PLANTED else content.get("row")
    if not row:
        raise RequestError(404, "erased", "What this case held was erased. Take the next one.")
    return row


def _others(connection: Connection, case: Row[Any]) -> list[OtherAnswer]:
    """The answers before a disagreement; their comments are in the log by now, unless they were erased."""
    own = (answers.c.case_id == case.id, answers.c.final_at.is_not(None), answers.c.undone_at.is_(None))
    given = connection.execute(
        select(answers.c.kind, answers.c.label, answers.c.reader)
        .join(readings, readings.c.id == answers.c.reading)
        .where(*own, readings.c.turn != REFEREE)
        .order_by(readings.c.turn)
    ).all()
    said = select(entries.c.caller, entries.c.private).where(entries.c.about == case.id, entries.c.kind == "answer")
    comments = {
        one.caller: orjson.loads(one.private).get("comment", "")
        for one in connection.execute(said)
        if one.private is not None
    }
    return [
        OtherAnswer(orjson.loads(one.label) if one.kind == AnswerKind.LABEL else None, comments.get(one.reader, ""))
        for one in given
    ]


def may_be_read(connection: Connection, case_id: str) -> bool:
    """Whether someone who only reviews may read a decision in the log.

    Not one that can still be drawn for a blind review, or that waits for one.
    """
    own = connection.execute(select(cases.c.is_blind, cases.c.state).where(cases.c.id == case_id)).first()
    return own is not None and not (own.is_blind and own.state == CaseState.OPEN)
