"""What a thief of the database may do: someone who can read and write all of it, but has neither keys nor heads."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, insert, select, update

from sepc_desk.entries import FIELDS, START, Entry, EntryKind, entry, linked, new_id, private_digest
from sepc_desk.keys import hash_of
from sepc_desk.reading import entry_of
from sepc_desk.schema import answers, cases, changes, contexts, entries, keys

FIELDS_OF_ONE = ("at", "caller", "label", "accepted", "cause", "private", "id", "model")
FIRST_FIELDS = (*FIELDS_OF_ONE, "private_digest", "hash", "seal")
Attack = Callable[[Connection, random.Random], None]


def rows_of(connection: Connection) -> list[Row[Any]]:
    return list(connection.execute(select(entries).order_by(entries.c.place)))


def decisions(connection: Connection) -> list[Row[Any]]:
    return [own for own in rows_of(connection) if own.private is not None]


def change(connection: Connection, place: int, /, **values: Any) -> None:
    connection.execute(update(entries).where(entries.c.place == place).values(**values))


def link_anew(connection: Connection) -> None:
    """Number all entries without gaps, and compute all hashes, so that they follow each other."""
    before = START
    for place, found in enumerate(rows_of(connection), 1):
        before = linked(before, place, bytes(found.seal))
        change(connection, found.place, place=place, hash=before)


def append(connection: Connection, own: Entry, seal: bytes | None = None) -> None:
    """Add an entry that follows the last one, with a seal that was guessed or seen elsewhere."""
    last = rows_of(connection)[-1]
    seal = random.Random(own.id).randbytes(32) if seal is None else seal
    place = last.place + 1
    values = {name: getattr(own, name) for name in FIELDS}
    hashed = linked(bytes(last.hash), place, seal)
    connection.execute(insert(entries).values(values | {"place": place, "seal": seal, "hash": hashed}))


def forged(**kept: Any) -> Entry:
    given = {"label": '"a"', "accepted": True, "cause": "ACCEPTED"} | kept
    return entry(EntryKind.DECISION, "key:forged", {"row": {"x": 1}}, **given)


def change_an_entry(connection: Connection, rng: random.Random, names: tuple[str, ...] = FIRST_FIELDS) -> None:
    found = rng.choice(decisions(connection))
    name = rng.choice(names)
    new: dict[str, Any] = {
        "at": found.at + 1,
        "caller": found.caller + "x",
        "label": '"another"',
        "accepted": not found.accepted,
        "cause": "THIN" if found.cause != "THIN" else "OVERLAP",
        "private": found.private.replace("1", "2", 1) if "1" in found.private else found.private + " ",
        "id": found.id[:-1] + ("0" if found.id[-1] != "0" else "1"),
        "model": (found.model or "") + "x",
    }
    change(connection, found.place, **{name: new.get(name, rng.randbytes(32))})


def change_and_link(connection: Connection, rng: random.Random) -> None:
    change_an_entry(connection, rng, FIELDS_OF_ONE)
    link_anew(connection)


def flip_a_label(connection: Connection, rng: random.Random) -> None:
    change(connection, rng.choice(decisions(connection)).place, label='"flipped"')
    link_anew(connection)


def change_values(connection: Connection, rng: random.Random) -> None:
    found, text = rng.choice(decisions(connection)), '{"row":{"forged":1}}'
    change(connection, found.place, private=text, private_digest=private_digest(bytes(found.salt), text))
    link_anew(connection)


def change_a_caller(connection: Connection, rng: random.Random) -> None:
    change(connection, rng.choice(rows_of(connection)).place, caller="person:somebody")
    link_anew(connection)


def date_back(connection: Connection, rng: random.Random) -> None:
    found = rng.choice(rows_of(connection))
    change(connection, found.place, at=found.at - 86_400_000_000)
    link_anew(connection)


def exchange_seals(connection: Connection, rng: random.Random) -> None:
    one, two = rng.sample(decisions(connection), 2)
    change(connection, one.place, seal=two.seal)
    change(connection, two.place, seal=one.seal)
    link_anew(connection)


def empty_an_entry(connection: Connection, rng: random.Random) -> None:
    change(connection, rng.choice(decisions(connection)).place, private=None, salt=None)


def forge_an_erasure(connection: Connection, rng: random.Random) -> None:
    found = rng.choice(decisions(connection))
    change(connection, found.place, private=None, salt=None)
    append(connection, entry(EntryKind.ERASURE, "person:ann", cause=found.id, about=found.id))


def forge_two_who_ask(connection: Connection, rng: random.Random) -> None:
    found = rng.choice(decisions(connection))
    change(connection, found.place, private=None, salt=None)
    for name in ("person:ann", "person:bob"):
        append(connection, entry(EntryKind.CONSENT, name, model=found.model, about=found.id))
    append(connection, entry(EntryKind.ERASURE, "person:bob", model=found.model, cause=found.id, about=found.id))


def widen_an_erasure(connection: Connection, rng: random.Random) -> None:
    found = rng.choice(decisions(connection))
    change(connection, found.place, private=None, salt=None)
    erasure = next(own for own in rows_of(connection) if own.kind == EntryKind.ERASURE)
    change(connection, erasure.place, about=f"{erasure.about} {found.id}")
    link_anew(connection)


def remove_an_entry(connection: Connection, rng: random.Random) -> None:
    connection.execute(delete(entries).where(entries.c.place == rng.choice(rows_of(connection)[:-1]).place))


def remove_and_link(connection: Connection, rng: random.Random) -> None:
    remove_an_entry(connection, rng)
    link_anew(connection)


def remove_a_stretch(connection: Connection, rng: random.Random) -> None:
    first, last = sorted(rng.sample([own.place for own in rows_of(connection)[:-1]], 2))
    connection.execute(delete(entries).where(entries.c.place.between(first, last)))
    link_anew(connection)


def cut_the_tail(connection: Connection, rng: random.Random) -> None:
    connection.execute(delete(entries).where(entries.c.place > rng.choice(rows_of(connection)[3:-1]).place))


def remove_all(connection: Connection, rng: random.Random) -> None:
    connection.execute(delete(entries))


def cut_and_refill(connection: Connection, rng: random.Random) -> None:
    n = len(rows_of(connection))
    cut_the_tail(connection, rng)
    while len(rows_of(connection)) < n:
        append(connection, forged())


def swap_two(connection: Connection, rng: random.Random) -> None:
    one, two = sorted(rng.sample([own.place for own in decisions(connection)], 2))
    for old, new in ((one, -1), (two, one), (-1, two)):
        change(connection, old, place=new)
    link_anew(connection)


def insert_an_entry(connection: Connection, rng: random.Random) -> None:
    at = rng.choice(rows_of(connection)[:-1]).place
    for own in rows_of(connection)[::-1]:
        if own.place > at:
            change(connection, own.place, place=own.place + 1)
    values = {name: getattr(forged(), name) for name in FIELDS}
    new = {"place": at + 1, "seal": rng.randbytes(32), "hash": rng.randbytes(32)}
    connection.execute(insert(entries).values(values | new))
    link_anew(connection)


def append_an_entry(connection: Connection, rng: random.Random) -> None:
    append(connection, forged())


def put_before_the_first(connection: Connection, rng: random.Random) -> None:
    append(connection, forged())
    change(connection, rows_of(connection)[-1].place, place=-5)


def forge_an_erasure_of_nothing(connection: Connection, rng: random.Random) -> None:
    append(connection, entry(EntryKind.ERASURE, "person:ann", cause="older:x", about="until:x"))


def append_a_copy(connection: Connection, rng: random.Random) -> None:
    """A decision comes again, with the seal of the first, under another id."""
    found = rng.choice(decisions(connection))
    values = {name: getattr(entry_of(found), name) for name in FIELDS} | {"id": new_id(found.at), "request_key": None}
    append(connection, Entry(**values), bytes(found.seal))


def change_a_context(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(contexts).values(content='{"model":{"name":"loans","digest":"00"}}'))


def insert_a_key(connection: Connection, rng: random.Random) -> None:
    copy_a_row(connection, keys, id="00000000", hash=hash_of("sepc_00000000_mine"), role="owner", models="*")


def change_a_key(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(keys).values(role="owner", models="*"))


def let_a_key_in_again(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(keys).values(revoked_at=None))


def change_an_answer(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(answers).values(label='"flipped"'))


def change_a_reader(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(answers).values(reader="person:eve"))


def insert_an_answer(connection: Connection, rng: random.Random) -> None:
    copy_a_row(connection, answers, id=new_id(1), reading=-1, reader="person:eve", label='"flipped"')


def remove_an_answer(connection: Connection, rng: random.Random) -> None:
    connection.execute(delete(answers))


def change_a_final_label(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(cases).values(label='"flipped"'))


def insert_a_change(connection: Connection, rng: random.Random) -> None:
    copy_a_row(connection, changes, id=new_id(1), decided_by="person:eve", decided_at=2)


def change_who_agreed(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(changes).values(decided_by="person:eve"))


def change_what_went_live(connection: Connection, rng: random.Random) -> None:
    connection.execute(update(changes).values(new_digest="f" * 64))


def copy_a_row(connection: Connection, table: Table, **values: Any) -> None:
    own = dict(connection.execute(select(table).limit(1)).mappings().one())
    connection.execute(insert(table).values(own | values))


ATTACKS: tuple[Attack, ...] = (
    change_an_entry,
    change_and_link,
    flip_a_label,
    change_values,
    change_a_caller,
    date_back,
    exchange_seals,
    empty_an_entry,
    forge_an_erasure,
    forge_two_who_ask,
    widen_an_erasure,
    remove_an_entry,
    remove_and_link,
    remove_a_stretch,
    cut_the_tail,
    remove_all,
    cut_and_refill,
    swap_two,
    insert_an_entry,
    append_an_entry,
    put_before_the_first,
    forge_an_erasure_of_nothing,
    append_a_copy,
    change_a_context,
    insert_a_key,
    change_a_key,
    let_a_key_in_again,
    change_an_answer,
    change_a_reader,
    insert_an_answer,
    remove_an_answer,
    change_a_final_label,
    insert_a_change,
    change_who_agreed,
    change_what_went_live,
)
# Those that may leave entries which all were written so: only a head that was kept elsewhere tells.
UNSEEN_WITHOUT_HEAD = {remove_and_link, remove_a_stretch, cut_the_tail, remove_all, swap_two}
