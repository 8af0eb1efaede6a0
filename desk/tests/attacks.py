"""What someone who can write the database may do to the chain; each returns None if it cannot be done to this log."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from sepc_desk.entries import FIELDS, START, Entry, EntryKind, entry, linked, private_digest
from sepc_desk.reading import entry_of
from sepc_desk.schema import entries

FIRST_FIELDS = ("at", "caller", "label", "accepted", "cause", "private", "id", "model", "private_digest", "hash")


def _all(connection: Connection) -> list[Row[Any]]:
    return list(connection.execute(select(entries).order_by(entries.c.place)))


def change_an_entry(connection: Connection, rng: random.Random) -> None:
    """One field of one entry is changed."""
    found = rng.choice([own for own in _all(connection) if own.private is not None])
    name = rng.choice(FIRST_FIELDS)
    new: dict[str, Any] = {
        "at": found.at + 1,
        "caller": found.caller + "x",
        "label": '"another"',
        "accepted": not found.accepted,
        "cause": "THIN" if found.cause != "THIN" else "OVERLAP",
        "private": found.private.replace("1", "2", 1) if "1" in found.private else found.private + " ",
        "id": found.id[:-1] + ("0" if found.id[-1] != "0" else "1"),
        "model": (found.model or "") + "x",
        "private_digest": rng.randbytes(32),
        "hash": rng.randbytes(32),
    }
    connection.execute(update(entries).where(entries.c.place == found.place).values({name: new[name]}))


def empty_an_entry(connection: Connection, rng: random.Random) -> None:
    """What an entry held is removed, and nothing says so."""
    found = rng.choice([own for own in _all(connection) if own.private is not None])
    connection.execute(update(entries).where(entries.c.place == found.place).values(private=None, salt=None))


def remove_an_entry(connection: Connection, rng: random.Random) -> None:
    """One entry is removed; half of the time the later ones move up."""
    rows = _all(connection)
    place = rng.choice(rows[:-1]).place
    connection.execute(delete(entries).where(entries.c.place == place))
    if rng.random() < 0.5:
        _shift(connection, [own.place for own in rows if own.place > place], -1)


def insert_an_entry(connection: Connection, rng: random.Random) -> None:
    """An entry is put in between, with a hash that fits the one before."""
    rows = _all(connection)
    at = rng.randrange(len(rows) - 1)
    _shift(connection, [own.place for own in rows if own.place > rows[at].place][::-1], 1)
    own = _forged()
    place, before = rows[at].place + 1, bytes(rows[at].hash)
    _put(connection, own, place, linked(before, place, own.kept_digest, own.private_digest))


def swap_two(connection: Connection, rng: random.Random) -> None:
    """Two entries change places."""
    one, two = sorted(rng.sample([own.place for own in _all(connection)], 2))
    for old, new in ((one, -1), (two, one), (-1, two)):
        connection.execute(update(entries).where(entries.c.place == old).values(place=new))


def remove_a_day(connection: Connection, rng: random.Random) -> None:
    """All entries of a stretch of time are removed."""
    rows = _all(connection)
    first = rng.randrange(len(rows) - 2)
    last = rng.randrange(first, len(rows) - 1)
    own = entries.c.place.between(rows[first].place, rows[last].place)
    connection.execute(delete(entries).where(own))


def cut_the_tail(connection: Connection, rng: random.Random) -> None:
    """The last entries are removed."""
    rows = _all(connection)
    connection.execute(delete(entries).where(entries.c.place > rng.choice(rows[:-1]).place))


def rewrite_from_an_entry(connection: Connection, rng: random.Random) -> None:
    """An entry is changed, and all hashes from it on are computed anew."""
    rows = _all(connection)
    start = rng.choice([i for i, own in enumerate(rows) if own.private is not None])
    before = START if start == 0 else bytes(rows[start - 1].hash)
    for i, found in enumerate(rows[start:], start):
        own = entry_of(found)
        if i == start:
            values = {name: getattr(own, name) for name in FIELDS}
            text = '{"row":{"forged":1}}'
            assert own.salt is not None
            values |= {"label": '"forged"', "private": text, "private_digest": private_digest(own.salt, text)}
            own = Entry(**values)
        before = linked(before, found.place, own.kept_digest, own.private_digest)
        values = {name: getattr(own, name) for name in FIELDS} | {"hash": before}
        connection.execute(update(entries).where(entries.c.place == found.place).values(values))


def _forged() -> Entry:
    return entry(EntryKind.DECISION, "key:forged", {"row": {"x": 1}}, label='"a"', accepted=True, cause="ACCEPTED")


def _put(connection: Connection, own: Entry, place: int, own_hash: bytes) -> None:
    values = {name: getattr(own, name) for name in FIELDS}
    connection.execute(insert(entries).values(values | {"place": place, "hash": own_hash}))


def _shift(connection: Connection, places: list[int], by: int) -> None:
    for place in places:
        connection.execute(update(entries).where(entries.c.place == place).values(place=place + by))


ATTACKS: dict[str, Callable[[Connection, random.Random], None]] = {
    "an entry changed": change_an_entry,
    "an entry emptied": empty_an_entry,
    "an entry removed": remove_an_entry,
    "an entry inserted": insert_an_entry,
    "two swapped": swap_two,
    "a day removed": remove_a_day,
    "the tail cut": cut_the_tail,
    "rewritten from an entry on": rewrite_from_an_entry,
}
# Attacks that leave a chain without a flaw: only a head that was kept elsewhere tells.
UNSEEN_WITHOUT_HEAD = {"the tail cut", "rewritten from an entry on"}
