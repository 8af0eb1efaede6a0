"""Take cases out of review whose values are erased."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, or_, select, update

from sepc_desk.reviewing.leasing import count_as_error
from sepc_desk.reviewing.states import CaseState, Ending, Evidence, Purpose, ReadingState
from sepc_desk.schema import answers, cases, leases, readings


def withdraw(connection: Connection, at: int, *which: Any) -> None:
    """End the review of cases that fulfil these conditions; comments go, and what was drawn counts as an error."""
    theirs = select(cases.c.id).where(*which, cases.c.purpose != Purpose.PLANTED)
    is_theirs = readings.c.case_id.in_(theirs)
    connection.execute(update(answers).where(answers.c.case_id.in_(theirs)).values(comment=None))
    unfinished = or_(readings.c.state == ReadingState.OPEN, readings.c.state == ReadingState.TAKEN)
    connection.execute(update(readings).where(is_theirs, unfinished).values(state=ReadingState.WITHDRAWN))
    over = {"ended_at": at, "ending": Ending.WITHDRAWN}
    connection.execute(update(leases).where(leases.c.case_id.in_(theirs), leases.c.ended_at.is_(None)).values(**over))
    count_as_error(connection, Evidence.ERASED, cases.c.id.in_(theirs), cases.c.state == CaseState.OPEN)
    is_open = cases.c.state.in_([CaseState.OPEN, CaseState.DISPUTED])
    connection.execute(update(cases).where(cases.c.id.in_(theirs), is_open).values(state=CaseState.ERASED))
