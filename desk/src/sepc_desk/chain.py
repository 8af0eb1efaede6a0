"""Append entries to the chain: all of a group in one transaction, one group at a time among all processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter

import psycopg
from sqlalchemy import Connection, Engine, Select, bindparam, insert, select, text
from sqlalchemy.exc import DBAPIError

from sepc_desk.database import shut_down_socket
from sepc_desk.entries import FIELDS, START, Entry, linked
from sepc_desk.errors import LogUnavailableError
from sepc_desk.schema import contexts, entries

TYPES = {
    "at": "bigint",
    "accepted": "boolean",
    "request_key": "bytea",
    "request_row": "integer",
    "salt": "bytea",
    "private_digest": "bytea",
    "kept_digest": "bytea",
}
NAMES = (*FIELDS, "kept_digest")
# A group is sent as one array per column, written here, since the driver's own take ten times as long.
ARGUMENTS = ", ".join(f"CAST(%s AS {TYPES.get(name, 'text')}[])" for name in NAMES)
APPEND = f"SELECT new_place, new_hash, was_there FROM append_entries({ARGUMENTS})"
ONE = f"SELECT new_place, new_hash, was_there FROM append_entry({', '.join(['%s'] * len(NAMES))})"
values_of = attrgetter(*NAMES)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The place of an entry in the chain.

    Attributes
    ----------
    place : int
    hash : bytes
    was_there : bool
        Whether an earlier copy of the same request had already written it.
    """

    place: int
    hash: bytes
    was_there: bool = False


class Chain:
    """Writes to the log through one connection, which is replaced after an error."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.is_postgresql = engine.dialect.name == "postgresql"
        self._connection: Connection | None = None

    def append(self, group: Sequence[Entry]) -> list[Receipt]:
        """Write entries in one transaction; raises `LogUnavailableError` unless the database has confirmed it."""
        try:
            connection = self._connected()
            return _append_by_function(connection, group) if self.is_postgresql else append_in(connection, group)
        except (DBAPIError, psycopg.Error, OSError) as error:
            self.close()
            raise LogUnavailableError(type(error).__name__) from error

    def abort(self) -> None:
        """End a write that takes too long; called from another thread."""
        connection = self._connection
        if connection is not None and self.is_postgresql:
            shut_down_socket(connection)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()

    def _connected(self) -> Connection:
        if self._connection is None:
            connection = self.engine.connect()
            # One statement is one transaction on PostgreSQL: no further round trips to begin and to commit.
            options = {"isolation_level": "AUTOCOMMIT"} if self.is_postgresql else {"writes": True}
            self._connection = connection.execution_options(**options)
        return self._connection


def _append_by_function(connection: Connection, group: Sequence[Entry]) -> list[Receipt]:
    """Append in one statement, given to the driver itself, which takes less time than through SQLAlchemy."""
    rows = [values_of(own) for own in group]
    with closing(connection.connection.cursor()) as cursor:
        if len(rows) == 1:
            cursor.execute(ONE, rows[0])
        else:
            cursor.execute(APPEND, [_array(column) for column in zip(*rows, strict=True)])
        return [Receipt(*one) for one in cursor.fetchall()]


def _array(values: Sequence[object]) -> str:
    """An array as PostgreSQL reads it: every value in quotes, so that none can be taken for a separator or for null."""
    return "{" + ",".join(["NULL" if value is None else _quoted(value) for value in values]) + "}"


def _quoted(value: object) -> str:
    text = f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def append_in(connection: Connection, group: Sequence[Entry]) -> list[Receipt]:
    """Append in plain SQL, as SQLite needs it; the connection begins its transactions as a writer."""
    with connection.begin():
        return append_to_locked(connection, group)


def append_to_locked(connection: Connection, group: Sequence[Entry]) -> list[Receipt]:
    """Append within a transaction during which nobody else writes."""
    place, before = head_of(connection)
    receipts: list[Receipt] = []
    new = []
    for own in group:
        if own.request_key is not None:
            known = connection.execute(_KNOWN, {"key": own.request_key, "row": own.request_row}).first()
            if known is not None:
                receipts.append(Receipt(known.place, known.hash, True))
                continue
        place += 1
        before = linked(before, place, own.kept_digest, own.private_digest)
        new.append({name: getattr(own, name) for name in FIELDS} | {"place": place, "hash": before})
        receipts.append(Receipt(place, before))
    if new:
        connection.execute(insert(entries), new)
    return receipts


_KNOWN = select(entries.c.place, entries.c.hash).where(
    entries.c.request_key == bindparam("key"), entries.c.request_row == bindparam("row")
)


def lock_chain(connection: Connection) -> None:
    """Keep all other writers out until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7365706364)"))


def head_of(connection: Connection) -> tuple[int, bytes]:
    """The last place and its hash; 0 and zeros if the log is empty."""
    last: Select[tuple[int, bytes]] = select(entries.c.place, entries.c.hash).order_by(entries.c.place.desc()).limit(1)
    found = connection.execute(last).first()
    return (0, START) if found is None else (found.place, bytes(found.hash))


def keep_context(engine: Engine, digest: str, content: str) -> None:
    """Store a context under its digest, unless it is there already."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            given = {"digest": digest, "content": content}
            add = text("INSERT INTO contexts VALUES (:digest, :content) ON CONFLICT DO NOTHING")
            connection.execute(add, given)
        elif connection.execute(select(contexts).where(contexts.c.digest == digest)).first() is None:
            connection.execute(insert(contexts).values(digest=digest, content=content))
