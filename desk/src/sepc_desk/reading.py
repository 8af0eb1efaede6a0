"""Read entries of the log."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Row, select

from sepc_desk.chain import key_of
from sepc_desk.entries import FIELDS, Entry, seal_of, time_of
from sepc_desk.schema import contexts, entries

# Entries that are read at a time.
BLOCK = 2_000
# A day in microseconds, the unit of all times in the database.
DAY = 24 * 3600 * 1_000_000


def entry_of(found: Row[Any]) -> Entry:
    """The entry of a row of the table."""
    values = {name: getattr(found, name) for name in FIELDS}
    for name in ("request_key", "salt", "private_digest"):
        values[name] = None if values[name] is None else bytes(values[name])
    return Entry(**values)


def is_authentic(connection: Connection, found: Row[Any]) -> bool:
    """Whether an entry was sealed with the key of the log, which the database does not have."""
    return hmac.compare_digest(seal_of(key_of(connection), entry_of(found)), bytes(found.seal))


def entry_by_id(connection: Connection, own_id: str) -> Row[Any] | None:
    """The row of an entry; None if there is none."""
    return connection.execute(select(entries).where(entries.c.id == own_id)).first()


def blocks_of(connection: Connection, *conditions: ColumnElement[bool]) -> Iterator[Sequence[Row[Any]]]:
    """Rows of the table in the order of the chain, some at a time."""
    last = -(2**62)
    while True:
        some = select(entries).where(entries.c.place > last, *conditions).order_by(entries.c.place).limit(BLOCK)
        found = connection.execute(some).all()
        if not found:
            return
        yield found
        last = found[-1].place


def context_by_digest(connection: Connection, digest: str) -> str | None:
    """The text of a context; None if there is none."""
    return connection.execute(select(contexts.c.content).where(contexts.c.digest == digest)).scalar()


def contexts_of(connection: Connection, model: str, digest: str) -> list[str]:
    """The digests of the contexts of a version of a model."""
    found = []
    for own in connection.execute(select(contexts)):
        node = orjson.loads(own.content)["model"]
        if (node["name"], node["digest"]) == (model, digest):
            found.append(own.digest)
    return found


def day_bounds(day: date) -> tuple[int, int]:
    """The first microsecond of a day in UTC, and that of the next."""
    start = (day - date(1970, 1, 1)).days * DAY
    return start, start + DAY


def today() -> date:
    """The day in UTC."""
    return datetime.now(UTC).date()


def shown(found: Row[Any]) -> dict[str, Any]:
    """An entry as JSON, for callers who may see it."""
    kept = {
        "id": found.id,
        "kind": found.kind,
        "at": time_of(found.at),
        "caller": found.caller,
        "model": found.model,
        "context": found.context,
        "label": None if found.label is None else orjson.loads(found.label),
        "accepted": found.accepted,
        "cause": found.cause,
        "about": found.about,
        "receipt": {"place": found.place, "hash": bytes(found.hash).hex()},
    }
    is_erased = found.private is None and found.private_digest is not None
    private = None if found.private is None else orjson.loads(found.private)
    return {name: value for name, value in kept.items() if value is not None} | {"erased": is_erased, "case": private}
