"""Remove the private data of cases, and record that in the chain."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine, or_, select, text, update

from sepc_desk.chain import Receipt, append_to_locked, lock_chain
from sepc_desk.entries import EntryKind, entry
from sepc_desk.errors import RequestError
from sepc_desk.reviewing.transactions import now
from sepc_desk.reviewing.withdrawing import withdraw
from sepc_desk.schema import cases, entries

# An erasure of everything before a time refers to this prefix and the time.
UNTIL = "until:"


@dataclass(frozen=True)
class Erased:
    """What an erasure removed.

    Attributes
    ----------
    n_entries : int
        Entries that had private data.
    receipt : Receipt or None
        That of the entry which records the erasure; None if there was nothing to remove.
    """

    n_entries: int
    receipt: Receipt | None


def erase(engine: Engine, case: str, caller: str) -> Erased:
    """Remove the private parts of a decision and of all entries about it."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        lock_chain(connection)
        own = connection.execute(select(entries.c.model).where(entries.c.id == case)).first()
        if own is None:
            raise RequestError(404, "no_such_decision", f"There is no decision {case}.")
        withdraw(connection, now(connection), cases.c.id == case)
        holds = (or_(entries.c.id == case, entries.c.about == case), entries.c.private.is_not(None))
        gone = connection.execute(select(entries.c.id).where(*holds)).scalars().all()
        if not gone:
            return Erased(0, None)
        connection.execute(update(entries).where(*holds).values(private=None, salt=None))
        said = entry(EntryKind.ERASURE, caller, model=own.model, about=" ".join(gone))
        return Erased(len(gone), append_to_locked(connection, [said])[0])


def erase_until(engine: Engine, until: int, caller: str, model: str | None = None) -> Erased:
    """Remove all private parts written before a time, in microseconds since 1970; of one model, if given."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        lock_chain(connection)
        holds = [entries.c.at < until, entries.c.private.is_not(None)]
        old = [cases.c.decided_at < until]
        if model is not None:
            holds.append(entries.c.model == model)
            old.append(cases.c.model == model)
        withdraw(connection, now(connection), *old)
        n = connection.execute(update(entries).where(*holds).values(private=None, salt=None)).rowcount
        if n == 0:
            return Erased(0, None)
        said = entry(EntryKind.ERASURE, caller, model=model, about=f"{UNTIL}{until}")
        return Erased(n, append_to_locked(connection, [said])[0])


def scrub(engine: Engine) -> list[str]:
    """Rewrite the files of the database, so that erased data does not remain in free space; returns the steps taken."""
    steps = (
        ["VACUUM (FULL) entries", "CHECKPOINT", "SELECT pg_switch_wal()", "CHECKPOINT"]
        if engine.dialect.name == "postgresql"
        else ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]
    )
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for step in steps:
                connection.execute(text(step))
        return steps
    raw = engine.raw_connection()
    try:
        for step in steps:
            raw.cursor().execute(step)
    finally:
        raw.close()
    return steps
