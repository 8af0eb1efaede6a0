"""Planted cases: rows with known labels that readers get among the others, so that their work can be measured.

They never enter the log, a certificate or feedback.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Row, exists, insert, select, update

from sepc_desk.chain import note
from sepc_desk.deciding import Decided, decide_rows
from sepc_desk.entries import new_id
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.reviewing.leasing import Reader, grant, withdraw
from sepc_desk.reviewing.states import FIRST, CaseState, Move, Purpose, ReadingState
from sepc_desk.reviewing.transactions import now, writing
from sepc_desk.rows import Row as CaseRow
from sepc_desk.schema import cases, planted, readings
from sepc_desk.settings import Settings


def plant(engine: Engine, model: Model, rows: Sequence[CaseRow], truths: Sequence[Any], caller: str) -> int:
    """Add rows with known labels; returns how many."""
    for i, truth in enumerate(truths):
        if truth not in model.classes:
            known = ", ".join(map(repr, model.classes))
            raise RequestError(
                422, "unknown_label", f"Row {i} has the label {truth!r}; the model knows {known}.", row=i
            )
    with writing(engine) as connection:
        at = now(connection)
        new = [
            {
                "id": new_id(at),
                "model": model.name,
                "row": orjson.dumps(row).decode(),
                "truth": orjson.dumps(truth).decode(),
                "added_at": at,
                "added_by": caller,
            }
            for row, truth in zip(rows, truths, strict=True)
        ]
        if new:
            digest = hashlib.sha256(orjson.dumps(new)).hexdigest()
            note(connection, caller, "cases planted", f"{len(new)}:sha256:{digest}", model.name)
            connection.execute(insert(planted), new)
    return len(new)


def remove_planted(engine: Engine, model: str, caller: str) -> int:
    """Give out no more planted cases of a model, and forget their rows; returns how many there were."""
    with writing(engine) as connection:
        at = now(connection)
        note(connection, caller, "planted cases removed", model, model)
        own = (planted.c.model == model, planted.c.removed_at.is_(None))
        given = cases.c.planted.in_(select(planted.c.id).where(*own))
        withdraw(connection, at, given, cases.c.state == CaseState.OPEN)
        return connection.execute(update(planted).where(*own).values(removed_at=at, row="{}")).rowcount


def give_planted(
    connection: Connection, reader: Reader, model: Model, at: int, settings: Settings, rng: Random
) -> Row[Any] | None:
    """Give a reader a planted case that they have not had; None if there is none."""
    had = exists().where(readings.c.case_id == cases.c.id, readings.c.reader == reader.caller)
    given = exists().where(cases.c.planted == planted.c.id, had)
    own = (planted.c.model == model.name, planted.c.removed_at.is_(None), ~given)
    left = connection.execute(select(planted).where(*own)).all()
    if not left:
        return None
    one = rng.choice(left)
    decided = decide_rows(model, [orjson.loads(one.row)])[0]
    is_blind = not reader.sees_labels and rng.random() < settings.blind_share
    case_id, entered = _insert_case(connection, one, model, decided, at, is_blind)
    new = {"case_id": case_id, "model": model.name, "turn": FIRST, "is_blind": is_blind, "entered_at": entered}
    made = insert(readings).values(**new, state=ReadingState.OPEN).returning(readings.c.id)
    reading = connection.execute(made).scalar_one()
    return grant(connection, Move.TAKE, reader, reading, at, settings.lease_seconds)


def _insert_case(
    connection: Connection, one: Row[Any], model: Model, decided: Decided, at: int, is_blind: bool
) -> tuple[str, int]:
    """Insert a case that looks like one of the log; its times are those of the case that has waited longest."""
    oldest = (
        select(cases.c.decided_at, cases.c.entered_at)
        .where(cases.c.model == model.name, cases.c.state == CaseState.OPEN, cases.c.purpose != Purpose.PLANTED)
        .order_by(cases.c.entered_at)
        .limit(1)
    )
    like = connection.execute(oldest).first()
    decided_at, entered_at = (at, at) if like is None else (like.decided_at, like.entered_at)
    case_id = new_id(decided_at)
    connection.execute(
        insert(cases).values(
            id=case_id,
            model=model.name,
            digest=model.digest,
            purpose=Purpose.PLANTED,
            cause=decided.cause,
            model_label=decided.label_text,
            decided_at=decided_at,
            entered_at=entered_at,
            is_blind=is_blind,
            n_readers=1,
            state=CaseState.OPEN,
            planted=one.id,
            is_counted=False,
        )
    )
    return case_id, entered_at
