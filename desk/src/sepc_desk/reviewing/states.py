"""The words that the tables of reviews use, and the moves that cases and their readings can make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, select, update

from sepc_desk.schema import cases, readings


class Purpose(StrEnum):
    """Why a person looks at a case."""

    REFUSED = "refused"  # the model does not accept its own label
    DRAWN = "drawn"  # an accepted decision, drawn at random for the certificate
    LEAST_TRUSTED = "least trusted"  # an accepted decision that `ReviewQueue` gives in place of a random one
    PLANTED = "planted"  # the right label is known, and measures the reviewers


class CaseState(StrEnum):
    """How far the review of a case is."""

    OPEN = "open"
    DISPUTED = "disputed"  # its readers disagree, and a third one is asked
    SETTLED = "settled"
    ERASED = "erased"  # its values were erased before it was settled


class ReadingState(StrEnum):
    """How far one reader is."""

    OPEN = "open"
    TAKEN = "taken"
    ANSWERED = "answered"  # can still be undone
    FINAL = "final"
    WITHDRAWN = "withdrawn"  # the case was erased


class Ending(StrEnum):
    """How a lease ended."""

    ANSWERED = "answered"
    LOST = "lost"  # its time was over
    RETURNED = "returned"  # the reader gave the case back
    WITHDRAWN = "withdrawn"


class AnswerKind(StrEnum):
    """What a reader answered."""

    LABEL = "label"
    CANNOT_SAY = "cannot say"


class Evidence(StrEnum):
    """What a certificate counts for a case that was drawn; all but ANSWER count as an error of the model."""

    ANSWER = "answer"
    CANNOT_SAY = "cannot say"
    LOST = "lost"
    DISAGREEMENT = "disagreement"
    NOT_BLIND = "not blind"
    ERASED = "erased"


# The readers of a case: the first, the second where two are asked for, and the one who settles a disagreement.
FIRST, SECOND, REFEREE = 1, 2, 3


class Move(StrEnum):
    """What happens to a reading, or to its case."""

    TAKE = "take"
    LOSE = "lose"  # its time was over, or the reader gave it back
    ANSWER = "answer"
    UNDO = "undo"
    FINISH = "finish"
    WITHDRAW = "withdraw"
    DISPUTE = "dispute"
    SETTLE = "settle"
    ERASE = "erase"


# The states in which a reading or a case can move, and the state after that. There are no other moves.
OF_READINGS: Mapping[Move, tuple[Sequence[ReadingState], ReadingState]] = {
    Move.TAKE: ([ReadingState.OPEN], ReadingState.TAKEN),
    Move.LOSE: ([ReadingState.TAKEN], ReadingState.OPEN),
    Move.ANSWER: ([ReadingState.TAKEN], ReadingState.ANSWERED),
    Move.UNDO: ([ReadingState.ANSWERED], ReadingState.TAKEN),
    Move.FINISH: ([ReadingState.ANSWERED], ReadingState.FINAL),
    Move.WITHDRAW: ([ReadingState.OPEN, ReadingState.TAKEN, ReadingState.ANSWERED], ReadingState.WITHDRAWN),
}
OF_CASES: Mapping[Move, tuple[Sequence[CaseState], CaseState]] = {
    Move.DISPUTE: ([CaseState.OPEN], CaseState.DISPUTED),
    Move.SETTLE: ([CaseState.OPEN, CaseState.DISPUTED], CaseState.SETTLED),
    Move.ERASE: ([CaseState.OPEN, CaseState.DISPUTED], CaseState.ERASED),
}
# In these states of a case its readings move; in all others they can only be withdrawn.
UNDER_REVIEW = (CaseState.OPEN, CaseState.DISPUTED)


def lock_cases(connection: Connection, *which: Any) -> list[str]:
    """Keep everyone else from moving these cases and their readings until the transaction ends; returns their ids."""
    found = select(cases.c.id).where(*which).order_by(cases.c.id)
    return list(connection.execute(found.with_for_update()).scalars())


def move_readings(connection: Connection, what: Move, *which: Any, **values: Any) -> Sequence[Row[Any]]:
    """Move the readings that these conditions choose, as far as they can make this move; returns those that did."""
    before, after = OF_READINGS[what]
    moved = update(readings).where(readings.c.state.in_(before), *which).values(state=after, **values)
    if what is not Move.WITHDRAW:
        under_review = select(cases.c.id).where(cases.c.state.in_(UNDER_REVIEW))
        moved = moved.where(readings.c.case_id.in_(under_review))
    return connection.execute(moved.returning(*readings.c)).all()


def move_cases(connection: Connection, what: Move, *which: Any, **values: Any) -> None:
    """Move the cases that these conditions choose, as far as they can make this move."""
    before, after = OF_CASES[what]
    connection.execute(update(cases).where(cases.c.state.in_(before), *which).values(state=after, **values))
