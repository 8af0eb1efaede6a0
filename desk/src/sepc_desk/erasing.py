"""Remove the private data of cases, once two people have asked for it, and record that in the chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Engine, or_, select, text, update

from sepc_desk.chain import Receipt, append_to_locked, lock_chain
from sepc_desk.entries import EntryKind, entry
from sepc_desk.errors import RequestError
from sepc_desk.reading import DAY
from sepc_desk.reviewing.leasing import withdraw
from sepc_desk.reviewing.states import Purpose
from sepc_desk.reviewing.transactions import now, writing
from sepc_desk.schema import cases, entries

# An erasure of everything before a time refers to this prefix and the time, and the consents to it to the days.
UNTIL, OLDER = "until:", "older:"
PEOPLE = 2


@dataclass(frozen=True)
class Erased:
    """What an erasure removed.

    Attributes
    ----------
    n_entries : int
        Entries that had private data.
    receipt : Receipt or None
        That of the entry which records the erasure, or that someone asks for it; None if there was nothing to do.
    is_waiting : bool
        Whether another person must ask for it too.
    """

    n_entries: int
    receipt: Receipt | None
    is_waiting: bool = False


def erase(engine: Engine, case: str, caller: str) -> Erased:
    """Remove the private parts of a decision and of all entries about it, once a second person asks for it."""
    with writing(engine) as connection:
        lock_chain(connection)
        own = connection.execute(select(entries.c.model).where(entries.c.id == case)).first()
        if own is None:
            raise RequestError(404, "no_such_decision", f"There is no decision {case}.")
        holds = (or_(entries.c.id == case, entries.c.about == case), entries.c.private.is_not(None))
        if connection.execute(select(entries.c.id).where(*holds).limit(1)).first() is None:
            return Erased(0, None)
        return _erase(
            connection, caller, case, own.model, holds, [cases.c.id == case, cases.c.purpose != Purpose.PLANTED]
        )


def erase_older(engine: Engine, days: int, caller: str, model: str | None = None) -> Erased:
    """Remove all private parts that are older than some days, once a second person asks for it; of one model, if given.

    What two people have asked for holds from then on, so that anyone can do it every day.
    """
    with writing(engine) as connection:
        lock_chain(connection)
        until = now(connection) - days * DAY
        holds = [entries.c.at < until, entries.c.private.is_not(None)]
        old = [cases.c.decided_at < until, cases.c.purpose != Purpose.PLANTED]
        if model is not None:
            holds.append(entries.c.model == model)
            old.append(cases.c.model == model)
        return _erase(connection, caller, f"{OLDER}{days}", model, holds, old, until)


def _erase(
    connection: Connection,
    caller: str,
    target: str,
    model: str | None,
    holds: Sequence[ColumnElement[bool]],
    old: Sequence[ColumnElement[bool]],
    until: int | None = None,
) -> Erased:
    e = entries.c
    about = (e.kind == EntryKind.CONSENT, e.about == target, e.model.is_not_distinct_from(model))
    people = set(connection.execute(select(e.caller).where(*about)).scalars())
    receipt = None
    if len(people) < PEOPLE and caller not in people:
        receipt = append_to_locked(connection, [entry(EntryKind.CONSENT, caller, model=model, about=target)])[0]
    if len(people | {caller}) < PEOPLE:
        return Erased(0, receipt, is_waiting=True)
    withdraw(connection, now(connection), *old)
    if connection.dialect.name == "postgresql":
        given = {"target": target, "model": model, "until": until}
        gone = list(connection.execute(text("SELECT erase_entries(:target, :model, :until)"), given).scalars())
    else:
        gone = list(connection.execute(select(e.id).where(*holds)).scalars())
        connection.execute(update(entries).where(*holds).values(private=None, salt=None))
    if not gone:
        return Erased(0, None)
    told = " ".join(gone) if until is None else f"{UNTIL}{until}"
    said = entry(EntryKind.ERASURE, caller, model=model, cause=target, about=told)
    return Erased(len(gone), append_to_locked(connection, [said])[0])


def scrub(engine: Engine) -> list[str]:
    """Rewrite the files of the database, so that erased data does not remain in free space; returns the steps taken."""
    if engine.dialect.name == "postgresql":
        steps = ["VACUUM (FULL) entries", "CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT"]
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for step in steps:
                connection.execute(text(step))
        return steps
    steps = ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]
    raw = engine.raw_connection()
    try:
        for step in steps:
            raw.cursor().execute(step)
    finally:
        raw.close()
    return steps
