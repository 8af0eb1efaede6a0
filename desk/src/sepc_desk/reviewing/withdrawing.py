"""Take cases out of review whose values are erased."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select, update

from sepc_desk.reviewing.leasing import count_as_error
from sepc_desk.reviewing.states import CaseState, Ending, Evidence, Move, lock_cases, move_cases, move_readings
from sepc_desk.schema import answers, cases, leases, readings


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
