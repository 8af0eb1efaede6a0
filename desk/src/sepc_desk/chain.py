"""Append entries to the chain: all of a group in one transaction, one group at a time among all processes.

On PostgreSQL, everything is appended by functions of the database: the role of the service need not be allowed to
write to the table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from struct import Struct
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Connection, Engine, bindparam, insert, select, text
from sqlalchemy.exc import DBAPIError

from sepc_desk.database import LOG_KEY, shut_down_socket
from sepc_desk.entries import FIELDS, START, Entry, EntryKind, entry, linked, seal_of
from sepc_desk.errors import LogUnavailableError, SettingError
from sepc_desk.schema import entries

TYPES = {
    "at": "bigint",
    "accepted": "boolean",
    "request_key": "bytea",
    "request_row": "integer",
    "salt": "bytea",
    "private_digest": "bytea",
    "seal": "bytea",
}
NAMES = (*FIELDS, "seal")
# A group is sent as one array per column, in PostgreSQL's binary form, since the driver's own take ten times as long.
ARGUMENTS = ", ".join(f"CAST(%s AS {TYPES.get(name, 'text')}[])" for name in NAMES)
APPEND = f"SELECT new_place, new_hash, was_there FROM append_entries({ARGUMENTS})"
ONE = f"SELECT new_place, new_hash, was_there FROM append_entry({', '.join(['%s'] * len(NAMES))})"
# The number of each type in PostgreSQL, and its values as bytes; text is written in the encoding of the connection.
TEXT = 25
WRITTEN: dict[str, tuple[int, Callable[[Any], bytes]]] = {
    "bytea": (17, bytes),
    "bigint": (20, Struct("!q").pack),
    "integer": (23, Struct("!i").pack),
    "boolean": (16, Struct("!?").pack),
}
_values_of = attrgetter(*FIELDS)
_length, _head = Struct("!i").pack, Struct("!5i").pack
# An entry whose time is further from the clock of the database, or before that of the last entry, is refused.
MOST_APART = 60_000_000


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
            if self.is_postgresql:
                return _append_by_function(connection, group)
            with connection.begin():  # as a writer
                return append_to_locked(connection, group)
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
    key = key_of(connection)
    rows = [(*_values_of(own), seal_of(key, own)) for own in group]
    with closing(connection.connection.cursor()) as cursor:
        if len(rows) == 1:
            cursor.execute(ONE, rows[0])
        else:
            driver: Any = connection.connection.driver_connection
            encode = methodcaller("encode", driver.info.encoding)
            columns = zip(NAMES, zip(*rows, strict=True), strict=True)
            cursor.execute(APPEND, [_array(name, values, encode) for name, values in columns])
        return [Receipt(*one) for one in cursor.fetchall()]


class _Array(bytes):
    """An array as PostgreSQL reads it: the length of every value before it."""


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: _Array) -> _Array:
        return obj


psycopg.adapters.register_dumper(_Array, _ArrayDumper)


def _array(name: str, values: Sequence[Any], encode: Callable[[Any], bytes]) -> _Array:
    number, write = WRITTEN.get(TYPES.get(name, "text"), (TEXT, encode))
    # Entries of a group often have the same model, caller and kind, and none has a value of many columns.
    some = values[:1] if values.count(values[0]) == len(values) else values
    parts = [_length(-1) if value is None else _length(len(own := write(value))) + own for value in some]
    return _Array(_head(1, 1, number, len(values), 1) + b"".join(parts) * (len(values) // len(some)))


def append_to_locked(connection: Connection, group: Sequence[Entry]) -> list[Receipt]:
    """Append within a transaction during which nobody else writes."""
    if connection.dialect.name == "postgresql":
        return _append_by_function(connection, group)
    key, known, now = key_of(connection), _known(connection, group), time.time_ns() // 1000
    place, before, newest = connection.execute(_LAST).first() or (0, START, 0)
    receipts: list[Receipt] = []
    new = []
    for own in group:
        if (there := known.get((own.request_key, own.request_row))) is not None:
            receipts.append(there)
            continue
        if not max(now, newest) - MOST_APART <= own.at <= now + MOST_APART:
            raise LogUnavailableError("the clock differs from that of earlier entries")
        place += 1
        seal = seal_of(key, own)
        before = linked(before, place, seal)
        new.append(dict(zip(NAMES, _values_of(own), strict=False)) | {"place": place, "seal": seal, "hash": before})
        receipts.append(Receipt(place, before))
    if new:
        connection.execute(insert(entries), new)
    return receipts


def _known(connection: Connection, group: Sequence[Entry]) -> dict[tuple[bytes | None, int | None], Receipt]:
    """Entries of requests that came before."""
    keys = {own.request_key for own in group if own.request_key is not None}
    found = connection.execute(_KNOWN, {"keys": list(keys)}) if keys else ()
    return {(own.request_key, own.request_row): Receipt(own.place, own.hash, True) for own in found}


_KNOWN = select(entries.c.place, entries.c.hash, entries.c.request_key, entries.c.request_row).where(
    entries.c.request_key.in_(bindparam("keys", expanding=True))
)


def key_of(connection: Connection | Engine) -> bytes:
    """The key of the log, which the settings give to the engine."""
    key: bytes | None = connection.get_execution_options().get(LOG_KEY)
    if key is None:
        raise SettingError(
            "log_key is not set, so entries of the log cannot be sealed. Set SEPC_DESK_LOG_KEY_FILE to a file that "
            "`openssl rand -hex 32` has made, outside of the database, the same for all processes and commands."
        )
    return key


def note(connection: Connection, caller: str, what: str, about: str, model: str | None = None) -> None:
    """Write to the log, within a transaction, what was done to the service and by whom."""
    lock_chain(connection)
    append_to_locked(connection, [entry(EntryKind.EVENT, caller, model=model, cause=what, about=about)])


def lock_chain(connection: Connection) -> None:
    """Keep all other writers out until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(7365706364)"))


_LAST = select(entries.c.place, entries.c.hash, entries.c.at).order_by(entries.c.place.desc()).limit(1)


def head_of(connection: Connection) -> tuple[int, bytes]:
    """The last place and its hash; 0 and zeros if the log is empty."""
    found = connection.execute(_LAST).first()
    return (0, START) if found is None else (found.place, bytes(found.hash))


def keep_context(engine: Engine, digest: str, content: str) -> None:
    """Store a context under its digest, unless it is there already."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        add = text("INSERT INTO contexts VALUES (:digest, :content) ON CONFLICT DO NOTHING")
        connection.execute(add, {"digest": digest, "content": content})
