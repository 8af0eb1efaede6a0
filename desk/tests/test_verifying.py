from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from attacks import ATTACKS, UNSEEN_WITHOUT_HEAD, Attack, append, forged, rows_of
from conftest import KINDS
from servers import KEYED, Cluster
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from sepc_desk.chain import Chain, keep_context
from sepc_desk.commands.main import main
from sepc_desk.context import digest_of_context
from sepc_desk.database import engine_of
from sepc_desk.entries import EntryKind, entry, new_id
from sepc_desk.erasing import erase, erase_older
from sepc_desk.errors import LogChangedError
from sepc_desk.heads import Head, make_keys, public_key_of, read_heads, signed
from sepc_desk.keys import all_keys, create_key, revoke_key
from sepc_desk.migrations.running import allow
from sepc_desk.owning.changes import judged_as
from sepc_desk.reviewing.settling import settle
from sepc_desk.reviewing.states import AnswerKind, CaseState, Purpose, ReadingState
from sepc_desk.schema import answers, cases, changes, contexts, entries, keys, readings
from sepc_desk.settings import Settings, load_settings
from sepc_desk.verifying import send_head, verify

# In the weekly run, 100.
N = int(os.environ.get("DESK_ATTACKS", "1"))
JUDGEMENT = '{"passed":true}'
CONTEXT = '{"model":{"name":"loans","digest":"ff"}}'


def decided(n: int, first: int = 0) -> list:
    some = range(first, first + n)
    kept = {"model": "loans", "context": digest_of_context(CONTEXT), "label": '"a"', "cause": "THIN"}
    return [
        entry(EntryKind.DECISION, f"key:{i % 3}", {"row": {"x": i}, "trust": 0.1 * i}, accepted=i % 2 == 0, **kept)
        for i in some
    ]


def filled(engine: Engine, n: int = 12) -> tuple[list[str], Head]:
    """A log of all that a thief may change, with its head."""
    keep_context(engine, digest_of_context(CONTEXT), CONTEXT)
    create_key(engine, "portal", ["loans"])
    create_key(engine, "old portal", ["loans"])
    revoke_key(engine, list(all_keys(engine).values())[-1].id)
    chain = Chain(engine)
    made = decided(n)
    chain.append(made)
    chain.append([entry(EntryKind.ACCESS, "person:ann", about=made[0].id)])
    answer(engine, made[1].id)
    change = new_id(made[0].at)
    about = f"change:{change}:{'a' * 64}:{'b' * 64}"
    steps = (("person:ann", "proposed", judged_as(JUDGEMENT)), ("person:bob", "agreed", ""))
    chain.append(
        [entry(EntryKind.CHANGE, who, model="loans", cause=step, about=about + more) for who, step, more in steps]
    )
    new = {"id": change, "model": "loans", "kind": "version", "state": "live", "made_by": "person:ann", "made_at": 1}
    new |= {"old_digest": "a" * 64, "new_digest": "b" * 64, "judgement": JUDGEMENT}
    new |= {"proposed_by": "person:ann", "proposed_at": 1, "decided_by": "person:bob", "decided_at": 2}
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(insert(changes).values(new))
    for who in ("person:ann", "person:bob"):
        erase(engine, made[2].id, who)
    receipts = chain.append(decided(3, n))
    chain.close()
    return [own.id for own in made], Head(receipts[-1].place, receipts[-1].hash)


def answer(engine: Engine, case: str) -> None:
    """A person answers a case, for good."""
    own = {"id": case, "model": "loans", "digest": "ff", "purpose": Purpose.REFUSED, "cause": "THIN"}
    own |= {"model_label": '"a"', "decided_at": 1, "entered_at": 1, "is_blind": True, "n_readers": 1}
    reading = {"case_id": case, "model": "loans", "turn": 1, "is_blind": True, "entered_at": 1, "reader": "person:kim"}
    given = {"id": new_id(2), "case_id": case, "reader": "person:kim", "taken_at": 1, "given_at": 1, "label": '"b"'}
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(insert(cases).values(own | {"state": CaseState.OPEN, "is_counted": False}))
        made = insert(readings).values(reading | {"state": ReadingState.ANSWERED}).returning(readings.c.id)
        number = connection.execute(made).scalar_one()
        connection.execute(
            insert(answers).values(given | {"reading": number, "kind": AnswerKind.LABEL, "was_blind": True})
        )
    assert settle(engine, 0) == 1


@pytest.fixture(scope="module", params=KINDS)
def stolen(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> Iterator[Engine]:
    """A database that one attack after the other is made on."""
    own = engine_of(load_settings(KEYED, database=new_database(request.param)))
    yield own
    own.dispose()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_whatever_a_thief_of_the_database_does_is_found_by_a_witness(
    stolen: Engine, attack: Attack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all rights in the database; and without a witness nobody says that the log is as it was written."""
    monkeypatch.setenv("SEPC_DESK_LOG_KEY", KEYED["SEPC_DESK_LOG_KEY"])
    monkeypatch.setenv("SEPC_DESK_DATABASE", stolen.url.render_as_string(hide_password=False))
    for seed in range(N):
        with stolen.connect().execution_options(writes=True) as connection, connection.begin():
            for table in (entries, contexts, keys, cases, readings, answers, changes):
                connection.execute(table.delete())
        _, head = filled(stolen)
        assert verify(stolen, [head]).is_whole
        with stolen.connect().execution_options(writes=True) as connection, connection.begin() as thief:
            attack(connection, random.Random(seed))
            thief.commit()
        assert main(["verify", "--receipt", f"{head.place}:{head.hash.hex()}"]) == 3
        assert main(["verify"]) in ((3, 4) if attack in UNSEEN_WITHOUT_HEAD else (3,))
        assert "as it was written" not in capsys.readouterr().out


def test_what_is_younger_than_the_last_head_is_counted_apart(engine: Engine) -> None:
    _, head = filled(engine)
    chain = Chain(engine)
    (receipt, *_) = chain.append(decided(5, 20))
    chain.close()
    assert "The 5 entries after it were written with the key of the log" in verify(engine, [head]).limits[0]
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(entries.delete().where(entries.c.place > head.place))
    assert verify(engine, [head]).is_whole
    assert not verify(engine, [head, Head(receipt.place, receipt.hash)]).is_whole


def test_a_log_without_a_witness_is_told_from_a_changed_one(
    engine: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, head = filled(engine)
    monkeypatch.setenv("SEPC_DESK_LOG_KEY", KEYED["SEPC_DESK_LOG_KEY"])
    monkeypatch.setenv("SEPC_DESK_DATABASE", engine.url.render_as_string(hide_password=False))
    assert main(["verify"]) == 4
    assert "There is no witness" in capsys.readouterr().out
    assert main(["verify", "--receipt", f"{head.place}:{head.hash.hex()}"]) == 0
    assert f"Every entry up to place {head.place}, the newest head, is as it was written." in capsys.readouterr().out
    monkeypatch.setenv("SEPC_DESK_LOG_KEY", "f" * 64)
    assert main(["verify"]) == 3
    monkeypatch.delenv("SEPC_DESK_LOG_KEY")
    assert main(["verify"]) == 2
    assert "log_key is not set" in capsys.readouterr().err


def test_the_role_of_the_service_can_only_append(new_database, cluster: Cluster) -> None:
    """A thief with the service's password."""
    database = new_database("postgresql")
    owner = engine_of(load_settings(KEYED, database=database))
    with owner.begin() as connection:
        if connection.exec_driver_sql("SELECT 1 FROM pg_roles WHERE rolname = 'desk_service'").first() is None:
            connection.exec_driver_sql("CREATE ROLE desk_service LOGIN")
    allow(owner, "desk_service")
    ids, _ = filled(owner)
    own = make_url(database).set(username="desk_service").render_as_string()
    service = engine_of(load_settings(KEYED, database=own))
    chain = Chain(service)
    chain.append(decided(1, 30))
    last = chain.append(decided(2, 31))[-1]
    chain.close()
    head = Head(last.place, last.hash)
    for who in ("person:ann", "person:bob"):
        erase(service, ids[3], who)
    assert verify(service, [head]).is_whole
    for statement in (
        "UPDATE entries SET label = 'x'",
        "UPDATE entries SET private = NULL, salt = NULL",
        "DELETE FROM entries",
        "TRUNCATE entries",
        "DROP TABLE entries",
        "ALTER TABLE entries ADD COLUMN x text",
        "ALTER TABLE entries DISABLE TRIGGER ALL",
        "INSERT INTO entries SELECT * FROM entries",
        "CREATE OR REPLACE FUNCTION erase_entries(text, text, bigint) RETURNS SETOF text LANGUAGE sql AS 'SELECT 1'",
        "SET ROLE postgres",
        "UPDATE contexts SET content = 'x'",
        "INSERT INTO keys SELECT * FROM keys",
        "UPDATE keys SET revoked_at = NULL",
        f"SELECT erase_entries('{ids[4]}', 'loans', NULL)",
        "SELECT erase_entries('older:0', NULL, 0)",
        "UPDATE alembic_version SET version_num = '0001'",
        "COPY entries TO PROGRAM 'cat'",
    ):
        with pytest.raises(DBAPIError), service.begin() as connection:
            connection.exec_driver_sql(statement)
    # A temporary table of the same name does not stand in for the log.
    with service.connect() as connection, connection.begin():
        connection.exec_driver_sql("CREATE TEMPORARY TABLE entries (id text)")
        with pytest.raises(DBAPIError):
            connection.exec_driver_sql(f"SELECT erase_entries('{ids[4]}', 'loans', NULL)")
    assert verify(service, [head]).is_whole
    with psycopg.connect(own.replace("+psycopg", ""), autocommit=True) as thief:
        made = forged()
        values = [made.id, "decision", made.at, "key:1", *[None] * 11, bytes(32)]
        with pytest.raises(psycopg.errors.DatetimeFieldOverflow):
            thief.execute(ONE, [made.id, "decision", made.at - 86_400_000_000, *values[3:]])
        with pytest.raises(psycopg.errors.DatetimeFieldOverflow):
            thief.execute(ONE, [made.id, "decision", made.at + 86_400_000_000, *values[3:]])
        assert verify(service, [head]).is_whole
        thief.execute(ONE, values)
    assert any("was not written with the key of the log" in found for found in verify(service, [head]).findings)
    for one in (owner, service):
        one.dispose()


ONE = f"SELECT append_entry({', '.join(['%s'] * 16)})"


def test_entries_of_another_time_are_refused(engine: Engine) -> None:
    chain = Chain(engine)
    chain.append(decided(2))
    for days in (400, -400):
        with pytest.raises(Exception, match="clock|Datetime"):
            chain.append([replace(own, at=own.at + days * 86_400_000_000) for own in decided(1)])
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(update(entries).values(at=entries.c.at + 400 * 86_400_000_000))
    with pytest.raises(Exception, match="clock|Datetime"):
        chain.append(decided(1))
    chain.close()


def test_a_forged_head_is_found(engine: Engine, tmp_path: Path) -> None:
    _, head = filled(engine)
    public = public_key_of(make_keys(tmp_path / "own"))
    make_keys(tmp_path / "other")
    rng = random.Random(0)
    genuine = signed(head.place, head.hash, "2026-11-18T00:00:00+00:00", tmp_path / "own")
    assert read_heads([genuine.to_line(), ""]) == [genuine]
    assert verify(engine, [genuine], public).is_whole
    for _ in range(N):
        forgeries = [
            signed(head.place, rng.randbytes(32), genuine.at, tmp_path / "other"),
            replace(genuine, hash=rng.randbytes(32)),
            replace(genuine, place=rng.randrange(1, head.place)),
            replace(genuine, signature=rng.randbytes(64)),
            replace(genuine, signature=None),
        ]
        assert not any(verify(engine, [one], public).is_whole for one in forgeries)


def test_heads_go_to_the_witness_and_tell_when_the_log_was_changed(engine: Engine, tmp_path: Path) -> None:
    file, key = tmp_path / "heads.jsonl", tmp_path / "head.key"
    make_keys(key)
    own = Settings(witness=str(file), witness_key=str(key), witness_entries=5, witness_seconds=3600)

    def places() -> list[int]:
        send_head(engine, own)
        return [head.place for head in read_heads(file.read_text().splitlines())]

    assert places() == []
    keep_context(engine, digest_of_context(CONTEXT), CONTEXT)
    chain = Chain(engine)
    chain.append(decided(4))
    assert places() == [4]
    chain.append(decided(4, 4))
    assert places() == [4]
    time.sleep(1.1)
    send_head(engine, replace(own, witness_seconds=1))
    chain.append(decided(5, 8))
    assert places() == places() == [4, 8, 13]
    assert verify(engine, read_heads(file.read_text().splitlines()), public_key_of(Path(f"{key}.pub"))).is_whole
    chain.close()
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        connection.execute(entries.delete().where(entries.c.place > 9))
        append(connection, forged())
    with pytest.raises(LogChangedError, match="place 13"):
        places()


def test_an_erased_log_is_whole_and_takes_two_people(engine: Engine) -> None:
    ids, head = filled(engine)
    asked = erase(engine, ids[3], "person:ann")
    assert (asked.n_entries, asked.is_waiting) == (0, True)
    assert erase(engine, ids[3], "person:ann").is_waiting
    assert erase(engine, ids[3], "person:bob").n_entries == 1
    assert erase(engine, ids[3], "person:ann").receipt is None
    verdict = verify(engine, [head])
    assert (verdict.is_whole, verdict.n_erased) == (True, 2)
    assert erase_older(engine, 0, "person:ann").is_waiting
    with engine.connect() as connection:
        left = len([own for own in rows_of(connection) if own.private is not None])
    assert erase_older(engine, 0, "person:bob").n_entries == left > 5
    # What two have asked for holds: anyone may do it from then on.
    assert erase_older(engine, 0, "command:cron").n_entries == 0
    verdict = verify(engine, [head])
    assert (verdict.is_whole, verdict.n_erased) == (True, 2 + left)
    with engine.connect() as connection:
        assert connection.execute(select(entries.c.id).where(entries.c.private.is_not(None))).all() == []


def test_two_heads_of_one_place_that_differ_are_told(engine: Engine) -> None:
    _, head = filled(engine)
    assert "differ" in verify(engine, [head, Head(head.place, bytes(32))]).findings[0]
