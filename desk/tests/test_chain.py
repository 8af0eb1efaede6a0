from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from servers import KEYED, Cluster
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from sepc_desk.chain import NAMES, TYPES, Chain, head_of, key_of
from sepc_desk.database import engine_of
from sepc_desk.entries import EntryKind, entry, linked, seal_of
from sepc_desk.errors import LogUnavailableError
from sepc_desk.migrations.running import migrate
from sepc_desk.reading import blocks_of, entry_of
from sepc_desk.settings import load_settings
from sepc_desk.verifying import verify


def some(n: int, **kept: object) -> list:
    return [entry(EntryKind.DECISION, "key:1", {"row": {"x": i}}, label='"a"', accepted=True, **kept) for i in range(n)]


def test_entries_are_linked_as_the_python_function_says(engine: Engine) -> None:
    chain = Chain(engine)
    written = some(3) + [entry(EntryKind.ACCESS, "key:ü", about="x")]
    receipts = chain.append(written[:2]) + chain.append(written[2:])
    before = bytes(32)
    for place, (own, receipt) in enumerate(zip(written, receipts, strict=True), start=1):
        before = linked(before, place, seal_of(key_of(engine), own))
        assert (receipt.place, receipt.hash) == (place, before)
    with engine.connect() as connection:
        assert [entry_of(found) for block in blocks_of(connection) for found in block] == written
        assert head_of(connection) == (4, before)
    chain.close()


def test_an_entry_of_a_request_that_came_before_is_not_written_again(engine: Engine) -> None:
    chain = Chain(engine)
    first = chain.append(some(1, request_key=b"k", request_row=0))
    again = chain.append(some(1, request_key=b"k", request_row=0) + some(1, request_key=b"k", request_row=1))
    assert again[0].was_there
    assert (again[0].place, again[0].hash) == (first[0].place, first[0].hash)
    assert (again[1].place, again[1].was_there) == (2, False)
    assert verify(engine).is_whole
    chain.close()


def test_several_writers_make_one_chain_without_gaps(engine: Engine) -> None:
    failed: list[BaseException] = []

    def write() -> None:
        chain = Chain(engine)
        try:
            for _ in range(10):
                chain.append(some(7))
        except BaseException as error:  # noqa: BLE001 - told to the test
            failed.append(error)
        chain.close()

    writers = [threading.Thread(target=write) for _ in range(3)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    verdict = verify(engine)
    assert not failed
    assert verdict.is_whole
    assert verdict.n_entries == verdict.place == 210


def test_text_that_json_escapes_is_kept(engine: Engine) -> None:
    chain = Chain(engine)
    odd = {"row": {"a": "\x00 \x1e \x1f \x7f ü \u2028 '\"\\ \U0001f600", "b": -0.0, "c": 2**63 - 1, "d": 5e-324}}
    chain.append([entry(EntryKind.DECISION, "key:1", odd)])
    assert verify(engine).is_whole
    chain.close()


def test_any_character_stays_in_the_entry_that_it_was_written_in(engine: Engine) -> None:
    chain = Chain(engine)
    odd = [chr(code) for code in (*range(1, 32), *range(127, 160), 0x2028, 0x202E, 0xFFFD, 0x1F600)]
    texts = [*odd, "", "NULL", '"', "\\", "{", "}", ",", " ", "x" * 100_000, '","', "\\x00", "a\x1eb\x1fc"]
    written = [entry(EntryKind.ACCESS, f"key:{one}", model=one, about=one, label='"a"') for one in texts]
    chain.append(written)
    with engine.connect() as connection:
        assert [entry_of(found) for block in blocks_of(connection) for found in block] == written
    assert verify(engine).is_whole
    chain.close()


def test_the_database_refuses_groups_whose_parts_do_not_belong_together(
    new_database: Callable[[str], str],
) -> None:
    engine = engine_of(load_settings(KEYED, database=new_database("postgresql")))
    group = some(2)
    for name in NAMES:
        columns = {own: [getattr(one, own, bytes(32)) for one in group] for own in NAMES}
        columns[name] = columns[name][:1]
        given = ", ".join(f"CAST(:{own} AS {TYPES.get(own, 'text')}[])" for own in NAMES)
        with engine.connect() as connection, pytest.raises(DBAPIError, match="differ in length"):
            connection.execute(text(f"SELECT * FROM append_entries({given})"), columns)
    engine.dispose()


def test_texts_are_kept_in_a_database_with_another_encoding(cluster: Cluster) -> None:
    cluster.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    engine = engine_of(load_settings(KEYED, database=cluster.url("latin")))
    migrate(engine)
    chain = Chain(engine)
    chain.append([entry(EntryKind.DECISION, "person:jürgen", {"row": {"x": "ß"}}) for _ in range(2)])
    assert verify(engine).is_whole
    chain.close()
    engine.dispose()


def test_a_write_that_fails_says_so_and_the_next_one_works(engine: Engine) -> None:
    chain = Chain(engine)
    chain.append(some(1))
    own = some(1)[0]
    with pytest.raises(LogUnavailableError):
        chain.append([own, own])  # two entries of one id
    assert chain.append(some(1))[0].place == 2
    assert verify(engine).is_whole
    chain.close()


def test_the_database_is_set_to_lose_nothing(engine: Engine) -> None:
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
        else:
            pragmas = ("journal_mode", "synchronous", "secure_delete")
            found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas]
            assert found == ["wal", 2, 1]
